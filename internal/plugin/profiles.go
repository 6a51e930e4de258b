// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/spelling"
	"github.com/mongotuning/mongotuning/internal/terminal"
	"github.com/mongotuning/mongotuning/profiles"
)

// profileView is one TuningProfile.
type profileView struct {
	Name string `json:"name"`
	// Source is Cluster for an object, Shipped for one that comes with the operator and is not installed.
	Source      string   `json:"source"`
	Versions    []string `json:"versions,omitempty"`
	Description string   `json:"description,omitempty"`
	// UsedBy are the MongoTunings that refer to it, as far as the caller may list them.
	UsedBy []string    `json:"usedBy,omitempty"`
	Values []valueView `json:"values,omitempty"`
}

type valueView struct {
	Component v1alpha1.Component `json:"component"`
	Knob      string             `json:"knob"`
	Value     string             `json:"value"`
	Change    string             `json:"change"`
}

// Where a profile was found.
const (
	sourceCluster = "Cluster"
	sourceShipped = "Shipped"
)

func (c *commands) profiles() *cobra.Command {
	command := &cobra.Command{
		Use: "profiles [NAME]", GroupID: groupKnow, Args: cobra.MaximumNArgs(1),
		Short: "List the profiles, or show the values of one",
		Long: `List the TuningProfiles of the cluster, and those that come with the operator and are not installed.
With a name, show every value of that profile and whether changing to it is online or restarts members.`,
		Example: `  kubectl mongotuning profiles
  kubectl mongotuning profiles million-tps-v3`,
		ValidArgsFunction: c.completeProfiles,
	}
	chosen := addFormat(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		found, warning, err := c.findProfiles(command.Context())
		if err != nil {
			return err
		}
		if warning != "" {
			if err := c.warn(warning); err != nil {
				return err
			}
		}
		if len(args) == 0 {
			return c.show(*chosen, found, func(screen *terminal.Screen) { listProfiles(screen, found) })
		}
		i := slices.IndexFunc(found, func(view profileView) bool { return view.Name == args[0] })
		if i < 0 {
			return noSuchProfile(args[0], found)
		}
		return c.show(*chosen, found[i], found[i].show)
	}
	return command
}

// findProfiles are the profiles of the cluster, then those that are shipped and not installed. Without a
// cluster there are only the latter, and the warning says so.
func (c *commands) findProfiles(ctx context.Context) (found []profileView, warning string, err error) {
	users := map[string][]string{}
	way, err := c.connect()
	if err == nil {
		var installed []v1alpha1.TuningProfile
		installed, err = way.tuningProfiles(ctx)
		for i := range installed {
			view, err := profileViewOf(&installed[i], sourceCluster)
			if err != nil {
				return nil, "", err
			}
			found = append(found, view)
		}
		if tunings, err := way.tunings(ctx, ""); err == nil {
			users = usersOf(tunings)
		}
	}
	if err != nil {
		warning = "showing only the profiles that come with this program: " + firstLine(err)
	}
	shipped, err := profiles.All()
	if err != nil {
		return nil, "", err
	}
	for i := range shipped {
		if slices.ContainsFunc(found, func(view profileView) bool { return view.Name == shipped[i].Name }) {
			continue
		}
		view, err := profileViewOf(&shipped[i], sourceShipped)
		if err != nil {
			return nil, "", err
		}
		found = append(found, view)
	}
	slices.SortStableFunc(found, func(a, b profileView) int { return cmp.Compare(a.Name, b.Name) })
	for i := range found {
		found[i].UsedBy = users[found[i].Name]
	}
	return found, warning, nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func usersOf(tunings []v1alpha1.MongoTuning) map[string][]string {
	users := map[string][]string{}
	for i := range tunings {
		if ref := tunings[i].Spec.ProfileRef; ref != nil {
			users[ref.Name] = append(users[ref.Name], tunings[i].Namespace+"/"+tunings[i].Name)
		}
	}
	return users
}

func profileViewOf(profile *v1alpha1.TuningProfile, source string) (profileView, error) {
	view := profileView{Name: profile.Name, Source: source, Versions: profiles.Lines(*profile), Description: profile.Spec.Description}
	for _, block := range []struct {
		component v1alpha1.Component
		values    any
	}{
		{v1alpha1.ComponentShardMember, profile.Spec.Tuning},
		{v1alpha1.ComponentConfigServer, profile.Spec.ConfigServerTuning},
		{v1alpha1.ComponentMongos, profile.Spec.MongosTuning},
	} {
		settings, err := catalog.Flatten(block.component, block.values)
		if err != nil {
			return view, fmt.Errorf("read profile %s: %w; is this program older than the operator?", profile.Name, err)
		}
		for _, name := range settings.Names() {
			knob, _ := catalog.Lookup(name)
			view.Values = append(view.Values, valueView{Component: block.component, Knob: name, Value: string(settings[name]), Change: knob.Change(block.component)})
		}
	}
	return view, nil
}

// unknownProfileError says that there is no profile of a name, and which ones there are.
type unknownProfileError struct {
	error
}

func noSuchProfile(name string, found []profileView) error {
	var names []string
	for _, view := range found {
		names = append(names, view.Name)
	}
	if near := spelling.Nearest(name, names); len(near) > 0 {
		names = near
	}
	return unknownProfileError{fmt.Errorf("there is no profile %s; did you mean %s?", name, strings.Join(names, ", "))}
}

func listProfiles(screen *terminal.Screen, found []profileView) {
	rows := make([][]terminal.Cell, 0, len(found))
	for _, view := range found {
		rows = append(rows, []terminal.Cell{
			terminal.Text(view.Name).In(terminal.Bold), terminal.Text(cmp.Or(strings.Join(view.Versions, " "), "-")), terminal.Text(view.Source),
			terminal.Number(fmt.Sprint(len(view.Values))), terminal.Text(cmp.Or(strings.Join(view.UsedBy, " "), "-")),
		})
	}
	screen.Table([]string{"NAME", "MONGODB", "SOURCE", "VALUES", "USED BY"}, rows)
}

func (v profileView) show(screen *terminal.Screen) {
	screen.Line(terminal.Text(v.Name).In(terminal.Bold))
	screen.Line()
	if v.Description != "" {
		screen.Paragraph("", v.Description)
		screen.Line()
	}
	screen.Fields([2]string{"MongoDB", strings.Join(v.Versions, " ")}, [2]string{"Source", v.Source}, [2]string{"Used by", strings.Join(v.UsedBy, " ")})
	screen.Line()
	rows := make([][]terminal.Cell, 0, len(v.Values))
	for _, value := range v.Values {
		rows = append(rows, []terminal.Cell{
			terminal.Text(string(value.Component)), terminal.Text(value.Knob), terminal.Number(value.Value), terminal.Text(value.Change).In(changePaint(value.Change)),
		})
	}
	screen.Table([]string{"PROCESS", "KNOB", "VALUE", "A CHANGE"}, rows)
	if v.Source == sourceShipped {
		screen.Line()
		screen.Paragraph("", "It is not installed in this cluster: kubectl apply -f profiles/"+v.Name+".yaml does that.")
	}
}

func changePaint(change string) terminal.Paint {
	if strings.HasPrefix(change, "restarts") || strings.HasPrefix(change, "rolls") {
		return terminal.Warn
	}
	return terminal.Plain
}

// profileFor is the profile that a spec refers to, from the cluster or from those that are shipped; way
// is nil without a cluster.
func profileFor(ctx context.Context, way *access, ref *v1alpha1.ProfileReference) (*v1alpha1.TuningProfileSpec, string, error) {
	if ref == nil {
		return nil, "", nil
	}
	if way != nil {
		found, err := way.tuningProfile(ctx, ref.Name)
		if err == nil {
			return &found.Spec, sourceCluster, nil
		}
		var offline noClusterError
		if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !errors.As(err, &offline) {
			return nil, "", explained(err, "read TuningProfile "+ref.Name, profilesResource, "")
		}
	}
	shipped, err := profiles.All()
	if err != nil {
		return nil, "", err
	}
	var known []profileView
	for i := range shipped {
		if shipped[i].Name == ref.Name {
			return &shipped[i].Spec, sourceShipped, nil
		}
		known = append(known, profileView{Name: shipped[i].Name})
	}
	return nil, "", noSuchProfile(ref.Name, known)
}

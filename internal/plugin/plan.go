// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/forecast"
	"github.com/mongotuning/mongotuning/internal/terminal"
)

// planView is what one file of a MongoTuning would do.
type planView struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Verdict is New, Nothing, Change or Refused.
	Verdict string `json:"verdict"`
	// Against says what the file was compared with.
	Against string `json:"against"`
	// Refused are the reasons why the change would not be taken.
	Refused           []string `json:"refused,omitempty"`
	forecast.Forecast `json:",inline"`
	// Waits are the reasons why it would not begin at once, or not go on by itself.
	Waits []string `json:"waits,omitempty"`
}

// The verdicts over a file.
const (
	verdictNew     = "New"
	verdictNothing = "Nothing"
	verdictChange  = "Change"
	verdictRefused = "Refused"
)

// refusedCode is the code of a plan that would be refused, for scripts.
const refusedCode = 3

func (c *commands) plan() *cobra.Command {
	var files, against []string
	var offline bool
	command := &cobra.Command{
		Use: "plan -f FILE", GroupID: groupKnow, Args: cobra.NoArgs,
		Short: "Forecast what a changed file would do, and change nothing",
		Long: `Forecast what applying a file would do, and change nothing: whether it would be refused, which
values change and whether each is set online or restarts members, which members restart in which order,
what becomes of caches and memory limits, and what the change would wait for.

The file is compared with the object in the cluster, from the revision that was verified last. Without a
cluster, with --offline, or when the object does not exist, everything in the file is new; --against
compares two files, for example of a pull request. Profiles come from the file, then from the cluster, then
from those that come with this program.

The program ends with code 3 when the change would be refused.`,
		Example: `  kubectl mongotuning plan -f demo.yaml
  kubectl mongotuning plan -f new.yaml --against old.yaml
  git show main:demo.yaml | kubectl mongotuning plan -f demo.yaml --against -`,
	}
	chosen := addFormat(command)
	command.Flags().StringArrayVarP(&files, "filename", "f", nil, "file with MongoTunings, and TuningProfiles that they use; - for standard input")
	command.Flags().StringArrayVar(&against, "against", nil, "file to compare with instead of the cluster; - for standard input")
	command.Flags().BoolVar(&offline, "offline", false, "do not ask any cluster")
	_ = command.MarkFlagRequired("filename")
	command.RunE = func(command *cobra.Command, _ []string) error {
		views, warnings, err := c.plans(command.Context(), files, against, offline || len(against) > 0)
		if err != nil {
			return err
		}
		for _, warning := range warnings {
			if err := c.warn(warning); err != nil {
				return err
			}
		}
		if err := c.show(*chosen, views, func(screen *terminal.Screen) { showPlans(screen, views) }); err != nil {
			return err
		}
		if slices.ContainsFunc(views, func(view planView) bool { return view.Verdict == verdictRefused }) {
			return exitError{code: refusedCode}
		}
		return nil
	}
	return command
}

// declared is what was read from files.
type declared struct {
	tunings  []map[string]any
	profiles map[string]*v1alpha1.TuningProfileSpec
}

//nolint:revive // --offline is a flag of the command
func (c *commands) plans(ctx context.Context, files, against []string, offline bool) ([]planView, []string, error) {
	rules, err := tuningRules()
	if err != nil {
		return nil, nil, err
	}
	wanted, err := c.readFiles(files)
	if err != nil {
		return nil, nil, err
	}
	if len(wanted.tunings) == 0 {
		return nil, nil, fmt.Errorf("there is no MongoTuning in %s", strings.Join(files, ", "))
	}
	old, err := c.readFiles(against)
	if err != nil {
		return nil, nil, err
	}
	p := &planner{tuningRule: rules, profiles: wanted.profiles}
	for name, spec := range old.profiles {
		if _, newer := p.profiles[name]; !newer {
			p.profiles[name] = spec
		}
	}
	if !offline {
		if p.way, err = c.connect(); err != nil {
			p.warnings = append(p.warnings, "compared with nothing: "+firstLine(err))
			p.way = nil
		}
	}
	var views []planView
	for _, object := range wanted.tunings {
		view, err := p.plan(ctx, object, old.tunings, len(against) > 0)
		if err != nil {
			return nil, nil, err
		}
		views = append(views, view)
	}
	return views, p.warnings, nil
}

// readFiles reads the documents of files; kinds of others are passed over.
func (c *commands) readFiles(files []string) (declared, error) {
	found := declared{profiles: map[string]*v1alpha1.TuningProfileSpec{}}
	for _, file := range files {
		text, err := c.readFile(file)
		if err != nil {
			return found, err
		}
		for i, document := range documents(text) {
			object, err := objectOf(document)
			if err != nil {
				return found, fmt.Errorf("%s, document %d: %w", file, i+1, err)
			}
			switch {
			case object == nil || !strings.HasPrefix(object.GetAPIVersion(), v1alpha1.GroupVersion.Group+"/"):
			case object.GetAPIVersion() != v1alpha1.GroupVersion.String():
				return found, fmt.Errorf("%s, document %d: apiVersion is %s, this program knows %s", file, i+1, object.GetAPIVersion(), v1alpha1.GroupVersion)
			case object.GetKind() == "MongoTuning":
				found.tunings = append(found.tunings, object.Object)
			case object.GetKind() == "TuningProfile":
				profile, err := into[v1alpha1.TuningProfile](object)
				if err != nil {
					return found, fmt.Errorf("%s, document %d: %w", file, i+1, err)
				}
				found.profiles[profile.Name] = &profile.Spec
			}
		}
	}
	return found, nil
}

func (c *commands) readFile(file string) ([]byte, error) {
	if file == "-" {
		text, err := io.ReadAll(c.In)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return text, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the file that was named
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	return text, nil
}

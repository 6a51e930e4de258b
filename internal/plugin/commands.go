// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
)

// Environment is what the commands take from the process they run in.
type Environment struct {
	genericiooptions.IOStreams
	// Clock tells how long ago things were.
	Clock clock.WithTicker
	// Terminal tells that the output goes to a terminal, which --watch redraws.
	Terminal bool
	// Colours tells that the output may be painted.
	Colours bool
	// Width of the output in columns; 0 when it is not known.
	Width int
	// Version of this program.
	Version string
}

// commands are the settings that all commands share.
type commands struct {
	Environment
	flags *genericclioptions.ConfigFlags
	// connect opens the way to the cluster.
	connect func() (*access, error)
}

// visible are the flags of kubectl that are listed in every help; the others are taken as well.
var visible = []string{"namespace", "context", "kubeconfig"}

// New makes the root command.
func New(environment Environment) *cobra.Command {
	c := &commands{Environment: environment, flags: genericclioptions.NewConfigFlags(true)}
	c.connect = func() (*access, error) { return connectWith(c.flags) }
	return c.root()
}

func (c *commands) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-mongotuning",
		Short: "Watch, forecast and steer the tuning of sharded MongoDB clusters",
		Long: `Watch, forecast and steer the tuning of sharded MongoDB clusters.

Everything that reads prints text for people, or JSON or YAML with -o. Nothing is written but
annotations of the MongoTuning, by retry, proceed, suspend and resume.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl mongotuning"},
		Version:       c.Version,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.ErrOut)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddGroup(
		&cobra.Group{ID: groupLook, Title: "Look:"},
		&cobra.Group{ID: groupKnow, Title: "Before a change:"},
		&cobra.Group{ID: groupAct, Title: "Speak to the operator:"},
	)
	shared := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	c.flags.AddFlags(shared)
	shared.VisitAll(func(flag *pflag.Flag) { flag.Hidden = !slices.Contains(visible, flag.Name) })
	root.PersistentFlags().AddFlagSet(shared)
	_ = root.RegisterFlagCompletionFunc("namespace", c.completeNamespaces)
	root.AddCommand(
		c.status(), c.diff(), c.history(), c.report(),
		c.plan(), c.explain(), c.profiles(),
		c.retry(), c.proceed(), c.suspend(), c.resume(),
	)
	return root
}

// The groups in which the help lists the commands.
const (
	groupLook = "look"
	groupKnow = "know"
	groupAct  = "act"
)

// exitError ends the program with a code and says nothing.
type exitError struct {
	code int
}

func (e exitError) Error() string { return "" }

// ExitCode is the code with which the program has to end after an error: 0 for none, 1 for one.
func ExitCode(err error) int {
	var exit exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	default:
		return 1
	}
}

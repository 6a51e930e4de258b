// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/profiles"
)

// completionDeadline is how long a person who has pressed Tab waits.
const completionDeadline = 2 * time.Second

// completeTunings offers the names of the MongoTunings of the namespace as the first argument.
func (c *commands) completeTunings(command *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(command.Context(), completionDeadline)
	defer cancel()
	way, err := c.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	tunings, err := way.tunings(ctx, way.namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for i := range tunings {
		names = append(names, tunings[i].Name)
	}
	return beginning(typed, names), cobra.ShellCompDirectiveNoFileComp
}

func (c *commands) completeNamespaces(command *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(command.Context(), completionDeadline)
	defer cancel()
	way, err := c.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list, err := way.kubernetes.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return beginning(typed, names), cobra.ShellCompDirectiveNoFileComp
}

// completeKnobs offers the knobs that have a field of their own, with what they are in MongoDB.
func completeKnobs(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, knob := range catalog.All() {
		if !knob.IsListed() && !knob.Fixed || strings.HasPrefix(typed, "setParameters.") {
			names = append(names, knob.Name)
		}
	}
	return beginning(typed, names), cobra.ShellCompDirectiveNoFileComp
}

// completeProfiles offers the profiles of the cluster, or without one those that come with the operator.
func (c *commands) completeProfiles(command *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(command.Context(), completionDeadline)
	defer cancel()
	var names []string
	if way, err := c.connect(); err == nil {
		found, err := way.tuningProfiles(ctx)
		for i := range found {
			names = append(names, found[i].Name)
		}
		if err == nil && len(names) > 0 {
			return beginning(typed, names), cobra.ShellCompDirectiveNoFileComp
		}
	}
	shipped, err := profiles.All()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for i := range shipped {
		names = append(names, shipped[i].Name)
	}
	return beginning(typed, names), cobra.ShellCompDirectiveNoFileComp
}

func beginning(typed string, names []string) []string {
	var fitting []string
	for _, name := range names {
		if strings.HasPrefix(strings.ToLower(name), strings.ToLower(typed)) {
			fitting = append(fitting, name)
		}
	}
	return fitting
}

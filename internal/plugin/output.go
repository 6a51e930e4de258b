// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/mongotuning/mongotuning/internal/terminal"
)

// format is how a view is printed.
type format string

// The formats.
const (
	formatText format = ""
	formatJSON format = "json"
	formatYAML format = "yaml"
)

// String, Set and Type make a format a flag.
func (f *format) String() string { return string(*f) }

// Set takes json and yaml.
func (f *format) Set(text string) error {
	switch given := format(strings.ToLower(text)); given {
	case formatJSON, formatYAML:
		*f = given
		return nil
	case formatText:
	}
	return fmt.Errorf("must be json or yaml")
}

// Type names the values in help.
func (f *format) Type() string { return "json|yaml" }

// addFormat gives a command the flag -o.
func addFormat(command *cobra.Command) *format {
	chosen := new(format)
	command.Flags().VarP(chosen, "output", "o", "print JSON or YAML for programs")
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	return chosen
}

// show prints a view: as text by the function, or as JSON or YAML.
func (c *commands) show(chosen format, view any, text func(*terminal.Screen)) error {
	rendered, err := c.rendered(chosen, view, text)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(c.Out, rendered); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func (c *commands) rendered(chosen format, view any, text func(*terminal.Screen)) (string, error) {
	switch chosen {
	case formatJSON:
		encoded, err := json.MarshalIndent(view, "", "  ")
		if err != nil {
			return "", fmt.Errorf("print as JSON: %w", err)
		}
		return string(encoded) + "\n", nil
	case formatYAML:
		encoded, err := yaml.Marshal(view)
		if err != nil {
			return "", fmt.Errorf("print as YAML: %w", err)
		}
		return string(encoded), nil
	default:
		screen := c.screen()
		text(screen)
		return screen.String(), nil
	}
}

// warn tells what is missing in what is printed, beside it.
func (c *commands) warn(text string) error {
	if _, err := fmt.Fprintln(c.ErrOut, "warning: "+text); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func (c *commands) screen() *terminal.Screen {
	return &terminal.Screen{Colours: c.Colours, Width: c.Width}
}

// say prints what was done and what follows.
func (c *commands) say(lines ...string) error {
	screen := c.screen()
	for _, line := range lines {
		if line != "" {
			screen.Paragraph("", line)
		}
	}
	if _, err := io.WriteString(c.Out, screen.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func (c *commands) write(text string) error {
	if _, err := io.WriteString(c.Out, text); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"
	"time"
)

// Control sequences of ECMA-48: to the upper left corner; to the end of the line, or of the screen, erase.
const (
	home         = "\x1b[H"
	eraseLine    = "\x1b[K"
	eraseBelow   = "\x1b[J"
	eraseAll     = "\x1b[2J"
	hideCursor   = "\x1b[?25l"
	unhideCursor = "\x1b[?25h"
)

// watch shows what look says again and again. On a terminal it is drawn over the last, line by line so
// that it does not flicker; elsewhere one follows the other. A look that fails is shown and tried again:
// somebody who watches a rollout wants to see it come back.
func (c *commands) watch(ctx context.Context, every time.Duration, look func(context.Context) (string, error)) error {
	if c.Terminal {
		if err := c.write(hideCursor + eraseAll); err != nil {
			return err
		}
		defer func() { _ = c.write(unhideCursor) }()
	}
	tick := c.Clock.NewTicker(every)
	defer tick.Stop()
	for first := true; ; first = false {
		text, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			text = "error: " + err.Error() + "\n"
		}
		if c.Terminal {
			text = home + strings.ReplaceAll(text, "\n", eraseLine+"\n") + eraseBelow
		} else if !first {
			text = "\n" + text
		}
		if err := c.write(text); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
		}
	}
}

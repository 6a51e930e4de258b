// SPDX-License-Identifier: Apache-2.0

package member

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// trialPoll is how often a server on trial is asked whether it is up.
const trialPoll = 200 * time.Millisecond

// Trial starts a server with its command line and waits until it answers at the address. It then ends
// it at once: its data are thrown away. The error says why the server did not come up, in its own
// words where it had any.
func Trial(ctx context.Context, command []string, address string) error {
	if len(command) == 0 {
		return errors.New("no command to try")
	}
	var output bytes.Buffer
	server := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // running what the pod declares is the purpose
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		return fmt.Errorf("start %s: %w", command[0], err)
	}
	ended := make(chan struct{})
	go func() {
		_ = server.Wait() // its exit code is told, whatever it is
		close(ended)
	}()
	ticker := time.NewTicker(trialPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			// An exit code of 0 is a refusal like any other: 5.0 and newer end so on some settings.
			return fmt.Errorf("exit code %d: %s", server.ProcessState.ExitCode(), RefusalLine(output.String()))
		case <-ctx.Done():
			<-ended
			return fmt.Errorf("did not answer in time: %s", RefusalLine(output.String()))
		case <-ticker.C:
			if _, err := greet(ctx, address); err == nil {
				_ = server.Process.Kill()
				<-ended
				return nil
			}
		}
	}
}

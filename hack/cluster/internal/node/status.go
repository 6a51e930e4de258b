package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// ErrUnhealthy is the result of a status that shows something is wrong.
var ErrUnhealthy = errors.New("the cluster is not healthy: run up to repair it")

// Status prints a table of all parts and the node.
func (c Cluster) Status(ctx context.Context, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "PART\tPID\tSTATE")
	healthy := true
	for _, part := range parts {
		record, running := c.supervisor().Find(part)
		switch {
		case running:
			fmt.Fprintf(table, "%s\t%d\trunning\n", part, record.PID)
		case record.PID != 0:
			healthy = false
			fmt.Fprintf(table, "%s\t%d\tended, see %s\n", part, record.PID, c.Layout.LogFile(part))
		default:
			healthy = false
			fmt.Fprintf(table, "%s\t-\tnot started\n", part)
		}
	}
	node := "Ready"
	if err := c.checkNode(ctx); err != nil {
		healthy = false
		node = err.Error()
	}
	fmt.Fprintf(table, "node %s\t-\t%s\n", c.Layout.Name, node)
	if err := table.Flush(); err != nil {
		return err
	}
	l := c.Layout
	fmt.Fprintf(out, "\napi %s  pods %s  services %s  dns %s  nodeports %s\nlogs %s\n",
		l.APIServerURL(), l.PodCIDR(), l.ServiceCIDR(), l.HostAddress(), l.NodeAddress(), l.State("logs"))
	if !healthy {
		return ErrUnhealthy
	}
	return nil
}

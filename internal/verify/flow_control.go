// SPDX-License-Identifier: Apache-2.0

package verify

import (
	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// flowControlLagged is the share of the time in which flow control counted the majority as lagged and
// slowed writes. 4.2 and newer show it; on secondaries the figure means nothing.
var flowControlLagged = Gauge{
	Name: v1alpha1.GaugeFlowControlLagged, Unit: "%", noun: "Time under flow control",
	Help:    "Share of the time in which flow control slowed the writes of a primary: growth of flowControl.isLaggedTimeMicros, all of it while flowControl.isLagged.",
	above:   v1alpha1.ReasonFlowControlAboveLimit,
	measure: measureFlowControl,
}

func measureFlowControl(s Subject) Measurement {
	const path = "flowControl . isLaggedTimeMicros"
	if s.Member.Look.State == observed.StateSecondary {
		return exempt("flow control acts on primaries")
	}
	status, none, ok := s.status()
	switch {
	case !ok:
		return none
	case status.FlowControl.IsEnabled == nil || status.FlowControl.LaggedMicros == nil:
		return s.notShown(path)
	case !*status.FlowControl.IsEnabled:
		return exempt("flow control is off")
	}
	span, none, ok := s.span()
	if !ok {
		return none
	}
	// A server adds the time of a lag to its counter when the lag ends (flow_control.cpp, 4.2 to 6.0). While one
	// lasts, however long, the counter stands still.
	if lagged := status.FlowControl.IsLagged; lagged != nil && *lagged {
		return measured(percent, "serverStatus flowControl . isLagged")
	}
	by, ok := grown(span.Before.FlowControl.LaggedMicros, span.Now.FlowControl.LaggedMicros)
	if !ok {
		return unmeasured(Restarted, "serverStatus "+path+" has fallen since the sample before")
	}
	return measured(min(percent, percent*by/microsPerSecond/span.Seconds), "serverStatus "+path+", growth per second")
}

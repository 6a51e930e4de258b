// SPDX-License-Identifier: Apache-2.0

package catalog

import "testing"

// TestProofIsClaimedOnlyWhereItIsRead keeps the pages from promising that a value of mongos is proved.
func TestProofIsClaimedOnlyWhereItIsRead(t *testing.T) {
	for name, want := range map[string]string{
		"eviction.dirtyTargetPercent":          "getParameter wiredTigerEngineRuntimeConfig",
		"setParameters.cursorTimeoutMillis":    "getParameter cursorTimeoutMillis",
		"networkCompressors":                   "getCmdLineOpts net.compression.compressors; on mongos: not read back",
		"slowOperations.thresholdMilliseconds": "profile -1 slowms; on mongos: not read back",
		"connectionPool.minSize":               "not at all: declared in the file of mongos, and not read back",
	} {
		knob, found := Lookup(name)
		if !found {
			t.Fatalf("there is no %s", name)
		}
		if got := knob.ProvedBy(); got != want {
			t.Errorf("%s is proved by %q, want %q", name, got, want)
		}
	}
}

package network

import "testing"

func TestOverlaps(t *testing.T) {
	const routes = `default via 192.0.2.1 dev eth0
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.2
10.96.7.0/24 via 10.97.7.2 dev mtcluster7
broadcast 10.97.9.3 dev x table local scope link src 10.97.9.1
local 127.0.0.0/8 dev lo table local scope host src 127.0.0.1
`
	tests := []struct {
		name string
		cidr string
		want bool
	}{
		{"free range", "10.96.8.0/24", false},
		{"range of a route", "10.96.7.0/24", true},
		{"part of a route's range", "192.0.2.128/30", true},
		{"holds a single address in use", "10.97.9.0/30", true},
		{"only the gateway and source of a line are in it", "10.97.7.0/30", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := overlaps(routes, []string{test.cidr}); got != test.want {
				t.Errorf("overlaps(%s) = %v, want %v", test.cidr, got, test.want)
			}
		})
	}
}

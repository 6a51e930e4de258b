// Command coredns is CoreDNS with only the plugins the cluster's Corefile
// names: the full set takes several minutes to compile and none of it is used.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() {
	// A plugin that is registered but not in this list is refused in a
	// Corefile; the order is the order in which a query passes them.
	dnsserver.Directives = []string{"bind", "errors", "cache", "kubernetes"}
	coremain.Run()
}

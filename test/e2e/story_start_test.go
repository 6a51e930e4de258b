// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

func (c *cluster) comesUp(t *testing.T) {
	c.create(t, c.sample(t))
	c.kubectl(t, "wait", "--for=condition=Ready", "--timeout=6m", "mtune/"+c.name)
	c.settle(t)
	c.expectReachable(t)
	tuning := c.tuning(t)
	g := gomega.NewWithT(t)
	for _, set := range tuning.Status.ReplicaSets {
		g.Expect(set.State).To(gomega.Equal(v1alpha1.ReplicaSetMember), set.Name)
	}
	g.Expect(restarts(c.podsNow(t))).To(gomega.BeZero(), "containers that were started again")
	for _, shard := range c.shards(t) {
		c.openLedger(t, shard)
	}
	for _, name := range []string{naming.AppSecret(c.name), naming.OperatorSecret(c.name), naming.KeyFileSecret(c.name)} {
		c.secret(t, name)
	}
}

func (c *cluster) showsHowItStands(t *testing.T) {
	g := gomega.NewWithT(t)
	lines := strings.Split(strings.TrimSpace(c.kubectl(t, "get", "mtune", c.name)), "\n")
	g.Expect(lines).To(gomega.HaveLen(2))
	g.Expect(strings.Fields(lines[0])).To(gomega.Equal([]string{"NAME", "READY", "STATUS", "VERSION", "PROVED", "AGE"}))
	g.Expect(strings.Fields(lines[1])[:5]).To(gomega.Equal([]string{c.name, "True", v1alpha1.ReasonVerified, c.version, "9/9"}))
	described := c.kubectl(t, "describe", "mtune", c.name)
	for _, word := range []string{"Proved Members:", "9/9", "every declared value is in force and proved", "initiating replica set", "adding shard"} {
		g.Expect(described).To(gomega.ContainSubstring(word))
	}
	for line := range strings.Lines(described) {
		if strings.Contains(line, "Warning") {
			// The demo declares one value that has a price. Nothing went wrong.
			g.Expect(line).To(gomega.MatchRegexp(`Warning +TuningWarning .*enableMajorityReadConcern: false takes away`))
		}
	}
	for _, member := range c.tuning(t).Status.Members {
		g.Expect(member.Mismatches).To(gomega.BeEmpty(), member.Name)
		g.Expect(member.Declared).To(gomega.BeNumerically(">", 0), member.Name)
		g.Expect(member.Proved).To(gomega.Equal(member.Declared), member.Name)
	}
}

func (c *cluster) refusesStrangers(t *testing.T) {
	g := gomega.NewWithT(t)
	stranger := c.member(t, c.primary(t, c.shards(t)[0]), nil)
	_, err := stranger.Database(ledgerDatabase).Collection("ledger").InsertOne(t.Context(), bson.D{{Key: "_id", Value: -1}})
	g.Expect(err).To(gomega.HaveOccurred(), "a write without credentials")
	g.Expect(isUnauthorized(err)).To(gomega.BeTrue(), "%v", err)
	_, err = run(t.Context(), stranger, one("serverStatus"))
	g.Expect(isUnauthorized(err)).To(gomega.BeTrue(), "%v", err)
	// The way that is open on a new server: the first user, over loopback. It is closed by the file.
	_, err = run(t.Context(), stranger, bson.D{{Key: "createUser", Value: "intruder"}, {Key: "pwd", Value: "x"}, {Key: "roles", Value: bson.A{"root"}}})
	g.Expect(isUnauthorized(err)).To(gomega.BeTrue(), "%v", err)
	wrong := credential(ledgerUser, "wrong", "admin")
	_, err = run(t.Context(), c.member(t, c.primary(t, c.shards(t)[0]), &wrong), one("ping"))
	g.Expect(err).To(gomega.HaveOccurred(), "a wrong password")
}

func isUnauthorized(err error) bool {
	const unauthorized = 13
	server, ok := err.(mongo.ServerError) //nolint:errorlint // the driver returns it unwrapped
	return ok && server.HasErrorCode(unauthorized)
}

func (c *cluster) letsApplicationsIn(t *testing.T) {
	g := gomega.NewWithT(t)
	app := c.secret(t, naming.AppSecret(c.name))
	g.Expect(app).To(gomega.HaveKey(naming.UsernameKey))
	g.Expect(app).To(gomega.HaveKey(naming.PasswordKey))
	g.Expect(app[naming.URIKey]).To(gomega.HavePrefix("mongodb://"))

	mongos := c.router(t, app[naming.URIKey])
	status := mustRun(t, mongos, one("connectionStatus"))
	g.Expect(status.Lookup("authInfo", "authenticatedUsers", "0", "user").StringValue()).To(gomega.Equal(app[naming.UsernameKey]))
	for _, command := range []bson.D{
		one("listShards"),
		{{Key: "addShard", Value: "elsewhere/elsewhere:27017"}},
		one("getParameter"),
		one("getCmdLineOpts"),
		{{Key: "createUser", Value: "second"}, {Key: "pwd", Value: "x"}, {Key: "roles", Value: bson.A{"root"}}},
	} {
		_, err := run(t.Context(), mongos, command)
		g.Expect(isUnauthorized(err)).To(gomega.BeTrue(), "%s by the application: %v", command[0].Key, err)
	}
	// The same user is known to no shard: applications go through mongos.
	direct := credential(app[naming.UsernameKey], app[naming.PasswordKey], "admin")
	_, err := run(t.Context(), c.member(t, c.primary(t, c.shards(t)[0]), &direct), one("ping"))
	g.Expect(err).To(gomega.HaveOccurred())
}

func (c *cluster) rotatesPassword(t *testing.T) {
	g := gomega.NewWithT(t)
	name := naming.AppSecret(c.name)
	old := c.secret(t, name)
	// A word that occurs nowhere else, with characters that a connection string has to escape.
	const planted = "Canary7f3a/9c@21:e5?b8 d0%4"
	c.patchSecret(t, name, naming.PasswordKey, planted)
	renewed := map[string]string{}
	await(t, promptly, "the new password does not take effect", func(g gomega.Gomega) {
		renewed = c.secret(t, name)
		g.Expect(renewed[naming.PasswordKey]).To(gomega.Equal(planted))
		g.Expect(renewed[naming.URIKey]).NotTo(gomega.Equal(old[naming.URIKey]))
		_, err := run(t.Context(), c.router(t, renewed[naming.URIKey]), one("connectionStatus"))
		g.Expect(err).NotTo(gomega.HaveOccurred())
	})
	_, err := run(t.Context(), c.router(t, old[naming.URIKey]), one("connectionStatus"))
	g.Expect(err).To(gomega.HaveOccurred(), "the old password")
	escaped := strings.SplitN(strings.SplitN(renewed[naming.URIKey], "@", 2)[0], ":", 3)[2]
	c.secrets[planted], c.secrets[escaped] = "planted password", "planted password as in the connection string"
}

// appStillGetsIn proves that applications need not learn another password.
func (c *cluster) appStillGetsIn(t *testing.T, before map[string]string) {
	t.Helper()
	g := gomega.NewWithT(t)
	after := c.secret(t, naming.AppSecret(c.name))
	g.Expect(after).To(gomega.Equal(before))
	_, err := run(t.Context(), c.router(t, after[naming.URIKey]), one("connectionStatus"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
}

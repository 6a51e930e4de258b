// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/internal/naming"
)

const (
	clusterDomain = "cluster.local"
	// asking bounds one question to one server.
	asking = 15 * time.Second
)

// podDialer connects to the names that members and routers have inside of the cluster, by the IP that
// their pod has at that moment. So tests can use connection strings as applications do.
type podDialer struct {
	cluster *cluster
}

// DialContext is what the driver calls.
func (d podDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ip, err := d.ip(ctx, strings.SplitN(host, ".", 2)[0])
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, network, net.JoinHostPort(ip, port))
}

func (d podDialer) ip(ctx context.Context, name string) (string, error) {
	var pods []corev1.Pod
	if name == naming.Mongos(d.cluster.name) {
		routers, err := d.cluster.mongosPods(ctx)
		if err != nil {
			return "", err
		}
		pods = routers
	} else {
		pod := corev1.Pod{}
		if err := d.cluster.kube.Get(ctx, d.cluster.key(name), &pod); err != nil {
			return "", err
		}
		pods = append(pods, pod)
	}
	for _, pod := range pods {
		if pod.Status.PodIP != "" && pod.DeletionTimestamp == nil {
			return pod.Status.PodIP, nil
		}
	}
	return "", fmt.Errorf("no pod stands behind %s", name)
}

// host is the name under which the replica set knows a member.
func (c *cluster) host(pod string) string {
	set := pod[:strings.LastIndex(pod, "-")]
	return fmt.Sprintf("%s.%s.%s.svc.%s:%d", pod, set, c.namespace, clusterDomain, naming.Port)
}

func (c *cluster) connect(t *testing.T, settings *options.ClientOptions) *mongo.Client {
	t.Helper()
	settings.SetDialer(podDialer{c}).SetServerSelectionTimeout(asking).SetConnectTimeout(2 * time.Second)
	connected, err := mongo.Connect(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		// The server may be gone already.
		_ = connected.Disconnect(ctx)
	})
	return connected
}

// member connects to one member, whatever it is.
func (c *cluster) member(t *testing.T, pod string, as *options.Credential) *mongo.Client {
	t.Helper()
	settings := options.Client().SetHosts([]string{c.host(pod)}).SetDirect(true)
	if as != nil {
		settings.SetAuth(*as)
	}
	return c.connect(t, settings)
}

// replicaSet connects to a replica set as an application does: writes find the primary, and are tried
// once more when it changes.
func (c *cluster) replicaSet(t *testing.T, set string, as options.Credential) *mongo.Client {
	t.Helper()
	var hosts []string
	for _, pod := range c.members(t, set) {
		hosts = append(hosts, c.host(pod))
	}
	return c.connect(t, options.Client().SetHosts(hosts).SetReplicaSet(set).SetAuth(as))
}

// router connects through mongos with a connection string.
func (c *cluster) router(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	return c.connect(t, options.Client().ApplyURI(uri))
}

// secret reads one of the cluster's Secrets and remembers what must not be seen anywhere else.
func (c *cluster) secret(t *testing.T, name string) map[string]string {
	t.Helper()
	data := map[string]string{}
	for key, value := range get(t, c, name, &corev1.Secret{}).Data {
		data[key] = string(value)
	}
	for _, key := range []string{naming.PasswordKey, naming.KeyFileKey} {
		if data[key] != "" {
			c.secrets[data[key]] = key + " of " + name
		}
	}
	return data
}

// memberIdentity is what members use among themselves, which may do anything.
func (c *cluster) memberIdentity(t *testing.T) options.Credential {
	t.Helper()
	identity := mongodb.MemberIdentity([]byte(c.secret(t, naming.KeyFileSecret(c.name))[naming.KeyFileKey]))
	return credential(identity.Username, identity.Password, identity.Source)
}

func credential(username, password, source string) options.Credential {
	return options.Credential{
		AuthMechanism: "SCRAM-SHA-256", Username: username, Password: password, AuthSource: source, PasswordSet: true,
	}
}

// operatorURI is a connection string of the operator's own user through mongos.
func (c *cluster) operatorURI(t *testing.T) string {
	t.Helper()
	operator := c.secret(t, naming.OperatorSecret(c.name))
	return fmt.Sprintf("mongodb://%s:%s@%s:%d/?authSource=admin", operator[naming.UsernameKey], operator[naming.PasswordKey],
		naming.MongosHost(c.name, c.namespace, clusterDomain), naming.Port)
}

// run runs a command on admin.
func run(ctx context.Context, server *mongo.Client, command bson.D) (bson.Raw, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	return server.Database("admin").RunCommand(ctx, command).Raw()
}

func mustRun(t *testing.T, server *mongo.Client, command bson.D) bson.Raw {
	t.Helper()
	answer, err := run(t.Context(), server, command)
	if err != nil {
		t.Fatalf("%s: %v", command[0].Key, err)
	}
	return answer
}

// one is a command without arguments.
func one(name string) bson.D { return bson.D{{Key: name, Value: 1}} }

// expectReachable fails with a sentence where pods cannot be reached by their IP.
func (c *cluster) expectReachable(t *testing.T) {
	t.Helper()
	for name, pod := range c.podsNow(t) {
		address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(naming.Port))
		connection, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatalf("pod %s runs and %s cannot be reached from here: these tests speak to pods by their IP, so run them on a node or in a pod of the cluster (%v)", name, address, err)
		}
		_ = connection.Close()
	}
}

// fsyncLock keeps a server from writing; what it holds stays as it is until fsyncUnlock.
func fsyncLock() bson.D {
	return bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}}
}

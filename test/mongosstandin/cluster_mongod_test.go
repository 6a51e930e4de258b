// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/configserver"
)

// versions are the servers the stand-in has to work in front of.
var versions = []string{"4.2.6", "4.4.2", "5.0.4", "6.0.27"}

const (
	// patience bounds every wait. It is far over what a healthy machine needs; no test depends on how long one takes.
	patience = 90 * time.Second
	keyText  = "aKeyThatOnlyTheseTestsUse"
	// runAsStandIn tells this test binary to be the stand-in itself, so that a whole process is tested.
	runAsStandIn = "MONGOSSTANDIN_TEST_PROCESS"
)

func TestMain(m *testing.M) {
	if os.Getenv(runAsStandIn) != "" {
		main()
	}
	os.Exit(m.Run())
}

// patiently returns the context all commands of a test run under.
func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually repeats attempt until it succeeds.
func eventually(t *testing.T, what string, attempt func(context.Context) error) {
	t.Helper()
	ctx := patiently(t)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := attempt(ctx)
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// mongodPath returns the real server of a version. The image builder fetches it once and keeps it.
func mongodPath(t *testing.T, version string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "run", "-C", filepath.Join("..", "..", "hack", "image"), ".", "mongodb-binaries", version)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		t.Fatalf("get mongod %s: %v\n%s", version, err, complaint.String())
	}
	return filepath.Join(strings.TrimSpace(string(output)), "bin", "mongod")
}

func keyFile(t *testing.T, key string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(key), 0o400); err != nil {
		t.Fatalf("write key file: %v", err)
	}
	return path
}

// startMongod starts one server on loopback and returns its address.
func startMongod(t *testing.T, version string, arguments ...string) string {
	t.Helper()
	return startMongodOnAllAddresses(t, version, append([]string{"--bind_ip", "127.0.0.1", "--nounixsocket"}, arguments...))
}

// startMongodOnAllAddresses leaves the addresses to the arguments.
func startMongodOnAllAddresses(t *testing.T, version string, arguments []string) string {
	t.Helper()
	port := strconv.Itoa(freePort(t))
	directory := t.TempDir()
	logPath := filepath.Join(directory, "log")
	command := exec.CommandContext(context.WithoutCancel(t.Context()), mongodPath(t, version), append([]string{"--port", port, "--dbpath", directory,
		"--logpath", logPath, "--wiredTigerCacheSizeGB", "0.25"}, arguments...)...)
	if err := command.Start(); err != nil {
		t.Fatalf("start mongod: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
	})
	address := net.JoinHostPort("127.0.0.1", port)
	eventually(t, "reach mongod", func(ctx context.Context) error {
		conn, err := configserver.Dial(ctx, address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return address
}

// startConfigServers starts the config server replica set cfg.
func startConfigServers(t *testing.T, version, key string, members int) []string {
	t.Helper()
	return startSet(t, version, key, bson.D{{Key: "_id", Value: "cfg"}, {Key: "configsvr", Value: true}}, members)
}

// startShard starts the replica set sh0 of one member.
func startShard(t *testing.T, version, key string) []string {
	t.Helper()
	return startSet(t, version, key, bson.D{{Key: "_id", Value: "sh0"}}, 1)
}

// startSet starts a replica set with a key file and waits for its primary. The configuration starts with the name and
// is completed here. It returns all addresses.
func startSet(t *testing.T, version, key string, configuration bson.D, members int) []string {
	t.Helper()
	role := "--shardsvr"
	if len(configuration) > 1 {
		role = "--configsvr"
	}
	name := fmt.Sprint(configuration[0].Value)
	var addresses []string
	var configured bson.A
	for i := range members {
		address := startMongod(t, version, role, "--replSet", name, "--keyFile", key)
		addresses = append(addresses, address)
		configured = append(configured, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: address}})
	}
	configuration = append(configuration,
		bson.E{Key: "members", Value: configured},
		bson.E{Key: "settings", Value: bson.D{{Key: "electionTimeoutMillis", Value: 3000}}})
	ctx := patiently(t)
	if _, err := runAsMember(ctx, addresses[0], bson.D{{Key: "replSetInitiate", Value: configuration}}); err != nil {
		t.Fatalf("initiate %s: %v", name, err)
	}
	primaryOf(t, addresses)
	return addresses
}

// runAsMember runs a command on one server as the members among themselves do.
func runAsMember(ctx context.Context, address string, command bson.D) (bson.Raw, error) {
	conn, err := configserver.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Authenticate(ctx, keyText); err != nil {
		return nil, err
	}
	return conn.Run(ctx, "admin", command)
}

// primaryOf waits until one of the servers is primary and returns its address.
func primaryOf(t *testing.T, addresses []string) string {
	t.Helper()
	primary := ""
	eventually(t, "find primary", func(ctx context.Context) error {
		for _, address := range addresses {
			greeting, err := runAsMember(ctx, address, bson.D{{Key: "isMaster", Value: 1}})
			if err != nil {
				return err
			}
			if isPrimary, _ := greeting.Lookup("ismaster").BooleanOK(); isPrimary {
				primary = address
				return nil
			}
		}
		return fmt.Errorf("none of %v is primary", addresses)
	})
	return primary
}

// process is a running stand-in.
type process struct {
	address string
	command *exec.Cmd
	output  *bytes.Buffer
	ended   chan struct{}
}

// newProcess starts this test binary as the stand-in and does not wait for it.
func newProcess(t *testing.T, arguments ...string) *process {
	t.Helper()
	p := &process{command: exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], arguments...), output: &bytes.Buffer{}, ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), runAsStandIn+"=1")
	p.command.Stdout, p.command.Stderr = p.output, p.output
	if err := p.command.Start(); err != nil {
		t.Fatalf("start stand-in: %v", err)
	}
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { _ = p.command.Process.Kill() })
	return p
}

// startStandIn starts the stand-in from a configuration file and waits until it listens.
func startStandIn(t *testing.T, configSet string, configServers []string, key string) *process {
	t.Helper()
	port := freePort(t)
	path := filepath.Join(t.TempDir(), "mongos.conf")
	content := fmt.Sprintf(`
net: {port: %d, bindIp: 127.0.0.1}
sharding: {configDB: "%s/%s"}
security: {keyFile: %s}
setParameter: {ShardingTaskExecutorPoolMinSize: 7}
`, port, configSet, strings.Join(configServers, ","), key)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatalf("write config file: %v", err)
	}
	p := newProcess(t, "--config", path, "--setParameter", "cursorTimeoutMillis=5")
	p.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	eventually(t, "reach stand-in", func(ctx context.Context) error {
		select {
		case <-p.ended:
			t.Fatalf("stand-in ended: %v\n%s", p.command.ProcessState, p.output.String())
		default:
		}
		conn, err := configserver.Dial(ctx, p.address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return p
}

// exitCode waits for the end of the process.
func (p *process) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatal("the stand-in does not end")
	}
	return p.command.ProcessState.ExitCode()
}

// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/configserver"
	"github.com/mongotuning/mongotuning/test/mongosstandin/options"
)

// TestStartIsRefusedByVersion shows refusals that need the version, which the config servers tell.
func TestStartIsRefusedByVersion(t *testing.T) {
	for _, row := range []struct {
		version string
		flags   []string
		code    int
		want    string
	}{
		{"4.4.2", []string{"--setParameter", "initialServiceExecutorThreadingModel=borrowed"}, exitFailure, "Unknown --setParameter"},
		{"4.4.2", []string{"--setParameter", "logLevel=abc"}, exitBadOptions, "Bad value for parameter"},
		{"5.0.4", []string{"--serviceExecutor", "adaptive"}, exitBadOptions, "Unrecognized option: net.serviceExecutor"},
	} {
		t.Run(row.version+" "+row.flags[1], func(t *testing.T) {
			key := keyFile(t, keyText)
			members := startConfigServers(t, row.version, key, 1)
			p := newProcess(t, append([]string{"--configdb", "cfg/" + members[0], "--keyFile", key,
				"--port", strconv.Itoa(freePort(t))}, row.flags...)...)
			if code := p.exitCode(t); code != row.code || !strings.Contains(p.output.String(), row.want) {
				t.Errorf("exit code is %d, want %d with %q:\n%s", code, row.code, row.want, p.output.String())
			}
		})
	}
}

// logOf starts the stand-in with a log file and waits until the log has all the wanted texts.
func logOf(t *testing.T, port int, flags []string, wanted ...string) *process {
	t.Helper()
	logPath := filepath.Join(t.TempDir(), "log")
	p := newProcess(t, append(flags, "--logpath", logPath, "--port", strconv.Itoa(port))...)
	eventually(t, "see the reason in the log", func(context.Context) error {
		content, err := os.ReadFile(logPath)
		if err != nil {
			return err
		}
		for _, text := range wanted {
			if !bytes.Contains(content, []byte(text)) {
				return fmt.Errorf("no %q in the log:\n%s", text, content)
			}
		}
		return nil
	})
	return p
}

// TestStandInListensOnlyOnceTheConfigServersAreReached covers what would otherwise look like a router that works.
func TestStandInListensOnlyOnceTheConfigServersAreReached(t *testing.T) {
	key := keyFile(t, keyText)
	members := startConfigServers(t, "4.4.2", key, 1)
	shard := startShard(t, "4.4.2", key)
	otherKey := keyFile(t, "anotherKeyThanTheirs")
	for _, row := range []struct {
		name     string
		configDB string
		key      string
		reason   string
	}{
		{"nobody there", "cfg/" + net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t))), key, "connection refused"},
		{"another replica set", "other/" + members[0], key, `of replica set \"cfg\"`},
		{"a shard", "sh0/" + shard[0], key, "not started as a config server"},
		{"another key", "cfg/" + members[0], otherKey, "Authentication failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			port := freePort(t)
			p := logOf(t, port, []string{"--configdb", row.configDB, "--keyFile", row.key}, "not ready", row.reason)
			if conn, err := configserver.Dial(patiently(t), net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
				_ = conn.Close()
				t.Error("it listens")
			}
			if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatalf("signal: %v", err)
			}
			if code := p.exitCode(t); code != exitClean {
				t.Errorf("exit code is %d", code)
			}
		})
	}
}

// TestParametersAreThoseOfRealServers holds the table of parameters against mongod, which shares them with mongos: each
// exists in the versions it is said to, with that type and default, and may be changed while running or may not.
func TestParametersAreThoseOfRealServers(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			ctx := patiently(t)
			conn, err := configserver.Dial(ctx, startMongod(t, version))
			if err != nil {
				t.Fatalf("dial: %v", err)
			}
			defer func() { _ = conn.Close() }()
			numbers := versionNumbers(t, version)
			parameters, err := options.NewParameters(numbers, nil)
			if err != nil {
				t.Fatalf("parameters: %v", err)
			}
			for _, name := range parameters.Names() {
				want, err := conn.Run(ctx, "admin", bson.D{{Key: "getParameter", Value: 1}, {Key: name, Value: 1}})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				standard, _ := parameters.Get(name)
				kind, data, err := bson.MarshalValue(standard)
				if got := (bson.RawValue{Type: kind, Value: data}); err != nil || !got.Equal(want.Lookup(name)) {
					t.Errorf("%s is %v, mongod has %v", name, got, want.Lookup(name))
				}
				compareChange(t, conn, parameters, name, want.Lookup(name))
			}
			everything, err := conn.Run(ctx, "admin", bson.D{{Key: "getParameter", Value: "*"}})
			if err != nil {
				t.Fatalf("get all parameters: %v", err)
			}
			compareNames(t, parameters, everything)
		})
	}
}

// compareChange sets a parameter to the value it has, on both sides.
func compareChange(t *testing.T, conn *configserver.Conn, parameters *options.Parameters, name string, value bson.RawValue) {
	t.Helper()
	_, want := conn.Run(patiently(t), "admin", bson.D{{Key: "setParameter", Value: 1}, {Key: name, Value: value}})
	_, got := parameters.Set(name, value)
	if (got == nil) != (want == nil) {
		t.Errorf("setting %s gives %v, mongod says %v", name, got, want)
	}
	var refused *configserver.CommandError
	if got == nil || !errors.As(want, &refused) {
		return
	}
	if message, _ := refused.Reply.Lookup("errmsg").StringValueOK(); message != got.Error() {
		t.Errorf("setting %s is refused with %q, mongod says %q", name, got, message)
	}
}

// compareNames looks for parameters of a router's families that mongod has and the table misses.
func compareNames(t *testing.T, parameters *options.Parameters, everything bson.Raw) {
	t.Helper()
	elements, err := everything.Elements()
	if err != nil {
		t.Fatalf("read parameters: %v", err)
	}
	for _, element := range elements {
		for _, family := range []string{"ShardingTaskExecutorPool", "adaptiveServiceExecutor", "warmMinConnections"} {
			if _, isKnown := parameters.Get(element.Key()); strings.HasPrefix(element.Key(), family) && !isKnown {
				t.Errorf("%s is missing", element.Key())
			}
		}
	}
}

func versionNumbers(t *testing.T, version string) []int32 {
	t.Helper()
	var numbers []int32
	for part := range strings.SplitSeq(version, ".") {
		number, err := strconv.ParseInt(part, 10, 32)
		if err != nil {
			t.Fatalf("read version: %v", err)
		}
		numbers = append(numbers, int32(number))
	}
	return numbers
}

// TestOptionsAreShownAsRealServersShowThem gives one file and the same flags to mongod and to the stand-in's parser, as
// far as both have the options, and compares getCmdLineOpts.
func TestOptionsAreShownAsRealServersShowThem(t *testing.T) {
	const shared = `
net: {bindIpAll: true, maxIncomingConnections: 500, ipv6: false}
systemLog: {quiet: true, verbosity: 0, logAppend: true, timeStampFormat: iso8601-utc, component: {network: {verbosity: 1}}}
processManagement: {fork: false}
setParameter: {ShardingTaskExecutorPoolMinSize: 0x10, quiet: true}
`
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "shared.conf")
			if err := os.WriteFile(path, []byte(shared), 0o600); err != nil {
				t.Fatalf("write config file: %v", err)
			}
			flags := []string{"--config", path, "--setParameter", "cursorTimeoutMillis=5"}
			address := startMongodOnAllAddresses(t, version, flags)
			conn, err := configserver.Dial(patiently(t), address)
			if err != nil {
				t.Fatalf("dial: %v", err)
			}
			defer func() { _ = conn.Close() }()
			reply, err := conn.Run(patiently(t), "admin", bson.D{{Key: "getCmdLineOpts", Value: 1}})
			if err != nil {
				t.Fatalf("get options: %v", err)
			}
			_, port, _ := net.SplitHostPort(address)
			ours, err := options.Parse(append([]string{"mongos", "--configdb", "cfg/h:1", "--port", port}, flags...))
			if err != nil {
				t.Fatalf("parse: %v", err)
			}
			raw, err := bson.Marshal(ours.Parsed())
			if err != nil {
				t.Fatalf("marshal: %v", err)
			}
			theirs := reply.Lookup("parsed").Document()
			for _, section := range []string{"config", "net", "setParameter", "processManagement"} {
				if got, want := bson.Raw(raw).Lookup(section), theirs.Lookup(section); !got.Equal(want) {
					t.Errorf("%s is %v, mongod shows %v", section, got, want)
				}
			}
			for _, key := range []string{"quiet", "verbosity", "logAppend", "timeStampFormat", "component"} {
				if got, want := bson.Raw(raw).Lookup("systemLog", key), theirs.Lookup("systemLog", key); !got.Equal(want) {
					t.Errorf("systemLog.%s is %v, mongod shows %v", key, got, want)
				}
			}
		})
	}
}

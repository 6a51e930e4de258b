// SPDX-License-Identifier: Apache-2.0

package options_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/options"
)

const wholeFile = `
net:
  port: 27018
  bindIpAll: true
  maxIncomingConnections: 60000
  serviceExecutor: adaptive
security: {keyFile: /etc/key}
sharding: {configDB: "cfg/a:1,b"}
setParameter:
  ShardingTaskExecutorPoolMinSize: 10
  loadRoutingTableOnStartup: false
systemLog:
  destination: file
  path: /tmp/log
  logAppend: true
  component: {network: {verbosity: 1}}
`

func configFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mongos.conf")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatalf("write config file: %v", err)
	}
	return path
}

func TestFileAndFlagsAreReadAsMongosReadsThem(t *testing.T) {
	path := configFile(t, wholeFile)
	argv := []string{"mongos", "--config", path, "--port=27019", "--setParameter", "cursorTimeoutMillis=5"}
	o, err := options.Parse(argv)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	for _, row := range []struct {
		name      string
		got, want any
	}{
		{"a flag wins over the file", o.Addresses, []string{"0.0.0.0:27019"}},
		{"config server without a port has mongos' default", o.ConfigHosts, []string{"a:1", "b:27019"}},
		{"config server set", o.ConfigSet, "cfg"},
		{"key file", o.KeyFile, "/etc/key"},
		{"log", o.LogPath, "/tmp/log"},
		{"log append", o.LogAppend, true},
		{"service executor", o.ServiceExecutor, "adaptive"},
		{"parameters of file and flags together", o.SetParameter, map[string]string{
			"ShardingTaskExecutorPoolMinSize": "10", "loadRoutingTableOnStartup": "false", "cursorTimeoutMillis": "5",
		}},
		{"what getCmdLineOpts shows", o.Parsed(), bson.D{
			{Key: "config", Value: path},
			{Key: "net", Value: bson.D{
				{Key: "bindIp", Value: "*"}, {Key: "maxIncomingConnections", Value: int32(60000)},
				{Key: "port", Value: int32(27019)}, {Key: "serviceExecutor", Value: "adaptive"},
			}},
			{Key: "security", Value: bson.D{{Key: "keyFile", Value: "/etc/key"}}},
			{Key: "setParameter", Value: bson.D{
				{Key: "ShardingTaskExecutorPoolMinSize", Value: "10"}, {Key: "cursorTimeoutMillis", Value: "5"},
				{Key: "loadRoutingTableOnStartup", Value: "false"},
			}},
			{Key: "sharding", Value: bson.D{{Key: "configDB", Value: "cfg/a:1,b"}}},
			{Key: "systemLog", Value: bson.D{
				{Key: "component", Value: bson.D{{Key: "network", Value: bson.D{{Key: "verbosity", Value: int32(1)}}}}},
				{Key: "destination", Value: "file"}, {Key: "logAppend", Value: true}, {Key: "path", Value: "/tmp/log"},
			}},
		}},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestFlagsAloneSuffice(t *testing.T) {
	o, err := options.Parse([]string{"mongos", "--configdb", "cfg/h:1", "--bind_ip", "localhost,10.0.0.1", "--port", "5",
		"--keyFile", "/key", "--setParameter", "logLevel=1", "--setParameter", "quiet=true"})
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	if diff := cmp.Diff([]string{"localhost:5", "10.0.0.1:5"}, o.Addresses); diff != "" {
		t.Errorf("addresses differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"logLevel": "1", "quiet": "true"}, o.SetParameter); diff != "" {
		t.Errorf("parameters differ (-want +got):\n%s", diff)
	}
}

func TestLoopbackIsTheDefaultAddress(t *testing.T) {
	o, err := options.Parse([]string{"mongos", "--configdb", "cfg/h:1"})
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	if diff := cmp.Diff([]string{"127.0.0.1:27017"}, o.Addresses); diff != "" {
		t.Errorf("addresses differ (-want +got):\n%s", diff)
	}
}

func TestWhatMongosRefusesIsRefused(t *testing.T) {
	const configDB = "sharding: {configDB: 'cfg/h:1'}\n"
	for _, row := range []struct {
		name  string
		file  string
		flags []string
		want  string
	}{
		{"unknown flag", configDB, []string{"--nosuch"}, "unrecognised option '--nosuch'"},
		{"positional argument", configDB, []string{"nosuch"}, "too many positional options"},
		{"flag without its value", configDB, []string{"--port"}, "argument for option '--port' is missing"},
		{"switch with a value", configDB, []string{"--bind_ip_all=true"}, "does not take any arguments"},
		{"flag given twice", configDB, []string{"--port", "1", "--port", "2"}, "more than once"},
		{"parameter given twice", configDB, []string{"--setParameter", "a=1", "--setParameter", "a=2"}, "duplicate key: a"},
		{"parameter without a value", configDB, []string{"--setParameter", "a"}, "Illegal option assignment"},
		{"unknown section", configDB + "storage: {dbPath: /x}", nil, "Unrecognized option: storage.dbPath"},
		{"unknown key", configDB + "net: {foo: 1}", nil, "Unrecognized option: net.foo"},
		{"unknown key that is a list", configDB + "net: [1]", nil, "Unrecognized option: net"},
		{"TLS, which the stand-in does not speak", configDB + "net: {tls: {mode: requireTLS}}", nil, "net.tls.mode"},
		{"number that is none", configDB + "net: {port: abc}", nil, `Error parsing option "net.port" as int`},
		{"port out of range", configDB + "net: {port: 65536}", nil, "not within"},
		{"bool that is none", configDB + "net: {ipv6: 1}", nil, "as bool"},
		{"key given twice", configDB + "net: {port: 1, port: 2}", nil, "port"},
		{"no YAML", "a: [", nil, "Error parsing YAML"},
		{"a list", "- a", nil, "no map"},
		{"setParameter that is no map", configDB + "setParameter: 1", nil, "a map is expected"},
		{"no config servers", "", nil, "no args for --configdb"},
		{"config servers that are no replica set", "sharding: {configDB: 'h:1'}", nil, "FailedToParse"},
		{"a hole in the config servers", "sharding: {configDB: 'cfg/h:1,,i:1'}", nil, "empty host"},
		{"both ways to bind", configDB + "net: {bindIp: a, bindIpAll: true}", nil, "cannot be set together"},
		{"unknown executor", configDB + "net: {serviceExecutor: fast}", nil, "Unsupported value for serviceExecutor"},
		{"log file without a path", configDB + "systemLog: {destination: file}", nil, "systemLog.path is required"},
		{"syslog", configDB + "systemLog: {destination: syslog}", nil, "systemLog.destination"},
		{"fork", configDB + "processManagement: {fork: true}", nil, "foreground"},
		{"x.509 membership", configDB + "security: {clusterAuthMode: x509}", nil, "clusterAuthMode"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := options.Parse(append([]string{"mongos", "--config", configFile(t, row.file)}, row.flags...))
			var refused *options.Refusal
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %v, want a refusal with %q", err, row.want)
			}
		})
	}
}

func TestServiceExecutorEndsWithVersion50(t *testing.T) {
	o, err := options.Parse([]string{"mongos", "--configdb", "cfg/h:1", "--serviceExecutor", "adaptive"})
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	if err := o.CheckVersion([]int32{4, 4, 29, 0}); err != nil {
		t.Errorf("4.4 refuses: %v", err)
	}
	if err := o.CheckVersion([]int32{5, 0, 0, 0}); err == nil {
		t.Error("5.0 accepts")
	}
}

func TestKeyIsReadFromItsFile(t *testing.T) {
	for _, row := range []struct {
		name    string
		content string
		mode    os.FileMode
		want    string
		wantErr string
	}{
		{"white space does not count", "abc def\nghi\n", 0o400, "abcdefghi", ""},
		{"the first of a list counts", "- firstkey\n- secondkey\n", 0o600, "firstkey", ""},
		{"readable by the group", "abcdefghi", 0o440, "", "too open"},
		{"too short", "abcde", 0o400, "", "5 characters"},
		{"shortest", "abcdef", 0o400, "abcdef", ""},
		{"longest", strings.Repeat("a", 1024), 0o400, strings.Repeat("a", 1024), ""},
		{"too long", strings.Repeat("a", 1025), 0o400, "", "1025 characters"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(path, []byte(row.content), row.mode); err != nil {
				t.Fatalf("write key: %v", err)
			}
			got, err := options.ReadKey(path)
			if got != row.want || (err == nil) != (row.wantErr == "") {
				t.Fatalf("key is %q, %v", got, err)
			}
			if err != nil && !strings.Contains(err.Error(), row.wantErr) {
				t.Errorf("error is %v, want %q in it", err, row.wantErr)
			}
		})
	}
}

func FuzzConfigFile(f *testing.F) {
	f.Add([]byte(wholeFile))
	f.Add([]byte("setParameter: {a: 1}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "mongos.conf")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatalf("write config file: %v", err)
		}
		o, err := options.Parse([]string{"mongos", "--config", path})
		if err != nil {
			if _, isRefusal := errors.AsType[*options.Refusal](err); !isRefusal {
				t.Fatalf("error %v is no refusal", err)
			}
			return
		}
		if _, err := bson.Marshal(o.Parsed()); err != nil {
			t.Fatalf("settings cannot be shown: %v", err)
		}
	})
}

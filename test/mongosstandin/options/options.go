// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	defaultPort = 27017
	// defaultConfigPort is the port of a config server whose address in configDB names none.
	defaultConfigPort = "27019"
)

// Refusal says why a mongos would not start with these options. It ends the process with exit code 2.
type Refusal struct{ message string }

// Error is the line mongos prints.
func (r *Refusal) Error() string { return r.message }

func refusef(format string, arguments ...any) error {
	return &Refusal{message: fmt.Sprintf(format, arguments...)}
}

// Options are the settings of one stand-in.
type Options struct {
	// ShowVersion asks to print the version and exit.
	ShowVersion bool
	// Argv are the arguments as given, the program first.
	Argv []string
	// Addresses are the host and port pairs to listen on.
	Addresses []string
	// ConfigSet and ConfigHosts are the two halves of sharding.configDB.
	ConfigSet   string
	ConfigHosts []string
	// KeyFile is the path of the key file, empty when the cluster runs without authentication.
	KeyFile string
	// LogPath is the file to log to, empty for standard output. LogAppend keeps what is in it.
	LogPath   string
	LogAppend bool
	// PidFile is the path to write the process id to, empty for none.
	PidFile string
	// ServiceExecutor is net.serviceExecutor, empty when unset.
	ServiceExecutor string
	// SetParameter are the parameters given at the start, as text.
	SetParameter map[string]string

	values values
}

// Parse reads the arguments, the program's name first, and the configuration file they name.
func Parse(argv []string) (*Options, error) {
	o := &Options{Argv: argv, SetParameter: map[string]string{}, values: values{}}
	configFile, err := o.readFlags(argv[1:])
	if err != nil || o.ShowVersion {
		return o, err
	}
	if configFile != "" {
		content, err := os.ReadFile(configFile)
		if err != nil {
			return nil, refusef("Error opening config file '%s': %v", configFile, err)
		}
		if err := o.values.readFile(content); err != nil {
			return nil, err
		}
		o.values["config"] = configFile
	}
	for _, derive := range []func() error{o.deriveAddresses, o.deriveConfigServers, o.deriveLog, o.deriveRest} {
		if err := derive(); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// readFlags reads the arguments into values and returns the path of the configuration file.
func (o *Options) readFlags(arguments []string) (string, error) {
	configFile := ""
	for len(arguments) > 0 {
		given, rest, err := takeFlag(arguments)
		if err != nil {
			return "", err
		}
		arguments = rest
		switch given.path {
		case "version":
			o.ShowVersion = true
			return "", nil
		case "config":
			configFile = given.value
			continue
		}
		_, isSet := o.values[given.path]
		if isSet {
			return "", refusef("Error parsing command line: option '--%s' cannot be specified more than once", given.flag)
		}
		if err := o.values.set(given.option, given.value); err != nil {
			return "", err
		}
	}
	return configFile, nil
}

// givenFlag is one flag with its value, as text.
type givenFlag struct {
	option
	value string
}

// takeFlag reads the flag at the start of the arguments and returns what follows it.
func takeFlag(arguments []string) (givenFlag, []string, error) {
	argument, rest := arguments[0], arguments[1:]
	if argument == "-f" {
		argument = "--config"
	}
	text, isFlag := strings.CutPrefix(argument, "--")
	if !isFlag {
		return givenFlag{}, nil, refusef("Error parsing command line: too many positional options have been specified on the command line")
	}
	name, value, hasValue := strings.Cut(text, "=")
	known, isKnown := optionByFlag(name)
	switch {
	case !isKnown:
		return givenFlag{}, nil, refusef("Error parsing command line: unrecognised option '%s'", argument)
	case known.kind == kindBool && hasValue:
		return givenFlag{}, nil, refusef("Error parsing command line: option '--%s' does not take any arguments", name)
	case known.kind == kindBool:
		value = "true"
	case !hasValue && len(rest) == 0:
		return givenFlag{}, nil, refusef("Error parsing command line: the required argument for option '--%s' is missing", name)
	case !hasValue:
		value, rest = rest[0], rest[1:]
	}
	return givenFlag{known, value}, rest, nil
}

// ConfigDB is the connection string of the config servers, as given.
func (o *Options) ConfigDB() string { return o.text("sharding.configDB") }

func (o *Options) text(path string) string {
	text, _ := o.values[path].(string)
	return text
}

func (o *Options) isOn(path string) bool {
	on, _ := o.values[path].(bool)
	return on
}

func (o *Options) deriveAddresses() error {
	port := defaultPort
	if set, ok := o.values["net.port"].(int32); ok {
		port = int(set)
	}
	if port < 0 || port > 65535 {
		return refusef("Error parsing option \"net.port\": %d is not within 0 and 65535", port)
	}
	_, hasBindIP := o.values["net.bindIp"]
	if o.isOn("net.bindIpAll") {
		if hasBindIP {
			return refusef("Error: net.bindIp and net.bindIpAll cannot be set together")
		}
		// mongod shows net.bindIpAll so in getCmdLineOpts.
		o.values["net.bindIp"] = "*"
	}
	delete(o.values, "net.bindIpAll")
	hosts := []string{"127.0.0.1"}
	if set := o.text("net.bindIp"); set != "" {
		hosts = strings.Split(set, ",")
	}
	for _, host := range hosts {
		switch host = strings.TrimSpace(host); {
		case host == "*" && o.isOn("net.ipv6"):
			o.Addresses = append(o.Addresses, net.JoinHostPort("::", strconv.Itoa(port)))
		case host == "*":
			o.Addresses = append(o.Addresses, net.JoinHostPort("0.0.0.0", strconv.Itoa(port)))
		case host != "" && !strings.HasPrefix(host, "/"):
			o.Addresses = append(o.Addresses, net.JoinHostPort(host, strconv.Itoa(port)))
		}
	}
	return nil
}

func (o *Options) deriveConfigServers() error {
	set := o.text("sharding.configDB")
	if set == "" {
		return refusef("error: no args for --configdb")
	}
	name, hosts, isSet := strings.Cut(set, "/")
	if !isSet || name == "" || hosts == "" {
		return refusef("FailedToParse: config server connections need a replica set connection string, " +
			"<config replset name>/<host1:port>,<host2:port>,[...]")
	}
	o.ConfigSet = name
	for host := range strings.SplitSeq(hosts, ",") {
		if host == "" {
			return refusef("FailedToParse: empty host in %q", set)
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, defaultConfigPort)
		}
		o.ConfigHosts = append(o.ConfigHosts, host)
	}
	return nil
}

func (o *Options) deriveLog() error {
	destination, path := o.text("systemLog.destination"), o.text("systemLog.path")
	if _, hasDestination := o.values["systemLog.destination"]; !hasDestination && path != "" {
		// mongod shows --logpath so in getCmdLineOpts.
		destination = "file"
		o.values["systemLog.destination"] = destination
	}
	switch {
	case destination != "" && destination != "file":
		return refusef("Bad value for systemLog.destination: this stand-in logs to a file or to standard output")
	case destination == "file" && path == "":
		return refusef("systemLog.path is required if systemLog.destination is to a file")
	}
	o.LogPath, o.LogAppend = path, o.isOn("systemLog.logAppend")
	return nil
}

func (o *Options) deriveRest() error {
	if o.isOn("processManagement.fork") {
		return refusef("processManagement.fork: this stand-in stays in the foreground")
	}
	if mode := o.text("security.clusterAuthMode"); mode != "" && mode != "keyFile" {
		return refusef("unsupported value for clusterAuthMode %s: this stand-in knows keyFile", mode)
	}
	if layer := o.text("net.transportLayer"); layer != "" && layer != "asio" {
		return refusef("BadValue: Unsupported value for transportLayer. Must be \"asio\"")
	}
	o.ServiceExecutor = o.text("net.serviceExecutor")
	if !slices.Contains([]string{"", "synchronous", "adaptive"}, o.ServiceExecutor) {
		return refusef("BadValue: Unsupported value for serviceExecutor")
	}
	o.KeyFile = o.text("security.keyFile")
	o.PidFile = o.text("processManagement.pidFilePath")
	for path, value := range o.values {
		if name, isParameter := strings.CutPrefix(path, "setParameter."); isParameter {
			o.SetParameter[name] = fmt.Sprint(value)
		}
	}
	return nil
}

// Parsed shows the settings as getCmdLineOpts does: nested by their path, in the order of their names.
func (o *Options) Parsed() bson.D {
	paths := make([]string, 0, len(o.values))
	for path := range o.values {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	parsed := bson.D{}
	for _, path := range paths {
		parsed = insert(parsed, strings.Split(path, "."), o.values[path])
	}
	return parsed
}

func insert(d bson.D, path []string, value any) bson.D {
	if len(path) == 1 {
		return append(d, bson.E{Key: path[0], Value: value})
	}
	if last := len(d) - 1; last >= 0 && d[last].Key == path[0] {
		if below, ok := d[last].Value.(bson.D); ok {
			d[last].Value = insert(below, path[1:], value)
			return d
		}
	}
	return append(d, bson.E{Key: path[0], Value: insert(nil, path[1:], value)})
}

package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// settings is what the operator asked for, checked.
type settings struct {
	addr       string
	config     string // path of the provisioning document, "" for the demo
	publicURL  string // without a slash at the end; "" for the listen address
	command    []string
	commandEnv []string // the environment of command
	data       string   // folder of the database
	memory     bool     // instead of data
	postgres   string   // URL of the database, instead of data; "" for none
	queue      string   // "", queueInPostgres, or URLs of NATS servers
	migrate    bool     // make the tables of postgres, and end
	copyFrom   string   // data folder to copy into postgres, and end; "" for none
	backup     string   // file to copy the database of data to, and end; "" for none
	vaultKey   string   // path of the root key's file, "" for the one in the data folder
	docs       bool
	metrics    bool

	tokenizeRate float64 // requests a second of one caller; 0 for no limit

	version     bool // print it, and end
	checkConfig bool // read the provisioning document, and end

	demoCommands bool             // the demo prints a command for each operation
	demo         *demoCredentials // nil: there is no demo
	meters       *meters          // nil: nothing is counted

	model       string // path or https URL of an ONNX file, "" for none
	onnxruntime string // path of ONNX Runtime's library, "" for the usual places
	oip         string // URL of a model on an inference server, "" for none
}

//go:embed usage.txt
var usage string

// variables stand in for flags that are not given, unless they are empty.
var variables = map[string]string{
	"addr": "MORTISE_ADDR", "config": "MORTISE_CONFIG", "public-url": "MORTISE_PUBLIC_URL", "trigger-exec": "MORTISE_TRIGGER_EXEC",
	"data": "MORTISE_DATA", "vault-key": "MORTISE_VAULT_KEY_FILE", "postgres": "MORTISE_POSTGRES", "queue": "MORTISE_QUEUE",
	"model": "MORTISE_MODEL", "oip": "MORTISE_OIP", "onnxruntime": "MORTISE_ONNXRUNTIME",
}

// readSettings reads the flags, and the environment for those that are not given. Help
// goes to stdout.
func readSettings(args, env []string, stdout io.Writer) (*settings, error) {
	s := new(settings)
	var command string
	fs := flag.NewFlagSet("server", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&s.addr, "addr", "127.0.0.1:8080", "")
	fs.StringVar(&s.config, "config", "", "")
	fs.StringVar(&s.publicURL, "public-url", "", "")
	fs.StringVar(&command, "trigger-exec", "", "")
	fs.StringVar(&s.data, "data", "./mortise-data", "")
	fs.StringVar(&s.vaultKey, "vault-key", "", "")
	fs.StringVar(&s.model, "model", "", "")
	fs.StringVar(&s.oip, "oip", "", "")
	fs.StringVar(&s.onnxruntime, "onnxruntime", "", "")
	fs.StringVar(&s.postgres, "postgres", "", "")
	fs.StringVar(&s.queue, "queue", "", "")
	fs.StringVar(&s.copyFrom, "copy-from", "", "")
	fs.StringVar(&s.backup, "backup", "", "")
	fs.BoolVar(&s.migrate, "migrate", false, "")
	fs.BoolVar(&s.memory, "memory", false, "")
	fs.BoolVar(&s.docs, "docs", true, "")
	fs.BoolVar(&s.metrics, "metrics", true, "")
	fs.Float64Var(&s.tokenizeRate, "tokenize-rate", 0, "")
	fs.BoolVar(&s.version, "version", false, "")
	fs.BoolVar(&s.checkConfig, "check-config", false, "")
	fs.BoolVar(&s.demoCommands, "demo-commands", false, "")

	inEnv := make(map[string]string)
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			inEnv[name] = value
		}
	}
	for name, variable := range variables {
		if value := inEnv[variable]; value != "" {
			_ = fs.Lookup(name).Value.Set(value) // any text is one; unlike with fs.Set, the flag is not given by that
		}
	}
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return nil, err
	} else if err != nil {
		return nil, usagef("%w (-h lists the flags)", err)
	}
	if fs.NArg() > 0 {
		return nil, usagef("%q: not a flag, and nothing else is expected (a command with arguments is quoted as one)", fs.Arg(0))
	}
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := s.contradiction(given, inEnv); err != nil {
		return nil, err
	}
	return s, s.check(command, env)
}

// contradiction refuses flags that do not go together, and those that name nothing.
func (s *settings) contradiction(given map[string]bool, inEnv map[string]string) error {
	// A variable counts as its flag does: the server cannot know which of the two the
	// operator forgot about, and to choose memory would lose data.
	elsewhere, stores := "", []string{"queue", "postgres", "data"}
	for _, name := range slices.Backward(stores) {
		if s.memory && inEnv[variables[name]] != "" {
			elsewhere = variables[name]
		}
	}
	for _, name := range stores {
		if s.memory && given[name] {
			elsewhere = "-" + name
		}
	}
	for _, refused := range []struct {
		when bool
		why  string
	}{
		{s.checkConfig && s.config == "", "-check-config: needs -config, which names the document"},
		{given["vault-key"] && s.vaultKey == "", "-vault-key: names no file"},
		{elsewhere != "", "-memory: cannot go together with " + elsewhere + ", which keeps data elsewhere"},
		{given["copy-from"] && s.copyFrom == "", "-copy-from: names no folder"},
		{given["backup"] && s.backup == "", "-backup: names no file"},
		{s.backup != "" && (s.memory || s.postgres != ""),
			"-backup: copies the database of -data, and there is none; pg_dump copies one of PostgreSQL"},
		{given["postgres"] && s.postgres == "", "-postgres: names no database"},
		{s.migrate && s.postgres == "", "-migrate: needs -postgres, which names the database"},
		{s.copyFrom != "" && s.postgres == "", "-copy-from: needs -postgres, which names the database to copy into"},
		{s.copyFrom != "" && s.migrate, "-copy-from: makes the tables itself; leave -migrate out"},
		{s.copyFrom != "" && s.queueURL() != "",
			"-copy-from: copies the jobs into the database; leave -queue out, and change it once they are done"},
		{s.queue != "" && s.postgres == "", "-queue: needs -postgres: without it the queue is in the data folder"},
	} {
		if refused.when {
			return usagef("%s", refused.why)
		}
	}
	return s.checkPostgres()
}

// check refuses what cannot work, before anything is begun.
func (s *settings) check(command string, env []string) error {
	if err := checkAddr(s.addr); err != nil {
		return err
	}
	if s.data == "" {
		return usagef("-data: names no folder")
	}
	if s.model != "" && s.oip != "" {
		return usagef("-model and -oip: two models; choose one of them")
	}
	if scheme, _, ok := strings.Cut(s.model, "://"); ok && !strings.EqualFold(scheme, "https") {
		return usagef("-model: must be a file or an https URL") // it may hold a secret, and is not repeated
	}
	if !(s.tokenizeRate >= 0 && s.tokenizeRate <= 1e6) { // NaN is neither
		return usagef("-tokenize-rate: must be a number from 0, which is no limit, to 1000000")
	}
	if s.publicURL != "" {
		if err := checkPublicURL(s.publicURL); err != nil {
			return err
		}
		s.publicURL = strings.TrimRight(s.publicURL, "/")
	}
	if command == "" {
		return nil
	}
	words, err := splitCommand(command)
	if err != nil {
		return usagef("-trigger-exec: %w", err)
	}
	// As the shell would, so that a missing one is known at the start.
	if words[0], err = exec.LookPath(words[0]); err != nil {
		return usagef("-trigger-exec: %w", err)
	}
	s.command, s.commandEnv = words, withoutOwn(env)
	return nil
}

func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return usagef("-addr: %w", err)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("-addr: %q is no port: it must be a number from 0 to 65535", port)
	}
	return nil
}

// checkPublicURL does not repeat the URL: it may hold a password.
func checkPublicURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return usagef("-public-url: must be an absolute http or https URL")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return usagef("-public-url: must have no user, query or fragment")
	}
	return nil
}

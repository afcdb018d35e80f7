package main

import (
	"cmp"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// settings is what the operator asked for, checked.
type settings struct {
	addr       string
	config     string // path of the provisioning document, "" for the demo
	publicURL  string // without a slash at the end; "" for the listen address
	command    []string
	commandEnv []string        // the environment of command
	data       string          // folder of the database
	memory     bool            // instead of data
	postgres   string          // URL of the database, instead of data; "" for none
	database   *pgxpool.Config // of postgres
	queue      string          // URLs of NATS servers; "" for a table in postgres, or in data
	migrate    bool            // make the tables of postgres, and end
	copyFrom   string          // data folder to copy into postgres, and end; "" for none
	backup     string          // file to copy the database of data to, and end; "" for none
	restored   bool            // the database was restored from a backup
	vaultKey   string          // path of the root key's file, "" for the one in the data folder
	docs       bool
	metrics    bool

	proxies *proxies // nil: no headers of proxies count

	tokenizeRate float64 // requests a second of one caller; 0 for no limit

	lease time.Duration // how long a job of a killed server waits

	perOrganization int // attempts at a time of one organization; 0: no bound

	version     bool // print it, and end
	checkConfig bool // read the provisioning document, and end

	demoCommands bool            // the demo prints a command for each operation
	demo         demoCredentials // empty: there is no demo
	tally        *tally          // of the demo; nil: nothing is counted
	meters       *meters         // nil: nothing is counted
	seen         *seen           // nil: nothing is noted

	model       string // path or https URL of an ONNX file, "" for none
	onnxruntime string // path of ONNX Runtime's library, "" for the usual places
	onnxThreads int    // of a run of the model; 0: as many as the process may use
	oip         string // URL of a model on an inference server, "" for none
}

//go:embed usage.txt
var usage string

// readSettings reads the flags, and the environment for those that are not given. Help
// goes to stdout.
func readSettings(args, env []string, stdout io.Writer) (*settings, error) {
	inEnv, given := make(map[string]string), make(map[string]bool) // given: flags, and variables that are not empty
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		inEnv[name], given[name] = value, value != ""
	}
	s := new(settings)
	var command, lease, trusted, onnxThreads string
	fs := flag.NewFlagSet("server", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	text := func(to *string, name, variable, otherwise string) {
		fs.StringVar(to, name, cmp.Or(inEnv[variable], otherwise), "")
	}
	text(&s.addr, "addr", "MORTISE_ADDR", "127.0.0.1:8080")
	text(&s.config, "config", "MORTISE_CONFIG", "")
	text(&s.publicURL, "public-url", "MORTISE_PUBLIC_URL", "")
	text(&command, "trigger-exec", "MORTISE_TRIGGER_EXEC", "")
	text(&s.data, "data", "MORTISE_DATA", "./mortise-data")
	text(&s.vaultKey, "vault-key", "MORTISE_VAULT_KEY_FILE", "")
	text(&s.model, "model", "MORTISE_MODEL", "")
	text(&s.oip, "oip", "MORTISE_OIP", "")
	text(&s.onnxruntime, "onnxruntime", "MORTISE_ONNXRUNTIME", "")
	text(&onnxThreads, "onnx-threads", "MORTISE_ONNX_THREADS", "0")
	text(&s.postgres, "postgres", "MORTISE_POSTGRES", "")
	text(&s.queue, "queue", "MORTISE_QUEUE", "")
	text(&lease, "lease", "MORTISE_LEASE", "15s")
	text(&trusted, "trusted-proxies", "MORTISE_TRUSTED_PROXIES", "")
	fs.StringVar(&s.copyFrom, "copy-from", "", "")
	fs.StringVar(&s.backup, "backup", "", "")
	fs.BoolVar(&s.migrate, "migrate", false, "")
	fs.BoolVar(&s.restored, "restored", false, "")
	fs.BoolVar(&s.memory, "memory", false, "")
	fs.BoolVar(&s.docs, "docs", true, "")
	fs.BoolVar(&s.metrics, "metrics", true, "")
	fs.Float64Var(&s.tokenizeRate, "tokenize-rate", 0, "")
	fs.IntVar(&s.perOrganization, "per-organization", 0, "")
	fs.BoolVar(&s.version, "version", false, "")
	fs.BoolVar(&s.checkConfig, "check-config", false, "")
	fs.BoolVar(&s.demoCommands, "demo-commands", false, "")

	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return nil, err
	} else if err != nil {
		return nil, usagef("%s (-h lists the flags)", strings.TrimSuffix(err.Error(), ": parse error"))
	}
	if fs.NArg() > 0 {
		return nil, usagef("%q: not a flag, and nothing else is expected (a command with arguments is quoted as one)", fs.Arg(0))
	}
	fs.Visit(func(f *flag.Flag) { given["-"+f.Name] = true })
	if err := s.contradiction(given); err != nil {
		return nil, err
	}
	var err error
	if s.proxies, err = newProxies(trusted); err != nil {
		return nil, usagef("-trusted-proxies: must be addresses or networks such as 10.0.0.0/8, with commas between them; %w", err)
	}
	if s.onnxThreads, err = strconv.Atoi(onnxThreads); err != nil || s.onnxThreads < 0 || s.onnxThreads > 1024 {
		return nil, usagef("-onnx-threads: must be a number from 0, which is what the process may use, to 1024")
	}
	return s, s.check(command, lease)
}

// mistake is what may be wrong with the settings.
type mistake struct {
	made bool
	what string
}

// refuse returns the first mistake that was made.
func refuse(mistakes []mistake) error {
	for _, m := range mistakes {
		if m.made {
			return usagef("%s", m.what)
		}
	}
	return nil
}

// contradiction refuses flags that do not go together, and those that name nothing.
func (s *settings) contradiction(given map[string]bool) error {
	// A variable counts as its flag does: the server cannot know which of the two the
	// operator forgot about, and to choose memory would lose data.
	elsewhere := ""
	for _, name := range []string{"MORTISE_DATA", "MORTISE_POSTGRES", "MORTISE_QUEUE", "-queue", "-postgres", "-data"} {
		if given[name] {
			elsewhere = name
		}
	}
	err := refuse([]mistake{
		{s.checkConfig && s.config == "", "-check-config: needs -config, which names the document"},
		{given["-vault-key"] && s.vaultKey == "", "-vault-key: names no file"},
		{s.memory && elsewhere != "", "-memory: cannot go together with " + elsewhere + ", which keeps data elsewhere"},
		{s.restored && (s.memory || s.backup != "" || s.copyFrom != "" || s.migrate),
			"-restored: is for a start of the server on a database that is kept"},
		{given["-copy-from"] && s.copyFrom == "", "-copy-from: names no folder"},
		{given["-backup"] && s.backup == "", "-backup: names no file"},
		{s.backup != "" && (s.memory || s.postgres != ""),
			"-backup: copies the database of -data, and there is none; pg_dump copies one of PostgreSQL"},
		{given["-postgres"] && s.postgres == "", "-postgres: names no database"},
		{s.migrate && s.postgres == "", "-migrate: needs -postgres, which names the database"},
		{s.copyFrom != "" && s.postgres == "", "-copy-from: needs -postgres, which names the database to copy into"},
		{s.copyFrom != "" && s.migrate, "-copy-from: makes the tables itself; leave -migrate out"},
		{s.copyFrom != "" && s.queue != "" && s.queue != queueInPostgres,
			"-copy-from: copies the jobs into the database; leave -queue out, and change it once they are done"},
		{s.queue != "" && s.postgres == "", "-queue: needs -postgres: without it the queue is in the data folder"},
	})
	if err != nil {
		return err
	}
	return s.checkPostgres()
}

// check refuses what cannot work, before anything is begun. It does not repeat URLs: they
// may hold a secret.
func (s *settings) check(command, lease string) error {
	_, port, addrErr := net.SplitHostPort(s.addr)
	_, portErr := strconv.ParseUint(port, 10, 16)
	scheme, _, isURL := strings.Cut(s.model, "://")
	public, err := url.Parse(s.publicURL)
	if err != nil {
		public = new(url.URL)
	}
	var leaseErr error
	s.lease, leaseErr = time.ParseDuration(lease)
	err = refuse([]mistake{
		{addrErr != nil, fmt.Sprintf("-addr: %q has no port: it must be HOST:PORT, such as 127.0.0.1:8080", s.addr)},
		{portErr != nil, fmt.Sprintf("-addr: %q is no port: it must be a number from 0 to 65535", port)},
		{s.data == "", "-data: names no folder"},
		{s.model != "" && s.oip != "", "-model and -oip: two models; choose one of them"},
		{isURL && !strings.EqualFold(scheme, "https"), "-model: must be a file or an https URL"},
		{!(s.tokenizeRate >= 0 && s.tokenizeRate <= 1e6), // NaN is neither
			"-tokenize-rate: must be a number from 0, which is no limit, to 1000000"},
		{s.perOrganization < 0, "-per-organization: must be a number from 0, which is no bound"},
		{leaseErr != nil || s.lease < time.Second || s.lease > 10*time.Minute, "-lease: must be a duration from 1s to 10m, such as 15s"},
		{s.publicURL != "" && (public.Scheme != "http" && public.Scheme != "https" || public.Hostname() == ""),
			"-public-url: must be an absolute http or https URL"},
		{public.User != nil || public.RawQuery != "" || public.ForceQuery || public.Fragment != "",
			"-public-url: must have no user, query or fragment"},
	})
	s.publicURL = strings.TrimRight(s.publicURL, "/")
	if err != nil || command == "" {
		return err
	}
	if s.command, err = splitCommand(command); err == nil {
		// As the shell would, so that a missing one is known at the start.
		s.command[0], err = exec.LookPath(s.command[0])
	}
	if err != nil {
		return usagef("-trigger-exec: %w", err)
	}
	return nil
}

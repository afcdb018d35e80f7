package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
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

const usage = `Usage: server [flags]

  -addr HOST:PORT       listen address; port 0 picks a free one [MORTISE_ADDR, 127.0.0.1:8080]
  -config FILE          provisioning document, applied at every start [MORTISE_CONFIG, a built-in demo]
  -check-config         read the provisioning document, say what is wrong with it, and end; what it contradicts in the data
                        is found at a start [off]
  -data FOLDER          folder of the SQLite database, made if it is missing [MORTISE_DATA, ./mortise-data]
  -backup FILE          copy the database of -data to a new file, also while a server uses it, and end [off]
  -postgres URL         keep the data in a PostgreSQL database, which several servers may share. Needs -vault-key. Tables that are
                        missing are made at the start. In -data there are only models that were fetched. [MORTISE_POSTGRES]
  -queue postgres|URL   with -postgres: where the jobs wait. postgres: in a table beside the data. nats://HOST:4222: in NATS
                        JetStream. All servers must have the same. [MORTISE_QUEUE, postgres]
  -migrate              make the tables of -postgres, or bring them up to date, and end [off]
  -copy-from FOLDER     copy all that the data folder of a stopped server has into the empty database of -postgres, and end.
                        Needs the key that the folder's server had. A copy that was cut off goes on when it is started again. [off]
  -memory               keep everything in memory instead; refused together with -data, -postgres and -queue
  -public-url URL       address in the links of invitations and in the OpenAPI document [MORTISE_PUBLIC_URL, the listen address]
  -vault-key FILE       file with the root key, from which the keys of the vault and of the invitations are derived: 32 bytes
                        as hex or base64. openssl rand -hex 32 makes one. Whoever has it and the data can read every value
                        of the vault and accept every pending invitation, so keep it elsewhere; without it the data cannot
                        be opened. [MORTISE_VAULT_KEY_FILE, vault.key in the data folder, made if it is missing; in memory
                        with -memory]
  -trigger-exec COMMAND run for each trigger event, with the event's JSON on standard input. Quoted as for a shell, run without
                        one. Exit 0 completes the event, and the last line of its output is the summary; anything else
                        tries again later. One run may take 10 minutes. [MORTISE_TRIGGER_EXEC, log the event's id]
  -model FILE           ONNX model that scores sounds, or an https URL, which is fetched once into the data folder; with
                        #sha256=DIGEST at its end nothing else is taken for it. It comes before the signal processing,
                        which keeps the sounds that the model does not know. See docs/models.md. [MORTISE_MODEL]
  -onnxruntime FILE     ONNX Runtime's shared library, 1.24 or newer, for -model [MORTISE_ONNXRUNTIME, the usual places]
  -oip URL              model on an inference server that speaks the Open Inference Protocol v2, such as
                        http://localhost:8000/v2/models/ast, in place of -model [MORTISE_OIP]
  -docs                 serve the OpenAPI document at /openapi.json and the API reference at /docs [on]
  -metrics              serve /metrics, in the text format of Prometheus, to whoever asks; it names no organization [on]
  -tokenize-rate N      tokenize requests a second for one caller; over it they are answered with 429 [0, no limit]
  -demo-commands        print a command for each operation of the built-in demo, not just three [off]
  -version              print the version, and end
`

// readSettings reads the flags, and the environment for those that are not given. Help
// goes to stdout.
func readSettings(args, env []string, stdout io.Writer) (*settings, error) {
	variables := variablesOf(env)
	fallback := func(name, otherwise string) string {
		if value := variables[name]; value != "" {
			return value
		}
		return otherwise
	}

	s := new(settings)
	var command string
	fs := flag.NewFlagSet("server", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&s.addr, "addr", fallback("MORTISE_ADDR", "127.0.0.1:8080"), "")
	fs.StringVar(&s.config, "config", fallback("MORTISE_CONFIG", ""), "")
	fs.StringVar(&s.publicURL, "public-url", fallback("MORTISE_PUBLIC_URL", ""), "")
	fs.StringVar(&command, "trigger-exec", fallback("MORTISE_TRIGGER_EXEC", ""), "")
	fs.StringVar(&s.data, "data", fallback("MORTISE_DATA", "./mortise-data"), "")
	fs.StringVar(&s.vaultKey, "vault-key", fallback("MORTISE_VAULT_KEY_FILE", ""), "")
	fs.StringVar(&s.model, "model", fallback("MORTISE_MODEL", ""), "")
	fs.StringVar(&s.oip, "oip", fallback("MORTISE_OIP", ""), "")
	fs.StringVar(&s.onnxruntime, "onnxruntime", fallback("MORTISE_ONNXRUNTIME", ""), "")
	fs.StringVar(&s.postgres, "postgres", fallback("MORTISE_POSTGRES", ""), "")
	fs.StringVar(&s.queue, "queue", fallback("MORTISE_QUEUE", ""), "")
	fs.BoolVar(&s.migrate, "migrate", false, "")
	fs.StringVar(&s.copyFrom, "copy-from", "", "")
	fs.StringVar(&s.backup, "backup", "", "")
	fs.BoolVar(&s.memory, "memory", false, "")
	fs.BoolVar(&s.docs, "docs", true, "")
	fs.BoolVar(&s.metrics, "metrics", true, "")
	fs.Float64Var(&s.tokenizeRate, "tokenize-rate", 0, "")
	fs.BoolVar(&s.version, "version", false, "")
	fs.BoolVar(&s.checkConfig, "check-config", false, "")
	fs.BoolVar(&s.demoCommands, "demo-commands", false, "")

	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return nil, err
	} else if err != nil {
		return nil, usagef("%w (-h lists the flags)", err)
	}
	if fs.NArg() > 0 {
		return nil, usagef("%q: not a flag, and nothing else is expected (a command with arguments is quoted as one)", fs.Arg(0))
	}
	if s.checkConfig && s.config == "" {
		return nil, usagef("-check-config: needs -config, which names the document")
	}
	if s.vaultKey == "" && wasGiven(fs, "vault-key") {
		return nil, usagef("-vault-key: names no file")
	}
	if s.memory {
		if other := otherStorage(fs, variables); other != "" {
			return nil, usagef("-memory: cannot go together with %s, which keeps data elsewhere", other)
		}
	}
	if s.copyFrom == "" && wasGiven(fs, "copy-from") {
		return nil, usagef("-copy-from: names no folder")
	}
	if err := s.checkBackup(wasGiven(fs, "backup")); err != nil {
		return nil, err
	}
	if err := s.checkPostgres(wasGiven(fs, "postgres")); err != nil {
		return nil, err
	}
	return s, s.check(command, env)
}

func wasGiven(fs *flag.FlagSet, name string) (given bool) {
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// otherStorage returns the flag or environment variable that asks for another storage
// than memory, "" if there is none. A variable counts as its flag does: the server cannot
// know which of the two the operator forgot about, and to choose memory would lose data.
func otherStorage(fs *flag.FlagSet, variables map[string]string) (other string) {
	for _, name := range []string{"data", "postgres", "queue"} {
		if wasGiven(fs, name) {
			return "-" + name
		}
		if env := "MORTISE_" + strings.ToUpper(name); variables[env] != "" {
			other = env
		}
	}
	return other
}

// check refuses what cannot work, before anything is begun.
func (s *settings) check(command string, env []string) error {
	if err := checkAddr(s.addr); err != nil {
		return err
	}
	if s.data == "" {
		return usagef("-data: names no folder")
	}
	if err := s.checkModelFlags(); err != nil {
		return err
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

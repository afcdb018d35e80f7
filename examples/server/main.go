// Command server is the whole library in one program: the services over one storage,
// provisioned from a JSON document or with a built-in demo. It holds wiring only.
//
//	go run ./examples/server                    # demo data, SQLite file
//	go run ./examples/server -config acme.json -data /var/lib/mortise
//	go run ./examples/server -config acme.json -vault-key root.key -postgres postgres://...
//
// It serves the documentation triggers, the credentials, the vault and the audio
// search. A service is a few files: for the audio search, audiosearch.go makes it,
// model.go brings its model, ingestion.go has its videos scored in the background, and
// search_page*.go is its page for people. site.go, session.go and home.go are the frame, the
// session and the first of the pages for people. A further service needs its own such files,
// and lines in wiring.go, storage_*.go, provision.go and demo.json; package provision
// has what the provisioning document may say of it. A further storage needs one file,
// as storage_sqlite.go, its flag in flags.go and a line in wiring.go.
//
// It prints "listening on http://HOST:PORT" on standard output once it can serve, and
// JSON logs on standard error. SIGTERM and SIGINT end it within 10 s with status 0.
// Status 2 means that starting it again in the same way is of no use, and says why on one
// line; 1 is any other failure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/google/uuid"
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// The exit statuses. What tells 1 from 2 is whether the same start may work at another
// time: a supervisor may try again after 1, and should leave 2 to the operator. So a
// damaged database file is among the bad files, as a bad provisioning document is.
const (
	exitOK     = 0
	exitFailed = 1 // something that may pass: a port in use, a storage that does not answer
	exitUsage  = 2 // a bad flag, environment variable, command or provisioning document; a bad data folder or database file
)

// usageError is a mistake in how the program was started.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// about says which flag an error is about. It is the operator's if it is one of theirs.
func about(flag string, err error, theirs ...error) error {
	for _, one := range theirs {
		if errors.Is(err, one) {
			return usagef("%s: %w", flag, err)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", flag, err)
	}
	return err
}

// run is the program without its process: it returns the exit status.
func run(args, env []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)

	err := inTime(ctx, func() error { return start(ctx, args, env, stdout, stderr) })
	return status(ctx, err, stderr)
}

// status says how start has ended.
func status(ctx context.Context, err error, stderr io.Writer) int {
	var usage *usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitOK // the signal came before the server was up
	case errors.Is(err, errHangs): // no reason for another exit status
		slog.New(slog.NewJSONHandler(stderr, nil)).Error("not everything has ended in time; what was not finished comes again at the next start")
		return exitOK
	}
	fmt.Fprintln(stderr, oneLine(inWords(err)))
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

// start does what run says, until ctx ends. Nothing is listened on or stored before
// flags, command, provisioning document and the key file that was named have been
// checked. The port comes before the storage, so that one in use leaves no data folder
// behind.
func start(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	s, err := readSettings(args, env, stdout)
	if err != nil {
		return err
	}
	screen := newConsole(stderr)
	log := slog.New(slog.NewJSONHandler(screen, nil))
	switch {
	case s.version:
		fmt.Fprintln(stdout, version())
		return nil
	case s.migrate:
		if err := migrate(ctx, s, log); err != nil {
			return aboutPostgres(err)
		}
		fmt.Fprintln(stdout, "the tables are there")
		return nil
	case s.copyFrom != "":
		return copyData(ctx, s, stdout, log)
	case s.backup != "":
		return backUp(ctx, s, stdout)
	}
	doc, err := readProvisioning(ctx, s.config, env)
	if s.checkConfig && ctx.Err() != nil {
		return errors.New("-check-config: interrupted before all was read") // which is no success, as it is of a server
	}
	if err != nil {
		return err
	}
	if s.checkConfig {
		fmt.Fprintln(stdout, "nothing is wrong with "+oneLine(s.config))
		return nil
	}
	s.commandEnv = withoutSecrets(env, doc)
	key, err := namedKey(s)
	if err != nil {
		return err
	}
	model, err := openModel(ctx, s, screen, log)
	if err != nil {
		return err
	}
	defer closeModel(model, log)

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.addr)
	if unknown := (*net.DNSError)(nil); errors.As(err, &unknown) {
		return usagef("-addr: %w", err)
	} else if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	defer listener.Close()
	address := localAddress(listener.Addr())
	if s.publicURL == "" {
		s.publicURL = address
	}

	back, err := openStorage(ctx, s, log)
	if err != nil {
		return err
	}
	defer closeStorage(back, log)
	if key == nil {
		if key, err = findKey(s, log); err != nil {
			return err
		}
	}
	code := ""
	if doc == nil {
		s.demo, s.tally = newDemoCredentials(), newTally(demoOrganization)
		s.demo.code, code = newSignInCode(time.Now)
	}
	back.model = model
	if s.metrics {
		s.meters = newMeters()
	}
	services, err := wire(s, back, key.Root, log)
	if err != nil {
		return err
	}
	services.audio.ingestion.screen = screen
	handler, err := routes(ctx, s, services, log)
	if err != nil {
		return err
	}
	if err := checkKey(ctx, services, key, log); err != nil {
		return err
	}
	if err := checkRestored(ctx, s, services, key.Path, log); err != nil {
		return err
	}
	if doc != nil {
		if err := applyDocument(ctx, services, doc, log); err != nil {
			return err
		}
		warnOfExposed(doc, log) // not before: what is refused is told on one line
	}
	if !s.memory && s.database == nil {
		warnOfExposedData(s.data, log)
	}
	log.Info("storage opened", "kept", back.kept)
	notice := time.Duration(0)
	if s.database != nil { // it is one of several, most likely
		notice = proxyNotice
	}
	return serve(ctx, listener, handler, services, notice, log, func(ctx context.Context) error {
		var watch sync.WaitGroup
		watch.Go(func() { s.seen.watch(ctx) })
		defer watch.Wait()
		fmt.Fprintln(stdout, "listening on "+address)
		if doc == nil {
			page := &demoPage{
				URL: address, Key: s.demo.key, Token: s.demo.token, Link: s.publicURL + "/#" + code, Kept: oneLine(back.kept),
				Docs: s.docs, All: s.demoCommands, Start: uuid.NewString()[:8],
				Tomorrow: time.Now().Add(24 * time.Hour).Format(time.RFC3339),
			}
			if err := startDemo(ctx, stdout, services, page, log); err != nil {
				return err
			}
		}
		services.audio.ingestion.run(ctx, services.audio.service)
		return nil
	})
}

// version names the program, its version, and the revision that it was built from.
func version() string {
	version, revision, modified := built()
	words := []string{"mortise"}
	for _, word := range []string{version, revision} {
		if word != "" {
			words = append(words, word)
		}
	}
	if modified {
		words = append(words, "with changes")
	}
	return strings.Join(words, " ")
}

// built is the version of the program, and the revision that it was built from, as far as the
// program knows them. Modified says that the source had changes that are in no revision.
func built() (version, revision string, modified bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return info.Main.Version, revision, modified
}

// localAddress returns the URL at which a listener can be reached from this machine.
func localAddress(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", tcp.Port)
	}
	return "http://" + strings.ReplaceAll(addr.String(), "%", "%25") // the zone of an IPv6 address (RFC 6874)
}

// oneLine makes a message fit for one line of a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

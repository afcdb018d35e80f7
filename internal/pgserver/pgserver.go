// Package pgserver runs PostgreSQL servers for tests, from the binaries on the machine: as
// an unprivileged user, in a temporary folder, reached by a socket in it. A server ends
// with the process that started it.
//
// Tests of one binary share a server, which costs half a second to begin:
//
//	func TestMain(m *testing.M) { pgserver.Main(m) }
//
//	func TestX(t *testing.T) { dsn := pgserver.Shared(t).DSN("postgres") }
package pgserver

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/internal/testmain"
)

// Server is a PostgreSQL server with a folder of its own. Its methods are not safe for
// concurrent use.
type Server struct {
	Dir string // has the socket; Dir/data is the data folder

	port   int
	bin    string
	args   []string // "-c" settings
	attr   *syscall.SysProcAttr
	server *exec.Cmd
	log    *os.File
	ended  chan struct{} // closed when server has
}

// Settings are of postgresql.conf, as name=value.
type Settings = []string

// Fast are the settings of a server whose data need not outlive it. It compiles no queries:
// each connection would do so anew, and the tables of a test are small.
var Fast = Settings{"fsync=off", "full_page_writes=off", "synchronous_commit=off", "shared_buffers=256MB", "max_connections=300",
	"autovacuum_naptime=10s", "max_wal_size=512MB", "jit=off"}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Main runs the tests of a binary, and ends the server that they shared. If they had one, it
// calls each function before that; an error of one fails the binary.
func Main(m *testing.M, then ...func(*Server) error) {
	var err error
	defer func() {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}()
	defer func() {
		if shared.server != nil {
			_ = shared.server.Close()
		}
	}()
	m.Run()
	for _, f := range then {
		if shared.server != nil {
			err = errors.Join(err, f(shared.server))
		}
	}
}

// Shared returns the server of the test binary, which does not sync to the disk, and has its
// data in memory where there is room. Without the binaries it skips the test, or fails it in CI.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() {
		dir, _, err := testmain.Memory() // Close removes it
		if shared.err = err; err == nil {
			shared.server, shared.err = startIn(dir, Fast)
		}
	})
	need(t, shared.err)
	return shared.server
}

// Start returns a server of its own for a test, with settings, which the test's end closes.
func Start(t testing.TB, settings Settings) *Server {
	t.Helper()
	s, err := start(settings)
	need(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// errMissing: there is nothing to test with.
var errMissing = errors.New("needs postgres and initdb (Debian: postgresql)")

func need(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("cannot start PostgreSQL: %v", err)
	}
}

// binaries returns the folder of the newest server on the machine.
func binaries() (string, error) {
	version := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		return n
	}
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range dirs {
		if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errMissing
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// attributes make a process end with this one, and run as somebody else than root, whom
// PostgreSQL refuses.
func attributes(dir string) (*syscall.SysProcAttr, error) {
	attr := dieWithParent()
	if os.Getuid() != 0 {
		return attr, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return attr, os.Chown(dir, uid, gid)
	}
	return nil, errors.New("root cannot run PostgreSQL, and there is no user postgres or nobody")
}

func start(settings Settings) (*Server, error) {
	dir, err := newDir()
	if err != nil {
		return nil, err
	}
	return startIn(dir, settings)
}

// newDir returns a folder for a server.
func newDir() (string, error) {
	base := os.TempDir()
	if len(base) > 40 { // the path of a socket has 107 bytes at most
		base = "/tmp"
	}
	return os.MkdirTemp(base, "pg")
}

// startIn starts a server with a new data folder in dir, which the server's end removes.
func startIn(dir string, settings Settings) (*Server, error) {
	return startOn(dir, settings, func(s *Server) *exec.Cmd {
		return s.command("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	})
}

// startOn starts a server on the data folder in dir that a command makes.
func startOn(dir string, settings Settings, makeData func(*Server) *exec.Cmd) (s *Server, err error) {
	bin, err := binaries()
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	s = &Server{Dir: dir, bin: bin, port: 5432, args: []string{"-c", "listen_addresses=", "-c", "unix_socket_directories=" + dir}}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if s.attr, err = attributes(dir); err != nil {
		return nil, err
	}
	s.Set(settings)
	cmd := makeData(s)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", cmd.Path, err, out)
	}
	if s.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return nil, err
	}
	return s, s.Up()
}

// Standby returns a server that follows this one, for the test. To this one, what it has
// not confirmed is not committed from then on.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	dir, err := newDir()
	need(t, err)
	standby, err := startOn(dir, nil, func(standby *Server) *exec.Cmd {
		return s.command("pg_basebackup", "-D", standby.data(), "-h", s.Dir, "-p", strconv.Itoa(s.port), "-U", "postgres",
			"-R", "-X", "stream", "-c", "fast", "--no-sync")
	})
	need(t, err)
	t.Cleanup(func() { _ = standby.Close() })
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		out, err := s.command("psql", "-h", s.Dir, "-p", strconv.Itoa(s.port), "-U", "postgres", "-c", statement).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", statement, err, out)
		}
	}
	return standby
}

// Promote makes a standby a server of its own.
func (s *Server) Promote() error {
	// It waits for none of its own.
	out, err := s.command("psql", "-h", s.Dir, "-p", strconv.Itoa(s.port), "-U", "postgres", "-c", "SELECT pg_promote()").CombinedOutput()
	if err != nil {
		return fmt.Errorf("promote: %w: %s", err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// command prepares one of PostgreSQL's programs.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.SysProcAttr, cmd.Dir = s.attr, s.Dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	return cmd
}

// Dump copies a database into an empty one, by pg_dump and psql.
func (s *Server) Dump(from, to string) error {
	dump, err := s.command("pg_dump", "-d", s.DSN(from)).Output()
	if err != nil {
		return err
	}
	load := s.command("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", s.DSN(to))
	load.Stdin = bytes.NewReader(dump)
	if out, err := load.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// Listen makes the server reachable by TCP on the loopback, too, at a free port, from the
// next Up on. It returns host and port.
func (s *Server) Listen() (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	s.port = l.Addr().(*net.TCPAddr).Port
	s.args = append(s.args, "-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(s.port))
	return l.Addr().String(), nil
}

// Set adds settings, from the next Up on.
func (s *Server) Set(settings Settings) {
	for _, set := range settings {
		s.args = append(s.args, "-c", set)
	}
}

// Up starts the server, and waits until it answers.
func (s *Server) Up() error {
	// The signal of the parent's end is of the thread that started the process.
	started, ended := make(chan error), make(chan struct{})
	s.server = s.command("postgres", append([]string{"-D", s.data()}, s.args...)...)
	s.server.Stdout, s.server.Stderr = s.log, s.log
	go func() {
		runtime.LockOSThread()
		defer close(ended)
		err := s.server.Start()
		started <- err
		if err == nil {
			_ = s.server.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.ended = ended
	for range 600 {
		if err := s.command("pg_isready", "-q", "-h", s.Dir, "-p", strconv.Itoa(s.port)).Run(); err == nil {
			return nil
		}
		select {
		case <-ended:
			log, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
			return fmt.Errorf("it has ended: %s", log[max(0, len(log)-2000):])
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("it does not answer")
}

// Signals of Down. See https://www.postgresql.org/docs/current/server-shutdown.html.
const (
	Smart     = syscall.SIGTERM // waits for all sessions to end
	Terminate = syscall.SIGINT  // the fast shutdown: ends the sessions
	Crash     = syscall.SIGQUIT // the immediate shutdown: as if the machine had stopped
)

// Down ends the server.
func (s *Server) Down(signal syscall.Signal) error {
	if s.server == nil || s.server.Process == nil {
		return nil
	}
	_ = s.server.Process.Signal(signal)
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		return errors.New("pgserver: the server does not end")
	}
	return nil
}

// Signal sends a signal to the server and to all its processes: SIGSTOP and SIGCONT make
// it pause and go on.
func (s *Server) Signal(signal syscall.Signal) error {
	parent := strconv.Itoa(s.server.Process.Pid)
	out, err := exec.Command("ps", "-o", "pid=", "--ppid", parent).Output()
	if err != nil {
		return err
	}
	for _, child := range append(strings.Fields(string(out)), parent) {
		pid, err := strconv.Atoi(child)
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// DSN says how to connect to a database, by the socket.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s sslmode=disable", s.Dir, s.port, database)
}

// URL says the same as a URL, for programs.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s&port=%d&sslmode=disable", database, s.Dir, s.port)
}

// Close ends the server and removes its folder.
func (s *Server) Close() error {
	var err error
	if s.server != nil {
		_ = s.Signal(syscall.SIGCONT)
		err = s.Down(Crash)
	}
	if s.log != nil {
		_ = s.log.Close()
	}
	return errors.Join(err, os.RemoveAll(s.Dir))
}

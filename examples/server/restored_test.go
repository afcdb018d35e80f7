package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// counting is a Store with a number that a test sets.
type counting struct {
	authmgmt.Store
	n     atomic.Int64
	looks atomic.Int64
	block chan struct{} // a look waits for a value
}

func (c *counting) Revocations(context.Context) (mortise.Revocations, error) {
	n := c.n.Load()
	if c.looks.Add(1); c.block != nil {
		<-c.block
	}
	return mortise.Revocations{Database: "d", N: n}, nil
}

func (c *counting) RaiseRevocations(context.Context, int64) error { return errors.ErrUnsupported }

func (c *counting) RemoveTokens(context.Context, int) (int, bool, error) {
	return 0, false, errors.ErrUnsupported
}

func countingServices(t *testing.T, c *counting) *services {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Store = db.AuthMgmt().Store
	all := &services{authmgmt: &authmgmtService{}}
	if all.authmgmt.service, err = authmgmt.New(authmgmt.Backend{Store: c}, nil); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSeen: a server writes the larger number, for its database alone. A smaller number refuses the
// start; under a running server it is an ERROR, once, and the next start is refused, although the
// server worked on.
func TestSeen(t *testing.T) {
	var told bytes.Buffer
	log, c := slog.New(slog.NewJSONHandler(&told, nil)), &counting{}
	all, key := countingServices(t, c), filepath.Join(t.TempDir(), "root.key")
	file := key + ".revocations"
	holds := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("the file has %q, not %q: %v", text, want, err)
		}
	}
	target := filepath.Join(t.TempDir(), "elsewhere") // a volume of its own, say
	if err := errors.Join(os.WriteFile(target, []byte("another 9\n"), 0o600), os.Symlink(target, file)); err != nil {
		t.Fatal(err)
	}
	start := func() (*seen, error) {
		s := &settings{}
		err := checkRestored(t.Context(), s, all, key, log)
		return s.seen, err
	}
	c.n.Store(3)
	at, err := start()
	if err != nil || !strings.Contains(told.String(), "has no number of revocations") {
		t.Fatalf("%v, said: %s", err, told.String())
	}
	holds("another 9\nd 3\n")
	c.n.Store(5)
	at.note(t.Context())
	holds("another 9\nd 5\n")
	c.n.Store(4)
	if _, err := start(); err == nil || !strings.Contains(err.Error(), "was restored from a backup") {
		t.Errorf("a start on less: %v", err)
	}
	told.Reset()
	at.note(t.Context())
	at.note(t.Context())
	if strings.Count(told.String(), "under this server") != 1 {
		t.Errorf("said: %s", told.String())
	}
	c.n.Store(7)
	at.note(t.Context())
	if _, err := start(); err == nil {
		t.Error("a start on a database that was put back under the server")
	}
	if now, err := os.Readlink(file); err != nil || now != target {
		t.Errorf("the link leads to %q: %v", now, err)
	}
	c.n.Store(0)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	told.Reset()
	if _, err := start(); err != nil || told.Len() > 0 {
		t.Errorf("a new database: %v, said: %s", err, told.String())
	}
	holds("d 0\n")
}

// TestSeenDamaged: a file that is not as a server writes it is refused.
func TestSeenDamaged(t *testing.T) {
	all, key := countingServices(t, &counting{}), filepath.Join(t.TempDir(), "root.key")
	for _, text := range []string{"", "\n", "d", "d 1", "d -1\n", "d 1 2\n", "d x\n", "d 9223372036854775807\n", "d 1\n\n", "d 1\nother 2"} {
		if err := os.WriteFile(key+".revocations", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := checkRestored(t.Context(), &settings{}, all, key, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestSeenIsShared: callers that wait while another one looks at the database share one look, which
// begins after they came.
func TestSeenIsShared(t *testing.T) {
	c := &counting{}
	all, key := countingServices(t, c), filepath.Join(t.TempDir(), "root.key")
	s := &settings{}
	if err := checkRestored(t.Context(), s, all, key, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if s.seen == nil {
		t.Fatal("nothing is noted")
	}
	c.looks.Store(0)
	c.block = make(chan struct{})
	var callers sync.WaitGroup
	callers.Go(func() { s.seen.note(t.Context()) })
	for c.looks.Load() == 0 {
		runtime.Gosched()
	}
	const more = 50
	c.n.Store(more)
	for range more {
		callers.Go(func() { s.seen.note(t.Context()) })
	}
	for s.seen.asked.Load() <= more {
		runtime.Gosched()
	}
	close(c.block)
	callers.Wait()
	if looks := c.looks.Load(); looks != 2 || s.seen.n != more {
		t.Errorf("%d looks, and the number is %d", looks, s.seen.n)
	}
}

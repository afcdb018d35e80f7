package custombackend

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// reopen closes a file and opens it again.
func reopen(t *testing.T, f *File) *File {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, f.log.Name())
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestConformance(t *testing.T) {
	t.Parallel()
	backend := func(f *File) trigger.Backend {
		return trigger.Backend{Store: f, Queue: leases.New(f, nil)}
	}
	triggertest.Run(t, triggertest.Harness{
		Open: func(t *testing.T) trigger.Backend {
			return backend(open(t, filepath.Join(t.TempDir(), "events.log")))
		},
		Leases: func(b trigger.Backend) mortise.Leases { return b.Store.(*File) },
		Reopen: func(t *testing.T, b trigger.Backend) trigger.Backend {
			return backend(reopen(t, b.Store.(*File)))
		},
	})
}

func TestQueue(t *testing.T) {
	t.Parallel()
	backend := func(f *File) queuetest.Backend {
		setNow := func(now func() time.Time) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.Now = now; now == nil {
				f.Now = time.Now
			}
		}
		return queuetest.Backend{Leases: f, Queue: leases.New(f, nil), SetNow: setNow}
	}
	queuetest.Run(t, queuetest.Harness{
		Open: func(t *testing.T) queuetest.Backend {
			return backend(open(t, filepath.Join(t.TempDir(), "events.log")))
		},
		Reopen: func(t *testing.T, b queuetest.Backend) queuetest.Backend {
			return backend(reopen(t, b.Leases.(*File)))
		},
	})
}

// A process that died while it wrote leaves the beginning of a record.
func TestTornRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.log")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	submit := func() {
		t.Helper()
		s, err := trigger.New(trigger.Backend{Store: f, Queue: leases.New(f, nil)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(t.Context(), "acme", "ann", trigger.Submission{Instructions: "Describe it."}); err != nil {
			t.Fatal(err)
		}
	}
	submit()
	whole := f.size
	submit()
	for cut := f.size - 1; cut >= whole; cut -= 7 {
		if err := os.Truncate(path, cut); err != nil {
			t.Fatal(err)
		}
		f = reopen(t, f)
		if len(f.events) == 0 || len(f.jobs) == 0 {
			t.Fatalf("cut at %d: the first event is lost", cut)
		}
	}
	submit()
	f = reopen(t, f)
	if len(f.events) != 2 {
		t.Fatalf("%d events after a torn record and another submission, want 2", len(f.events))
	}
	f.Close()
}

// Example puts a backend of one's own under a service.
func Example() {
	dir, err := os.MkdirTemp("", "custombackend")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := Open(filepath.Join(dir, "events.log"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	service, err := trigger.New(trigger.Backend{Store: f, Queue: leases.New(f, nil)}, nil)
	if err != nil {
		log.Fatal(err)
	}
	e, err := service.Submit(context.Background(), "acme", "ann", trigger.Submission{Instructions: "Describe the sign-in page."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Status)
	// Output: received
}

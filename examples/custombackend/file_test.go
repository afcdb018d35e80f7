package custombackend

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

func TestConformance(t *testing.T) {
	open := func(t *testing.T, path string) triggertest.Backend {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return triggertest.Backend{Store: f, Leases: f, Queue: trigger.LeaseQueue(f, nil)}
	}
	triggertest.Run(t, triggertest.Harness{
		Open: func(t *testing.T) triggertest.Backend { return open(t, filepath.Join(t.TempDir(), "events.log")) },
		Reopen: func(t *testing.T, b triggertest.Backend) triggertest.Backend {
			f := b.Store.(*File)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, f.log.Name())
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
		s, err := trigger.New(f, trigger.LeaseQueue(f, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(t.Context(), "acme", trigger.Submission{Instructions: "Describe it."}); err != nil {
			t.Fatal(err)
		}
	}
	reopen := func() {
		t.Helper()
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err = Open(path); err != nil {
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
		reopen()
		if len(f.events) == 0 || len(f.jobs) == 0 {
			t.Fatalf("cut at %d: the first event is lost", cut)
		}
	}
	submit()
	reopen()
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
	service, err := trigger.New(f, trigger.LeaseQueue(f, nil), nil)
	if err != nil {
		log.Fatal(err)
	}
	e, err := service.Submit(context.Background(), "acme", trigger.Submission{Instructions: "Describe the sign-in page."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Status)
	// Output: received
}

// Package custombackend is a backend of one's own, as small as one can be that loses
// nothing when its process dies: maps in memory, and a log file from which they are built
// again. It implements [trigger.Store] and [mortise.Leases], and proves it with the
// conformance suites.
//
// What it does not do: two processes on one file, forgetting (the file only grows, and
// what was deleted stays in it), and syncing to the disk, so that a power failure may
// lose the last calls. What it does is enough for a tool on one machine, and shows what
// every backend must keep.
package custombackend

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// File is a backend in one file. It is safe for concurrent use.
type File struct {
	Now func() time.Time // the clock of the jobs; time.Now after Open

	mu      sync.Mutex
	log     *os.File
	size    int64 // of the log's good part
	events  map[eventKey]trigger.Event
	deleted map[string]time.Time // organizations, and since when
	jobs    map[jobKey]row
	seq     uint64            // the greatest of them
	served  map[string]string // whose job was claimed last, by the kinds of the claim
}

// eventKey has the organization in it: another one's event is no event.
type eventKey struct {
	Org string
	ID  uuid.UUID
}

// row is a job of the lease table. At is when it can be claimed: its own At, when it was
// released, or the end of its lease. Seq numbers additions and releases, and decides
// between equal times.
type row struct {
	Job        mortise.Job
	At         time.Time
	Seq        uint64
	Token      uuid.UUID
	Deliveries int
	Dead       bool
}

// record is one entry of the log: what has a new value now.
type record struct {
	Events []trigger.Event
	Jobs   []row
	Gone   []jobKey // jobs that ended

	Deleted map[string]time.Time // organizations that were deleted
	Removed []eventKey           // events of theirs
}

// Open opens the file, or creates it.
func Open(path string) (*File, error) {
	log, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f := &File{
		log: log, Now: time.Now, events: make(map[eventKey]trigger.Event), deleted: make(map[string]time.Time),
		jobs: make(map[jobKey]row), served: make(map[string]string),
	}
	if err := f.replay(); err != nil {
		log.Close()
		return nil, fmt.Errorf("replay %s: %w", path, err)
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.log.Close() }

// replay reads the log. A record that ends too early is that of a process that died while
// it wrote: its caller had no answer.
func (f *File) replay() error {
	data, err := io.ReadAll(f.log)
	if err != nil {
		return err
	}
	for rest := data; len(rest) > 0; rest = data[f.size:] {
		length, n := binary.Uvarint(rest)
		if n == 0 || n > 0 && uint64(len(rest)-n) < length {
			return nil
		}
		if n < 0 {
			return errors.New("the log is damaged")
		}
		var r record
		if err := gob.NewDecoder(bytes.NewReader(rest[n : n+int(length)])).Decode(&r); err != nil {
			return err
		}
		f.apply(r)
		f.size += int64(n) + int64(length)
	}
	return nil
}

// commit writes a record and then applies it. A write that failed halfway is overwritten
// by the next one. The caller holds mu.
func (f *File) commit(r record) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(r); err != nil {
		return err
	}
	entry := append(binary.AppendUvarint(nil, uint64(b.Len())), b.Bytes()...)
	if err := f.log.Truncate(f.size); err != nil {
		return err
	}
	if _, err := f.log.WriteAt(entry, f.size); err != nil {
		return err
	}
	f.size += int64(len(entry))
	f.apply(r)
	return nil
}

func (f *File) apply(r record) {
	for _, e := range r.Events {
		f.events[eventKey{e.Organization, e.ID}] = e
	}
	for _, j := range r.Jobs {
		f.jobs[keyOf(j.Job)] = j
		f.seq = max(f.seq, j.Seq)
	}
	for _, key := range r.Gone {
		delete(f.jobs, key)
	}
	maps.Copy(f.deleted, r.Deleted)
	for _, key := range r.Removed {
		delete(f.events, key)
	}
}

package authmgmt_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// rig is a service on memory whose time stands still.
type rig struct {
	*authmgmt.Service
	store *memory.AuthMgmt
	logs  *syncBuffer

	mu       sync.Mutex
	time     time.Time
	observed []mortise.Observation
}

var begin = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)

// testKeyText is not random, and nobody's.
const testKeyText = "not random, and nobody's key !?>"

var testKey = mustKey(testKeyText)

func mustKey(text string) authmgmt.InvitationKey {
	key, err := authmgmt.NewInvitationKey([]byte(text))
	if err != nil {
		panic(err)
	}
	return key
}

func newRig(t *testing.T, opts authmgmt.Options) *rig { return newRigIn(t, nil, opts) }

// newRigIn is newRig with a directory.
func newRigIn(t *testing.T, directory authmgmt.Directory, opts authmgmt.Options) *rig {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	r := &rig{store: db.AuthMgmt().Store.(*memory.AuthMgmt), time: begin, logs: new(syncBuffer)}
	opts.Now = r.now
	opts.InvitationKey = testKey
	opts.Observer = func(_ context.Context, o mortise.Observation) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.observed = append(r.observed, o)
	}
	opts.Logger = slog.New(slog.NewJSONHandler(r.logs, nil))
	if opts.AcceptURL == "" {
		opts.AcceptURL = "https://app.example.com/join/"
	}
	r.Service, err = authmgmt.New(authmgmt.Backend{Store: r.store, Directory: directory}, &opts)
	require.NoError(t, err)
	return r
}

// link returns the token of an invitation's link.
func (r *rig) link(i *authmgmt.Invitation) string {
	token, err := r.LinkToken(context.Background(), i)
	if err != nil {
		panic(err)
	}
	return token.Reveal()
}

// url returns an invitation's link.
func (r *rig) url(i *authmgmt.Invitation) string {
	url, err := r.URL(context.Background(), i)
	if err != nil {
		panic(err)
	}
	return url.Reveal()
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.time
}

func (r *rig) advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.time = r.time.Add(d)
}

// observations returns what was observed since the last call.
func (r *rig) observations() []mortise.Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.observed
	r.observed = nil
	return seen
}

// trail returns the organization's audit trail, oldest first.
func (r *rig) trail(t *testing.T, org string) []authmgmt.AuditEvent {
	t.Helper()
	var trail []authmgmt.AuditEvent
	for e, err := range r.AuditEvents(t.Context(), org, authmgmt.AuditQuery{}) {
		require.NoError(t, err)
		trail = append([]authmgmt.AuditEvent{e}, trail...)
	}
	return trail
}

// Callers of every kind.
var (
	full   = authmgmt.Caller{Actor: "root", Access: access.Full()}
	admin  = callerWith("admin", access.Role{ID: "admin"})
	editor = callerWith("editor", access.Role{ID: "editor"})
	viewer = callerWith("viewer", access.Role{ID: "viewer"})
	d1     = callerWith("admin of d1", access.Role{ID: "admin", Resource: "dataset", ResourceInstance: "d1"})
	nobody = authmgmt.Caller{Actor: "nobody"}
)

func callerWith(subject string, roles ...access.Role) authmgmt.Caller {
	return authmgmt.Caller{Actor: mortise.Actor(subject), Access: access.DefaultCatalogue().Access(roles...)}
}

func roles(ids ...string) []access.Role {
	var list []access.Role
	for _, id := range ids {
		list = append(list, access.Role{ID: id})
	}
	return list
}

// syncBuffer is a buffer that several goroutines may write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

var _ io.Writer = (*syncBuffer)(nil)

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

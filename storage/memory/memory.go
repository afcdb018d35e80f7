// Package memory keeps everything in RAM. It is the reference: what the conformance
// suites demand, it does in the plainest way, so it is also the place to read what an
// interface means. A process that ends loses everything.
//
// Every call is atomic and sees all calls that returned before it. What goes in and what
// comes out are copies. One thing is not atomic: a listing that passes over thousands of
// rows lets others write meanwhile, and shows each row as it was at some moment of the
// call.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Options are the settings of Open. The zero value means the defaults.
type Options struct {
	Now func() time.Time // the clock of the jobs: time.Now
}

// DB is a database in RAM. It is safe for concurrent use.
type DB struct {
	mu       sync.RWMutex
	trigger  triggerTables
	authmgmt authmgmtTables
	vault    vaultTables
	audio    audioTables
	jobs     jobTable

	now      func() time.Time
	notified notified // not guarded by mu
}

// Open returns an empty database. Options may be nil. It never fails; it has the shape
// that every backend's Open has.
func Open(_ context.Context, opts *Options) (*DB, error) {
	now := time.Now
	if opts != nil && opts.Now != nil {
		now = opts.Now
	}
	return &DB{
		now:  now,
		jobs: newJobTable(),
		trigger: triggerTables{
			orgs:     make(map[string]*triggerOrg),
			ids:      make(map[uuid.UUID]string),
			unqueued: make(map[uuid.UUID]*trigger.Event),
			keys:     make(map[[32]byte]*trigger.APIKey),
			keyLists: make(map[string][]*trigger.APIKey),
			deleted:  make(map[string]time.Time),
		},
		authmgmt: authmgmtTables{
			clients:       make(map[ownedID]*authmgmt.Client),
			secrets:       make(map[[32]byte]ownedID),
			clientList:    make(placedLists[*authmgmt.Client]),
			tokens:        make(map[[32]byte]*authmgmt.Token),
			tokenList:     make(placedLists[*authmgmt.Token]),
			tokenIDs:      make(map[uuid.UUID][32]byte),
			invitations:   make(map[ownedID]*authmgmt.Invitation),
			inviteList:    make(placedLists[*authmgmt.Invitation]),
			audit:         make(map[string][]authmgmt.AuditEvent),
			organizations: make(map[string]authmgmt.Organization),
			deleted:       make(map[string]tombstone),
		},
		vault: vaultTables{
			vaults:  make(map[ownedID]*vaultEntry),
			ids:     make(map[string][]string),
			keys:    make(map[vaultKeyID]*keyring.Key),
			audit:   make(map[string][]vault.AuditEvent),
			deleted: make(map[string]*deletedVaults),
		},
		audio: audioTables{
			deleted:  make(map[string]time.Time),
			datasets: make(map[ownedID]*audioDataset),
			runs:     make(map[int64]*audioRun),
			order:    make(map[string][]*audioRun),
			waiting:  make(map[string]int),
		},
	}, nil
}

// Close does nothing: there is nothing to release.
func (db *DB) Close() error { return nil }

// Trigger implements [trigger.Store], [trigger.TxStore], [trigger.Pruner],
// [trigger.Organizations] and [trigger.APIKeys].
type Trigger struct{ db *DB }

var (
	_ trigger.Store         = (*Trigger)(nil)
	_ trigger.TxStore       = (*Trigger)(nil)
	_ trigger.Pruner        = (*Trigger)(nil)
	_ trigger.Organizations = (*Trigger)(nil)
	_ trigger.APIKeys       = (*Trigger)(nil)
)

// triggerTables is what the domain trigger keeps.
type triggerTables struct {
	orgs     map[string]*triggerOrg
	ids      map[uuid.UUID]string         // the organization of each event
	unqueued map[uuid.UUID]*trigger.Event // received events whose UnqueuedSince is set
	keys     map[[32]byte]*trigger.APIKey
	keyLists map[string][]*trigger.APIKey // by organization, oldest first
	deleted  map[string]time.Time         // organizations that are marked, and since when
}

// triggerOrg is one organization's part of it.
type triggerOrg struct {
	record *trigger.Organization // nil: never written
	events map[uuid.UUID]*trigger.Event
	byKey  map[string]uuid.UUID // events by idempotency key
	order  []*trigger.Event     // oldest first
}

// org returns the organization's part, a new one if there is none. The caller holds the
// write lock.
func (t *triggerTables) org(id string) *triggerOrg {
	o, ok := t.orgs[id]
	if !ok {
		o = &triggerOrg{events: make(map[uuid.UUID]*trigger.Event), byKey: make(map[string]uuid.UUID)}
		t.orgs[id] = o
	}
	return o
}

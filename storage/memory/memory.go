// Package memory keeps everything in RAM. It is the reference: what the conformance
// suites demand, it does in the plainest way, so it is also the place to read what an
// interface means. A process that ends loses everything.
//
// Every call is atomic and sees all calls that returned before it. What goes in and what
// comes out are copies. One thing is not atomic: a listing that passes over thousands of
// rows lets others write meanwhile, and shows each row as it was at some moment of the
// call. [DB.InTx] makes the calls of a host's tests part of one transaction.
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
	mu   sync.RWMutex
	kept *tables // guarded by mu, and so is what is in them, but for that of a dataset
	open *hostTx // the transaction of InTx that is under way, or nil

	classes  vocabularies // not guarded by mu
	notified notified     // not guarded by mu
}

// Open returns an empty database. Options may be nil. It never fails; it has the shape
// that every backend's Open has.
func Open(_ context.Context, opts *Options) (*DB, error) {
	now := time.Now
	if opts != nil && opts.Now != nil {
		now = opts.Now
	}
	return &DB{kept: &tables{
		revocations: revocations{Database: uuid.NewString()},
		now:         now,
		jobs:        newJobTable(),
		trigger: triggerTables{
			orgs:     make(map[string]*triggerOrg),
			ids:      make(map[uuid.UUID]string),
			waking:   make(map[uuid.UUID]*trigger.Event),
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
			clientTokens:  make(map[ownedID][]*authmgmt.Token),
			tokenIDs:      make(map[uuid.UUID][32]byte),
			invitations:   make(map[ownedID]*authmgmt.Invitation),
			inviteList:    make(placedLists[*authmgmt.Invitation]),
			audit:         make(trails[authmgmt.AuditEvent, *authmgmt.AuditEvent]),
			organizations: make(map[string]authmgmt.Organization),
			deleted:       make(map[string]tombstone),
		},
		vault: vaultTables{
			vaults:  make(map[ownedID]*vaultEntry),
			ids:     make(map[string][]string),
			keys:    make(map[vaultKeyID]*keyring.Key),
			audit:   make(trails[vault.AuditEvent, *vault.AuditEvent]),
			swept:   make(map[int]int),
			deleted: make(map[string]*deletedVaults),
		},
		audio: audioTables{
			deleted:  make(map[string]time.Time),
			datasets: make(map[ownedID]*audioDataset),
			runs:     make(map[int64]*audioRun),
			order:    make(map[string][]*audioRun),
			waiting:  make(map[string]int),
			places:   make(map[[2]string]int64),
		},
	}}, nil
}

// Close does nothing: there is nothing to release.
func (db *DB) Close() error { return nil }

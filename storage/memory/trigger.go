package memory

import (
	"context"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Trigger implements [trigger.Store], [trigger.TxStore], [trigger.Pruner],
// [trigger.Organizations], [trigger.APIKeys] and [mortise.HostTx].
type Trigger struct {
	db *DB
	revoked
}

var (
	_ trigger.Store         = (*Trigger)(nil)
	_ trigger.TxStore       = (*Trigger)(nil)
	_ trigger.Pruner        = (*Trigger)(nil)
	_ trigger.Organizations = (*Trigger)(nil)
	_ trigger.APIKeys       = (*Trigger)(nil)
	_ mortise.HostTx        = (*Trigger)(nil)
	_ mortise.Transactor    = (*Trigger)(nil)
)

// Transact implements [mortise.Transactor] by [DB.InTx], for tests: it copies all that is kept.
func (t *Trigger) Transact(ctx context.Context, _ string, do func(ctx context.Context) error) error {
	return t.db.InTx(ctx, do)
}

// AfterCommit implements [mortise.HostTx].
func (t *Trigger) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return t.db.afterCommit(ctx, f)
}

// triggerTables is what the domain trigger keeps.
type triggerTables struct {
	orgs     map[string]*triggerOrg
	ids      map[uuid.UUID]string         // the organization of each event
	waking   map[uuid.UUID]*trigger.Event // events whose WakeAt is set
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

// clone returns tables with copies of all that is changed in place.
func (t *triggerTables) clone() triggerTables {
	events, keys := make(copies[trigger.Event]), make(copies[trigger.APIKey])
	return triggerTables{
		orgs: mapped(t.orgs, func(o *triggerOrg) *triggerOrg {
			return &triggerOrg{
				record: o.record, events: mapped(o.events, events.of),
				byKey: maps.Clone(o.byKey), order: events.all(o.order),
			}
		}),
		ids:      maps.Clone(t.ids),
		waking:   mapped(t.waking, events.of),
		keys:     mapped(t.keys, keys.of),
		keyLists: mapped(t.keyLists, keys.all),
		deleted:  maps.Clone(t.deleted),
	}
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

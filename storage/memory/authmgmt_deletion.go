package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// tombstone is what stays of an organization that was deleted.
type tombstone struct {
	at    time.Time
	event uuid.UUID // in the trail, which says by whom; uuid.Nil for none
}

// isDeleted reports whether an organization is marked. The caller holds the lock.
func (t *authmgmtTables) isDeleted(org string) bool {
	_, ok := t.deleted[org]
	return ok
}

// trail returns the audit events of an organization that are shown. The caller holds the
// lock.
func (t *authmgmtTables) trail(org string) []authmgmt.AuditEvent {
	trail := t.audit[org]
	mark, ok := t.deleted[org]
	if !ok {
		return trail
	}
	at := slices.IndexFunc(trail, func(e authmgmt.AuditEvent) bool { return e.ID == mark.event })
	if at < 0 || mark.event == uuid.Nil {
		return nil
	}
	return trail[at : at+1]
}

// MarkDeleted implements [authmgmt.Deletion].
func (a *AuthMgmt) MarkDeleted(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer db.end()
	t := &db.authmgmt
	if mark, ok := t.deleted[org]; ok {
		return mark.at, nil
	}
	t.deleted[org] = tombstone{at: at.UTC(), event: e.ID}
	t.addEvent(e)
	db.revocations.count(at)
	return at.UTC(), nil
}

// DeletedAt implements [authmgmt.Deletion].
func (a *AuthMgmt) DeletedAt(ctx context.Context, org string) (time.Time, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer db.end()
	return db.authmgmt.deleted[org].at, nil
}

// RemoveDeleted implements [authmgmt.Deletion].
func (a *AuthMgmt) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	t := &db.authmgmt
	mark, ok := t.deleted[org]
	if !ok {
		return 0, false, mortise.ErrNotFound
	}
	step := boundedStep{limit: limit}
	t.inviteList.remove(org, func(i *authmgmt.Invitation) bool {
		gone := step.takes(true)
		if gone {
			delete(t.invitations, ownedID{org, i.ID})
		}
		return gone
	})
	t.tokenList.remove(org, func(k *authmgmt.Token) bool {
		gone := step.takes(true)
		if gone {
			t.forget(k)
		}
		return gone
	})
	if len(t.tokenList[org]) == 0 { // which need their clients
		t.removeClients(org, step.takes)
	}
	t.audit[org] = slices.DeleteFunc(t.audit[org], func(e authmgmt.AuditEvent) bool { return step.takes(e.ID != mark.event) })
	if _, ok := t.organizations[org]; step.takes(ok) {
		delete(t.organizations, org)
	}
	return step.n, step.more, nil
}

// removeClients removes those clients of an organization that goes lets go, with their
// secrets. The caller holds the lock.
func (t *authmgmtTables) removeClients(org string, goes func(bool) bool) {
	maps.DeleteFunc(t.clients, func(id ownedID, c *authmgmt.Client) bool {
		if !goes(id.org == org) {
			return false
		}
		for _, s := range c.Secrets {
			delete(t.secrets, s.Digest)
		}
		return true
	})
	t.clientList.remove(org, func(c *authmgmt.Client) bool {
		_, kept := t.clients[ownedID{org, c.ID}]
		return !kept
	})
}

package memory

import (
	"context"
	"slices"
	"sort"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// AuthMgmt implements [authmgmt.Store], [authmgmt.Pruner], [authmgmt.KeyChecker] and
// [authmgmt.Organizations].
type AuthMgmt struct{ db *DB }

var (
	_ authmgmt.Store         = (*AuthMgmt)(nil)
	_ authmgmt.Pruner        = (*AuthMgmt)(nil)
	_ authmgmt.KeyChecker    = (*AuthMgmt)(nil)
	_ authmgmt.Organizations = (*AuthMgmt)(nil)
)

// authmgmtTables is what the domain authmgmt keeps.
type authmgmtTables struct {
	clients       map[ownedID]*authmgmt.Client  // deleted ones included
	secrets       map[[32]byte]ownedID          // clients by the digests of their secrets
	clientList    placedLists[*authmgmt.Client] // those that are not deleted
	tokens        map[[32]byte]*authmgmt.Token  // by digest
	tokenList     placedLists[*authmgmt.Token]
	tokenIDs      map[uuid.UUID][32]byte // the digests of tokens
	invitations   map[ownedID]*authmgmt.Invitation
	inviteList    placedLists[*authmgmt.Invitation]
	audit         map[string][]authmgmt.AuditEvent // by organization, oldest first
	organizations map[string]authmgmt.Organization
	deleted       map[string]tombstone // organizations that were deleted
	keyChecks     [][32]byte
}

// ownedID is an ID that is unique within its organization.
type ownedID struct{ org, id string }

// addEvent stores an audit event, unless it is none.
func (t *authmgmtTables) addEvent(e authmgmt.AuditEvent) {
	if e.ID == ([16]byte{}) {
		return
	}
	trail := t.audit[e.Organization]
	at := sort.Search(len(trail), func(i int) bool { return trail[i].Position().Compare(e.Position()) > 0 })
	t.audit[e.Organization] = slices.Insert(trail, at, e.Clone())
}

// ListAuditEvents implements [authmgmt.Audit].
func (a *AuthMgmt) ListAuditEvents(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
	if err := ctx.Err(); err != nil || q.Limit <= 0 {
		return mortise.Page[authmgmt.AuditEvent]{}, err
	}
	var after *mortise.Position
	if !q.After.IsZero() {
		after = &q.After
	}
	trail := func() []authmgmt.AuditEvent { return a.db.authmgmt.trail(org) }
	var page mortise.Page[authmgmt.AuditEvent]
	err := newestFirst(ctx, a.db, after, trail, (*authmgmt.AuditEvent).Position, func(e *authmgmt.AuditEvent) (more bool) {
		switch {
		case e.At.Before(q.From):
			return false
		case !q.Matches(e):
			return true
		case len(page.Items) == q.Limit:
			page.Next = page.Items[q.Limit-1].Position()
			return false
		}
		page.Items = append(page.Items, e.Clone())
		return true
	})
	if err != nil {
		return mortise.Page[authmgmt.AuditEvent]{}, err
	}
	return page, nil
}

// AccessControl implements [authmgmt.Directory].
func (a *AuthMgmt) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	if err := ctx.Err(); err != nil {
		return authmgmt.Organization{}, err
	}
	a.db.mu.RLock()
	defer a.db.mu.RUnlock()
	if o, ok := a.db.authmgmt.organizations[org]; ok && !a.db.authmgmt.isDeleted(org) {
		return o, nil
	}
	return authmgmt.Organization{}, authmgmt.ErrNotFound
}

// UpdateOrganization implements [authmgmt.Organizations].
func (a *AuthMgmt) UpdateOrganization(ctx context.Context, org string, update func(*authmgmt.Organization) (authmgmt.AuditEvent, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	if a.db.authmgmt.isDeleted(org) {
		return authmgmt.ErrDeleted
	}
	changed, ok := a.db.authmgmt.organizations[org]
	if !ok {
		changed = authmgmt.Organization{ID: org}
	}
	e, err := update(&changed)
	if err != nil {
		return err
	}
	changed.ID = org
	a.db.authmgmt.organizations[org] = changed
	a.db.authmgmt.addEvent(e)
	return nil
}

// UpdateKeyChecks implements [authmgmt.KeyChecker].
func (a *AuthMgmt) UpdateKeyChecks(ctx context.Context, update func(noted [][32]byte) ([][32]byte, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	changed, err := update(slices.Clone(a.db.authmgmt.keyChecks))
	if err != nil {
		return err
	}
	a.db.authmgmt.keyChecks = slices.Clone(changed)
	return nil
}

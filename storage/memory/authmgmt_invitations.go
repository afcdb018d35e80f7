package memory

import (
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// CreateInvitation implements [authmgmt.Invitations].
func (a *AuthMgmt) CreateInvitation(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	t := &db.authmgmt
	if t.isDeleted(i.Organization) {
		return mortise.ErrDeleted
	}
	id := ownedID{i.Organization, i.ID}
	if _, taken := t.invitations[id]; taken {
		return mortise.ErrExists
	}
	for _, other := range t.invitations {
		if exclusive && other.Organization == i.Organization && other.EmailKey() == i.EmailKey() &&
			other.State(i.CreatedAt) == authmgmt.InvitationPending {
			return authmgmt.ErrPendingInvitation
		}
	}
	kept := i.Clone()
	t.invitations[id] = &kept
	t.inviteList.add(i.Organization, &kept)
	t.addEvent(e)
	return nil
}

// Invitation implements [authmgmt.Invitations].
func (a *AuthMgmt) Invitation(ctx context.Context, org, id string) (authmgmt.Invitation, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return authmgmt.Invitation{}, err
	}
	defer db.end()
	if i, ok := db.authmgmt.invitations[ownedID{org, id}]; ok && !db.authmgmt.isDeleted(org) {
		return i.Clone(), nil
	}
	return authmgmt.Invitation{}, mortise.ErrNotFound
}

// UpdateInvitation implements [authmgmt.Invitations].
func (a *AuthMgmt) UpdateInvitation(ctx context.Context, org, id string, update func(*authmgmt.Invitation) (authmgmt.AuditEvent, error)) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	t := &db.authmgmt
	kept, ok := t.invitations[ownedID{org, id}]
	if !ok || t.isDeleted(org) {
		return mortise.ErrNotFound
	}
	given := kept.Clone()
	e, err := update(&given)
	if err != nil {
		return err
	}
	changed := given.Clone()
	changed.Organization, changed.ID, changed.Email, changed.CreatedAt = kept.Organization, kept.ID, kept.Email, kept.CreatedAt
	*kept = changed
	t.addEvent(e)
	db.revocations.countEvent(&e)
	return nil
}

// ListInvitations implements [authmgmt.Invitations].
func (a *AuthMgmt) ListInvitations(
	ctx context.Context, org string, pendingAt time.Time, inviter string, after mortise.Cursor, limit int,
) (page mortise.Page[authmgmt.Invitation], err error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	return latest(db.authmgmt.invitationsOf(org), after, limit, listed(pendingAt, inviter), (*authmgmt.Invitation).Clone)
}

// CountInvitations implements [authmgmt.Counter].
func (a *AuthMgmt) CountInvitations(
	ctx context.Context, org string, pendingAt time.Time, inviter string, most int,
) (n mortise.Count, err error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return n, err
	}
	defer db.end()
	found, shows := 0, listed(pendingAt, inviter)
	for _, i := range db.authmgmt.invitationsOf(org) {
		if shows(i) {
			found++
		}
	}
	return mortise.CountUpTo(found, most), nil
}

// invitationsOf returns the invitations of an organization, oldest first.
func (t *authmgmtTables) invitationsOf(org string) []*authmgmt.Invitation {
	if t.isDeleted(org) {
		return nil
	}
	return t.inviteList[org]
}

// listed returns which invitations a list shows.
func listed(pendingAt time.Time, inviter string) func(*authmgmt.Invitation) bool {
	return func(i *authmgmt.Invitation) bool {
		return (pendingAt.IsZero() || i.State(pendingAt) == authmgmt.InvitationPending) && (inviter == "" || i.Inviter == inviter)
	}
}

// DueGrants implements [authmgmt.Invitations].
func (a *AuthMgmt) DueGrants(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	due := db.authmgmt.invitationsWhere(func(i *authmgmt.Invitation) bool {
		return !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero() && !i.AwaitsPerson && !i.GrantDue.After(now)
	})
	slices.SortFunc(due, func(x, y *authmgmt.Invitation) int { return x.GrantDue.Compare(y.GrantDue) })
	return clones(due[:min(len(due), max(limit, 0))], (*authmgmt.Invitation).Clone), nil
}

// invitationsWhere returns those that a condition selects, in no order, but for those of
// deleted organizations. The caller holds the lock.
func (t *authmgmtTables) invitationsWhere(selects func(*authmgmt.Invitation) bool) []*authmgmt.Invitation {
	var found []*authmgmt.Invitation
	for _, i := range t.invitations {
		if selects(i) && !t.isDeleted(i.Organization) {
			found = append(found, i)
		}
	}
	return found
}

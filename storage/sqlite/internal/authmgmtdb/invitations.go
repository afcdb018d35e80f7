package authmgmtdb

import (
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/roletext"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	// invitationColumns are the columns of an invitation, in the order of appendInvitation.
	invitationColumns = "i.organization, i.id, i.email, i.created_at, i.inviter, i.name, i.roles, i.generation, i.lifetime, i.expires_at," +
		" i.cancelled_at, i.accepted_at, i.accepted_by, i.granted_at, i.grant_due, i.grant_attempts, i.awaits_person, i.invited_by"
	// changingColumns are those that an update can change, in the order of
	// invitationArgs.
	changingColumns = "inviter, name, roles, generation, lifetime, expires_at, cancelled_at, accepted_at, accepted_by, granted_at, grant_due," +
		" grant_attempts, awaits_person, ended_at, invited_by"

	invitationByID = "SELECT " + invitationColumns + " FROM authmgmt_invitations i WHERE i.organization = ? AND i.id = ?" + notDeleted

	insertInvitation = "INSERT INTO authmgmt_invitations (organization, " + changingColumns + ", id, email, email_key, created_at)" +
		" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
	updateInvitation = "UPDATE authmgmt_invitations SET (" + changingColumns + ") = (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) WHERE organization = ? AND id = ?"

	// The conditions of Invitation.State, as the indexes have them.
	pending        = " AND accepted_at IS NULL AND cancelled_at IS NULL AND expires_at > ?"
	invitationID   = "SELECT 1 FROM authmgmt_invitations WHERE organization = ? AND id = ?"
	pendingByEmail = "SELECT 1 FROM authmgmt_invitations WHERE organization = ? AND email_key = ?" + pending + " LIMIT 1"

	invitationsOf    = " FROM authmgmt_invitations WHERE organization = ?1" + notDeleted
	pendingOfListing = " AND accepted_at IS NULL AND cancelled_at IS NULL AND expires_at > ?2"
	allOfInviter     = " AND inviter = ?2"
	// With the plus SQLite does not sort all that expire later.
	pendingOfInviter = " AND inviter = ?3 AND accepted_at IS NULL AND cancelled_at IS NULL AND +expires_at > ?2"

	dueGrants = "WITH page AS MATERIALIZED (SELECT organization, id FROM authmgmt_invitations" +
		" WHERE accepted_at IS NOT NULL AND granted_at IS NULL AND awaits_person = 0 AND grant_due <= ?" +
		notDeletedOf + "authmgmt_invitations.organization)" +
		" ORDER BY grant_due, organization, id LIMIT 0 + ?)" +
		" SELECT " + invitationColumns + " FROM page p CROSS JOIN authmgmt_invitations i ON i.organization = p.organization AND i.id = p.id" +
		" ORDER BY i.grant_due, i.organization, i.id"
)

// invitations returns the listing of what a condition selects.
func invitations(from string) placedList {
	return (&placedRows{
		key:     "organization, id",
		from:    from,
		columns: invitationColumns,
		join:    " CROSS JOIN authmgmt_invitations i ON i.organization = p.organization AND i.id = p.id",
		alias:   "i", desc: true,
	}).list()
}

var (
	allInvitations     = invitations(invitationsOf)
	pendingInvitations = invitations(invitationsOf + pendingOfListing)
	// The index of the list has the order of CreatedAt; this one holds pending ones alone.
	countPending = placedList{count: "SELECT count(*) FROM (SELECT 1 FROM authmgmt_invitations INDEXED BY authmgmt_invitations_open" +
		" WHERE organization = ?1" + notDeleted + pendingOfListing + " LIMIT 0 + ?)"}

	invitationsByInviter = invitations(invitationsOf + allOfInviter)
	pendingByInviter     = invitations(invitationsOf + pendingOfInviter)
)

// CreateInvitation implements [authmgmt.Invitations].
func (a *Store) CreateInvitation(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
	event, err := auditChange(&e)
	if err != nil {
		return err
	}
	key, at := i.EmailKey(), i.CreatedAt.UnixMicro()
	args := append([]any{i.Organization}, invitationArgs(&i)...)
	args = append(args, i.ID, i.Email, key, at)
	return a.db.Write(ctx, func(tx *file.Tx) error {
		if err := mayCreate(tx, i.Organization); err != nil {
			return err
		}
		if exclusive {
			if taken, err := tx.Exists(invitationID, i.Organization, i.ID); err != nil {
				return err
			} else if taken {
				return mortise.ErrExists
			}
			if invited, err := tx.Exists(pendingByEmail, i.Organization, key, at); err != nil {
				return err
			} else if invited {
				return authmgmt.ErrPendingInvitation
			}
		}
		if err := tx.Insert(insertInvitation, args...); err != nil {
			return err
		}
		return tx.Apply(event...)
	})
}

// Invitation implements [authmgmt.Invitations].
func (a *Store) Invitation(ctx context.Context, org, id string) (authmgmt.Invitation, error) {
	var found []authmgmt.Invitation
	err := a.db.Find(ctx, org, invitationByID, []any{org, id}, func(r *file.Row) error { return appendInvitation(&found, r) })
	return one(found, err)
}

// UpdateInvitation implements [authmgmt.Invitations].
func (a *Store) UpdateInvitation(ctx context.Context, org, id string, update func(*authmgmt.Invitation) (authmgmt.AuditEvent, error)) error {
	return a.db.Write(ctx, func(tx *file.Tx) error {
		var found []authmgmt.Invitation
		err := tx.Query(invitationByID, []any{org, id}, func(r *file.Row) error { return appendInvitation(&found, r) })
		kept, err := one(found, err)
		if err != nil {
			return err
		}
		var changes []file.Change
		err = tx.Host(func() error {
			given := kept.Clone()
			e, err := update(&given)
			if err != nil {
				return err
			}
			if args := invitationArgs(&given); !slices.Equal(args, invitationArgs(&kept)) {
				changes = append(changes, file.Do(updateInvitation, append(args, org, id)...))
			}
			event, err := auditChange(&e)
			changes = append(changes, event...)
			return err
		})
		if err != nil {
			return err
		}
		return tx.Apply(changes...)
	})
}

// ListInvitations implements [authmgmt.Invitations].
func (a *Store) ListInvitations(
	ctx context.Context, org string, pendingAt time.Time, inviter string, after mortise.Cursor, limit int,
) (page mortise.Page[authmgmt.Invitation], err error) {
	at, id, behind, err := pages.ByName(after)
	if err != nil {
		return page, err
	}
	list, which := listedInvitations(org, pendingAt, inviter)
	statement, args := list.page(which, at, id, behind, limit)
	var invitations []authmgmt.Invitation
	err = a.db.List(ctx, org, statement, args, func(r *file.Row) error { return appendInvitation(&invitations, r) })
	if err != nil {
		return page, err
	}
	return pages.Cut(invitations, limit, (*authmgmt.Invitation).Position), nil
}

// CountInvitations implements [authmgmt.Counter].
func (a *Store) CountInvitations(
	ctx context.Context, org string, pendingAt time.Time, inviter string, most int,
) (mortise.Count, error) {
	list, which := listedInvitations(org, pendingAt, inviter)
	if list == &pendingInvitations {
		list = &countPending
	}
	return a.countListed(ctx, org, list, which, most)
}

// listedInvitations returns the list that shows invitations, and the values of its
// condition.
func listedInvitations(org string, pendingAt time.Time, inviter string) (list *placedList, which []any) {
	switch {
	case inviter == "" && pendingAt.IsZero():
		return &allInvitations, []any{org}
	case inviter == "":
		return &pendingInvitations, []any{org, pendingAt.UnixMicro()}
	case pendingAt.IsZero():
		return &invitationsByInviter, []any{org, inviter}
	}
	return &pendingByInviter, []any{org, pendingAt.UnixMicro(), inviter}
}

// DueGrants implements [authmgmt.Invitations].
func (a *Store) DueGrants(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
	var due []authmgmt.Invitation
	err := a.db.List(ctx, file.NoOrg, dueGrants, []any{now.UnixMicro(), max(limit, 0)}, func(r *file.Row) error { return appendInvitation(&due, r) })
	if err != nil {
		return nil, err
	}
	return due, nil
}

// invitationArgs returns the values of changingColumns.
func invitationArgs(i *authmgmt.Invitation) []any {
	return []any{
		i.Inviter, i.Name, roletext.Format(i.Roles), i.Generation, i.Lifetime.Microseconds(), file.Micros(i.ExpiresAt), file.Micros(i.CancelledAt),
		file.Micros(i.AcceptedAt), i.AcceptedBy, file.Micros(i.GrantedAt), i.GrantDue.UnixMicro(), i.GrantAttempts, i.AwaitsPerson, file.Micros(i.EndedAt()),
		i.InvitedBy,
	}
}

// appendInvitation reads a row of invitationColumns, which may be empty.
func appendInvitation(invitations *[]authmgmt.Invitation, r *file.Row) (err error) {
	i := authmgmt.Invitation{
		Organization: r.Text(0), ID: r.Text(1), Email: r.Text(2), CreatedAt: r.Moment(3), Inviter: r.Text(4), Name: r.Text(5),
		Generation: file.Cell[int64](r, 7), Lifetime: time.Duration(file.Cell[int64](r, 8)) * time.Microsecond, ExpiresAt: r.Moment(9),
		CancelledAt: r.Moment(10), AcceptedAt: r.Moment(11), AcceptedBy: r.Text(12), GrantedAt: r.Moment(13), GrantDue: r.Moment(14),
		GrantAttempts: r.Number(15), AwaitsPerson: r.Number(16) != 0, InvitedBy: r.Text(17),
	}
	i.Roles, err = roletext.Parse(r.Text(6))
	*invitations = append(*invitations, i)
	return err
}

package authmgmtdb

import (
	"context"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/roletext"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

const (
	// invitationColumns are the columns of an invitation, in the order of scanInvitation.
	invitationColumns = "i.organization, i.id, i.email, i.created_at, i.inviter, i.name, i.roles, i.generation, i.lifetime, i.expires_at," +
		" i.cancelled_at, i.accepted_at, i.accepted_by, i.granted_at, i.grant_due, i.grant_attempts, i.awaits_person, i.invited_by"
	// changingColumns are those that an update can change, in the order of
	// invitationArgs.
	changingColumns = "inviter, name, roles, generation, lifetime, expires_at, cancelled_at, accepted_at, accepted_by, granted_at, grant_due," +
		" grant_attempts, awaits_person, ended_at, invited_by"

	invitationByID = "SELECT " + invitationColumns + " FROM @.authmgmt_invitations i WHERE i.organization || '' = $1 AND i.id = $2" + authNotDeleted
	lockInvitation = invitationByID + " FOR UPDATE OF i"

	insertInvitation = "INSERT INTO @.authmgmt_invitations (organization, id, " + changingColumns + ", email, email_key, created_at)" +
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) ON CONFLICT DO NOTHING"
	updateInvitation = "UPDATE @.authmgmt_invitations SET (" + changingColumns + ") =" +
		" ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) WHERE organization || '' = $1 AND id = $2"

	// The conditions of Invitation.State, as the indexes have them.
	invitationID   = "SELECT FROM @.authmgmt_invitations WHERE organization || '' = $1 AND id = $2"
	pendingByEmail = "SELECT FROM @.authmgmt_invitations WHERE organization = $1 AND email_key = $2" +
		" AND accepted_at IS NULL AND cancelled_at IS NULL AND expires_at > $3 LIMIT 1"

	invitationsOf    = " FROM @.authmgmt_invitations WHERE organization = $1" + authNotDeleted
	pendingOfListing = " AND accepted_at IS NULL AND cancelled_at IS NULL AND expires_at > $2"
	ofInviter        = " AND inviter = $"

	dueGrants = "SELECT " + invitationColumns + " FROM @.authmgmt_invitations i" +
		" WHERE accepted_at IS NOT NULL AND granted_at IS NULL AND NOT awaits_person AND grant_due <= $1" +
		authNotDeletedOf + "i.organization) ORDER BY grant_due, organization, id LIMIT $2"
)

// invitations returns the listing of what a condition selects.
func invitations(from string) placedRows {
	return placedRows{
		key:     "organization, id",
		from:    from,
		columns: invitationColumns,
		join:    " JOIN @.authmgmt_invitations i ON i.organization || '' = p.organization AND i.id = p.id",
		alias:   "i", desc: true,
	}
}

var (
	allInvitations     = invitations(invitationsOf)
	pendingInvitations = invitations(invitationsOf + pendingOfListing)

	allOfInviter     = invitations(invitationsOf + ofInviter + "2")
	pendingOfInviter = invitations(invitationsOf + pendingOfListing + ofInviter + "3")
)

// CreateInvitation implements [authmgmt.Invitations].
func (a *Store) CreateInvitation(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
	org, id, key := i.Organization, i.ID, i.EmailKey()
	return a.db.Transact(ctx, i.Organization, func(s *engine.Session) error {
		if err := mayCreate(s, i.Organization); err != nil {
			return err
		}
		if exclusive {
			// Of two at one moment one is refused.
			if err := s.Lock("authmgmt invitation", i.Organization+"\x00"+key, false); err != nil {
				return err
			}
			if taken, err := s.Exists(invitationID, org, id); err != nil {
				return err
			} else if taken {
				return mortise.ErrExists
			}
			if invited, err := s.Exists(pendingByEmail, org, key, sqltext.Bound(i.CreatedAt)); err != nil {
				return err
			} else if invited {
				return authmgmt.ErrPendingInvitation
			}
		}
		args := append([]any{org, id}, invitationArgs(&i)...)
		if err := s.Insert(insertInvitation, append(args, i.Email, key, sqltext.Bound(i.CreatedAt))...); err != nil {
			return err
		}
		return audit(s, &e)
	})
}

// Invitation implements [authmgmt.Invitations].
func (a *Store) Invitation(ctx context.Context, org, id string) (i authmgmt.Invitation, err error) {
	return engine.FirstOf(ctx, a.db, org, scanInvitation, invitationByID, org, id)
}

// UpdateInvitation implements [authmgmt.Invitations].
func (a *Store) UpdateInvitation(ctx context.Context, org, id string, update func(*authmgmt.Invitation) (authmgmt.AuditEvent, error)) error {
	return a.db.Transact(ctx, org, func(s *engine.Session) error {
		if err := s.Lock(authDeletion, org, true); err != nil {
			return err
		}
		kept, err := engine.One(engine.Collect(s, scanInvitation, lockInvitation, org, id))
		if err != nil {
			return err
		}
		given := kept.Clone()
		e, err := update(&given)
		if err != nil {
			return err
		}
		if args := invitationArgs(&given); !reflect.DeepEqual(args, invitationArgs(&kept)) {
			if _, err := s.Exec(updateInvitation, append([]any{org, id}, args...)...); err != nil {
				return err
			}
		}
		e.Organization = org
		return audit(s, &e)
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
	invitations, err := engine.ListOf(ctx, a.db, org, scanInvitation, statement, args...)
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
	return a.countListed(ctx, org, list, which, most)
}

// listedInvitations returns the list that shows invitations, and the arguments of its
// condition.
func listedInvitations(org string, pendingAt time.Time, inviter string) (list *placedRows, which []any) {
	switch {
	case inviter == "" && pendingAt.IsZero():
		return &allInvitations, []any{org}
	case inviter == "":
		return &pendingInvitations, []any{org, sqltext.Bound(pendingAt)}
	case pendingAt.IsZero():
		return &allOfInviter, []any{org, inviter}
	}
	return &pendingOfInviter, []any{org, sqltext.Bound(pendingAt), inviter}
}

// DueGrants implements [authmgmt.Invitations].
func (a *Store) DueGrants(ctx context.Context, now time.Time, limit int) (due []authmgmt.Invitation, err error) {
	return engine.ListOf(ctx, a.db, engine.NoOrg, scanInvitation, dueGrants, sqltext.Bound(now), max(limit, 0))
}

// invitationArgs returns the values of changingColumns.
func invitationArgs(i *authmgmt.Invitation) []any {
	return []any{
		i.Inviter, i.Name, roletext.Format(i.Roles), i.Generation, i.Lifetime.Microseconds(), sqltext.Stamp(i.ExpiresAt),
		sqltext.Stamp(i.CancelledAt), sqltext.Stamp(i.AcceptedAt), i.AcceptedBy, sqltext.Stamp(i.GrantedAt), sqltext.Bound(i.GrantDue), i.GrantAttempts,
		i.AwaitsPerson, sqltext.Stamp(i.EndedAt()), i.InvitedBy,
	}
}

// invitationRow has the values of invitationColumns.
type invitationRow struct {
	org, id, email, inviter, name, roles, acceptedBy, invitedBy []byte
	generation, lifetime, attempts                              *int64
	created, expires, cancelled, accepted, granted, due         pgtype.Timestamptz
	awaitsPerson                                                *bool
}

// scanInvitation reads a row of invitationColumns.
func scanInvitation(rows pgx.Rows) (i authmgmt.Invitation, err error) {
	var r invitationRow
	err = rows.Scan(&r.org, &r.id, &r.email, &r.created, &r.inviter, &r.name, &r.roles, &r.generation, &r.lifetime, &r.expires,
		&r.cancelled, &r.accepted, &r.acceptedBy, &r.granted, &r.due, &r.attempts, &r.awaitsPerson, &r.invitedBy)
	if err != nil {
		return i, err
	}
	i = authmgmt.Invitation{
		Organization: string(r.org), ID: string(r.id), Email: string(r.email), CreatedAt: sqltext.TimeOf(r.created), Inviter: string(r.inviter),
		Name: string(r.name), Generation: *r.generation, Lifetime: time.Duration(*r.lifetime) * time.Microsecond, ExpiresAt: sqltext.TimeOf(r.expires),
		CancelledAt: sqltext.TimeOf(r.cancelled), AcceptedAt: sqltext.TimeOf(r.accepted), AcceptedBy: string(r.acceptedBy), GrantedAt: sqltext.TimeOf(r.granted),
		GrantDue: sqltext.TimeOf(r.due), GrantAttempts: int(*r.attempts), AwaitsPerson: *r.awaitsPerson, InvitedBy: string(r.invitedBy),
	}
	i.Roles, err = roletext.Parse(string(r.roles))
	return i, err
}

package authmgmt

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

// Store keeps clients, tokens, invitations and the audit trail, in one database: a change
// and its audit event are one transaction.
//
// Every method is safe for concurrent use, and atomic: another caller sees all of its
// effect or none. A call that returned without error is durable, as far as the backend
// is. A call whose ctx has ended returns an error that is not a sentinel of this package
// or of package mortise.
//
// Arguments and results are the receiver's own: a Store copies what it keeps and what
// it returns. Times keep microseconds and are UTC. Strings, the strings of roles included,
// are UTF-8 without U+0000, keep every byte, and are compared as bytes. The order of roles
// and secrets is kept; no roles come back as none.
// What is unknown, and what belongs to another organization, is [mortise.ErrNotFound].
// Any error but the sentinels of this package and of package mortise means
// "unavailable": the caller may try again.
//
// An audit event without ID is none, and is not stored. Its Organization is that of the
// call.
//
// An update function is called with a copy of what is stored, and what it leaves is
// stored, together with the audit event that it returns. It is pure, may be called more
// than once, and must not call the store, which may be waiting for it. An error of it
// leaves everything as it was and is returned so that errors.Is finds it; so does a
// panic, which goes on to the caller, and runtime.Goexit. It is not called for what is
// not there.
type Store interface {
	Clients
	Tokens
	Invitations
	Audit
	Counter
	Deletion
}

// Clients is the part of a [Store] that keeps clients and their secrets. A client's ID is
// unique within its organization; the digest of a secret is unique among those of all
// clients of all organizations.
type Clients interface {
	// CreateClient stores c, which is not deleted, with all its fields and the audit
	// event. It returns [mortise.ErrExists] if the organization has a client with the
	// ID or has deleted one, or if the digest of a secret is stored already, or is
	// there twice.
	CreateClient(ctx context.Context, c Client, a AuditEvent) error

	// Client returns a client that is not deleted.
	Client(ctx context.Context, org, id string) (Client, error)

	// ClientBySecret returns the client that has a secret with this digest, ended or not.
	// It takes no organization: the secret says which one is asking.
	ClientBySecret(ctx context.Context, digest [32]byte) (Client, error)

	// UpdateClient changes a client that is not deleted. Organization, ID and CreatedAt
	// cannot change; such changes are ignored. Tokens that were got with a secret which
	// is not among Secrets any more are gone with it, in the same transaction. Once
	// DeletedAt is set, the client has no secrets, whatever the function left, and is as
	// one that is unknown, but for CreateClient. A new digest that is stored already, or
	// is there twice, makes it return [mortise.ErrExists].
	UpdateClient(ctx context.Context, org, id string, update func(*Client) (AuditEvent, error)) error

	// ListClients returns the organization's clients that are not deleted, oldest first:
	// by CreatedAt, then by ID (as bytes).
	ListClients(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[Client], error)
}

// MaxClientTokens bounds the tokens of a client, ended tokens included. A further token takes
// the place of the oldest one.
const MaxClientTokens = 100

// Tokens is the part of a [Store] that keeps access tokens. A token's ID and its digest
// are each unique across organizations.
type Tokens interface {
	// CreateToken stores t and the audit event. It returns [mortise.ErrNotFound] if t
	// is a client's and that client does not have the secret, else [mortise.ErrExists]
	// if the ID or the digest is stored already. Of a client's token, Roles are not
	// kept; of another one, Secret is not. If the client then has more than
	// MaxClientTokens, ended ones included, CreateToken removes the oldest ones, by
	// CreatedAt, then by ID (as bytes), down to that number. It never removes t.
	CreateToken(ctx context.Context, t Token, a AuditEvent) error

	// TokenByDigest returns a token, revoked or expired or not. Roles of a client's token
	// are the client's as they are now. It takes no organization: the token says which
	// one is asking.
	TokenByDigest(ctx context.Context, digest [32]byte) (Token, error)

	// UpdateToken changes RevokedAt of a token; other changes are ignored. The function
	// sees Roles as in TokenByDigest.
	UpdateToken(ctx context.Context, org string, id uuid.UUID, update func(*Token) (AuditEvent, error)) error

	// ListTokens returns the organization's tokens, newest first: by CreatedAt, then by
	// ID (as bytes), both descending. Roles are as in TokenByDigest.
	ListTokens(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[Token], error)
}

// Invitations is the part of a [Store] that keeps invitations. An invitation's ID is
// unique within its organization.
type Invitations interface {
	// CreateInvitation stores i and the audit event. It returns [mortise.ErrExists] if
	// the organization has an invitation with the ID, in whatever state. If exclusive
	// is set, it returns [ErrPendingInvitation] if the organization has an invitation
	// with the same EmailKey that is pending at i.CreatedAt ([Invitation.State]).
	CreateInvitation(ctx context.Context, i Invitation, exclusive bool, a AuditEvent) error

	// Invitation returns an invitation in whatever state.
	Invitation(ctx context.Context, org, id string) (Invitation, error)

	// UpdateInvitation changes an invitation. Organization, ID, Email, and CreatedAt
	// cannot change; such changes are ignored.
	UpdateInvitation(ctx context.Context, org, id string, update func(*Invitation) (AuditEvent, error)) error

	// ListInvitations returns the organization's invitations, newest first: by CreatedAt,
	// then by ID (as bytes), both descending. If pendingAt is not zero, it returns only
	// invitations that are pending at that time. If inviter is not "", it returns only
	// invitations with that Inviter, as bytes.
	ListInvitations(
		ctx context.Context, org string, pendingAt time.Time, inviter string, after mortise.Cursor, limit int,
	) (mortise.Page[Invitation], error)

	// DueGrants returns at most limit invitations of all organizations that are accepted,
	// not granted, do not wait for the person (AwaitsPerson), and whose GrantDue is not
	// after now; earliest GrantDue first. It is maintenance: no organization is asked
	// for.
	DueGrants(ctx context.Context, now time.Time, limit int) ([]Invitation, error)
}

// Counter is the part of a [Store] that counts the items of the lists ListClients,
// ListTokens and ListInvitations, which select by the same arguments. Each Count is exact up
// to most (over 0); of more items its N is most, and it has More.
type Counter interface {
	CountClients(ctx context.Context, org string, most int) (mortise.Count, error)
	CountTokens(ctx context.Context, org string, most int) (mortise.Count, error)
	CountInvitations(ctx context.Context, org string, pendingAt time.Time, inviter string, most int) (mortise.Count, error)
}

// Audit is the part of a [Store] that keeps the audit trail. Nothing changes an event.
type Audit interface {
	// ListAuditEvents returns the events that match q, newest first: by At, then by ID
	// (as bytes), both descending.
	ListAuditEvents(ctx context.Context, org string, q AuditQuery) (mortise.Page[AuditEvent], error)
}

// Deletion is the part of a [Store] that deletes organizations: first one is marked, and
// then what is kept of it is removed in steps. A [Directory] can have it, too.
//
// From the mark on the organization has nothing, for every method and on every machine
// that shares the store. A lookup is [mortise.ErrNotFound], by a secret's or a token's
// digest, too. A list is empty, a count is 0, DueGrants leaves it out. No
// update function is called, and the update is [mortise.ErrNotFound]. A method that
// creates a row in it returns [mortise.ErrDeleted], whatever else is wrong with the row;
// so does UpdateOrganization. The trail has the event that came with the mark, and no
// other. Only digests and the IDs of tokens, which are unique across organizations, may
// stay taken until they are removed. RemoveDeleted leaves the mark's event. A Pruner goes on
// as before, the mark's event included.
type Deletion interface {
	mortise.Remover

	// MarkDeleted marks an organization as deleted and stores the audit event, unless it
	// is marked already: then it changes nothing. It returns the time of the mark. The
	// organization need not have anything.
	MarkDeleted(ctx context.Context, org string, at time.Time, a AuditEvent) (since time.Time, err error)

	// DeletedAt returns the time of an organization's mark, or the zero time if it is not
	// marked.
	DeletedAt(ctx context.Context, org string) (since time.Time, err error)
}

// Pruner is a [Store] that can forget. [Service.Prune] needs it. Each method removes rows
// of all organizations, and is a bounded step, see package storage. They are maintenance:
// no organization is asked for.
type Pruner interface {
	// PruneAudit removes events with At before the given time.
	PruneAudit(ctx context.Context, before time.Time, limit int) (n int, more bool, err error)

	// PruneTokens removes tokens with an ExpiresAt that is set and before the given time.
	// Those that never expire stay, so that what was revoked cannot be imported again.
	PruneTokens(ctx context.Context, before time.Time, limit int) (n int, more bool, err error)

	// PruneInvitations removes invitations that ended before the given time: cancelled,
	// granted, or neither accepted nor cancelled and expired ([Invitation.EndedAt]).
	PruneInvitations(ctx context.Context, before time.Time, limit int) (n int, more bool, err error)
}

// Restorable is an optional ability of a [Store] of a database that can be restored from a
// backup. [Service.EndAccess] needs it.
type Restorable interface {
	mortise.RevocationCounter

	// RemoveTokens removes tokens of all organizations that are not revoked, at most limit of
	// them. more: there may be others. A revoked token stays, so that it cannot be imported
	// again. It is a bounded step, as the calls of a [Pruner] are.
	RemoveTokens(ctx context.Context, limit int) (n int, more bool, err error)
}

// KeyChecker is implemented by a [Store] that keeps which invitation keys it knows. See
// [Service.CheckKey].
type KeyChecker interface {
	// UpdateKeyChecks changes what is known of the keys: at first nothing, later at most
	// 64 values, whose order is kept. They belong to the installation, and not to an
	// organization. The update function is as for [Store], without an audit event; it
	// returns what to store.
	UpdateKeyChecks(ctx context.Context, update func(noted [][32]byte) ([][32]byte, error)) error
}

// Package authmgmt manages machine credentials (OAuth clients), the roles that bind them,
// invitations of people, and access tokens, and keeps an audit trail of every change.
//
// [New] makes a [Service] over a [Backend]. A client is a name, a set of role assignments
// and one or two secrets, of which only digests are kept. [Service.Login] exchanges a
// secret for a short-lived access token (RFC 6749 section 4.4), and [Service.VerifyToken]
// says what a token allows: an [access.Access], which answers for every [access.Action]
// on every [access.Resource]. Roles are read when a token is verified, so a change counts
// from the next request on.
//
// What is made has roles, or full access that is asked for: leaving something out gives
// nothing. A stored credential without roles is one with full access.
//
// Every change takes a [Caller], and nobody can give away more than they hold, nor lock
// out somebody who holds more: see [access.Access.Covers]. A host that has locked itself
// out makes a new client in Go, as a Caller with [access.Full]. Every change is stored
// together with an [AuditEvent] that says who did what, and what was there before and
// after; it never holds a secret.
//
// An invitation is a link that its holder can accept once, until it expires. The link's
// secret is computed from a key that the host keeps ([InvitationKey]), so a stolen
// database opens no invitation; [Options.OtherInvitationKeys] says how the key is
// changed. What accepting one means is the host's: see [Options.Grant].
//
// [Service.DeleteOrganization] deletes an organization: its credentials are refused from
// the first call on, on every server, and what it has is removed in steps. A tombstone
// stays, so that its ID is not given again, and an audit event that says by whom.
//
// # For applications
//
// The service: [New], [Service], [Backend], [Options], [Retention], and [Caller], the
// name and the access of the one that asks for a change. A host that knows its
// organizations gives the Backend a Directory: see below.
//
// Package mortise has the names of all domains: Env, Actor, Observer, Observation, Kind,
// MaxPageSize, Page, Cursor, and the errors ErrNotFound, ErrExists, ErrDeleted,
// ErrUnavailable and ValidationError.
//
// Rights, in package access: [access.Access], [access.Full], [access.APIKey],
// [access.Action], [access.Resource], [access.ResourceType], [access.Role],
// [access.Catalogue], [access.DefaultCatalogue], [access.NewCatalogue],
// [access.RolesContext], [access.DatasetRoles].
//
// Clients: [Client], [ClientSecret], [NewClient], [ClientUpdate].
//
// Access tokens: [Token], [NewToken], [NoExpiry], [Identity].
//
// Invitations: [Invitation], [InvitationState], [NewInvitation], [Acceptance], and the
// key of their links: [InvitationKey], [NewInvitationKey], [ParseInvitationKey],
// [InvitationKeyFromFile].
//
// The audit trail: [AuditEvent], [Snapshot], [AuditQuery].
//
// Errors: [ErrForbidden], [ErrRBACDisabled]; of Login and
// VerifyToken [ErrInvalidCredentials]; of invitations [ErrPendingInvitation],
// [ErrGrantPending], [ErrUnattended], [ErrWrongKey].
//
// # For backends
//
// A host that knows its organizations, as most do, implements [Directory], which returns an
// [Organization]. One that has no place for them takes the [Organizations] of a backend.
//
// A [Store] is made of [Clients], [Tokens], [Invitations], [Audit], [Counter] and [Deletion],
// and may be a [Pruner], a [KeyChecker] and [Restorable]. [MaxClientTokens] bounds the tokens
// of a client. Package authmgmttest proves a backend.
package authmgmt

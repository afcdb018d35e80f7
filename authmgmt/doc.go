// Package authmgmt manages machine credentials (OAuth clients), the roles that bind them,
// invitations of people, and access tokens, and keeps an audit trail of every change.
//
// [New] makes a [Service] over a [Backend]. A client is a name, a set of role assignments
// and one or two secrets, of which only digests are kept. [Service.Login] exchanges a
// secret for a short-lived access token (RFC 6749 section 4.4), and [Service.VerifyToken]
// says what a token allows: an [Access], which answers for every [Action] on every
// [Resource]. Roles are read when a token is verified, so a change counts from the next
// request on.
//
// What is made has roles, or full access that is asked for: leaving something out gives
// nothing. A stored credential without roles is one with full access.
//
// Every change takes a [Caller], and nobody can give away more than they hold, nor lock
// out somebody who holds more: see [Access.Covers]. A host that has locked itself out
// makes a new client in Go, as a Caller with [FullAccess]. Every change is stored
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
package authmgmt

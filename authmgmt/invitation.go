package authmgmt

import (
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// Invitation asks a person to join an organization.
type Invitation struct {
	Organization string
	ID           string
	Inviter      string        // display name
	InvitedBy    string        // the Actor who made it, as in the audit trail
	Email        string        // of the invitee
	Name         string        // of the invitee
	Roles        []access.Role // assigned upon acceptance; none: full access
	// Generation is raised by every resend, which ends the links before. It begins at
	// random.
	Generation int64

	CreatedAt   time.Time
	Lifetime    time.Duration // from CreatedAt, and from each resend, to ExpiresAt; whole microseconds
	ExpiresAt   time.Time     // from then on it is not pending
	CancelledAt time.Time
	AcceptedAt  time.Time
	AcceptedBy  string // the person, or the email address where the host named nobody

	// What accepting it gives is handed out by the host's Grant, once or more often,
	// until it succeeds.
	GrantedAt     time.Time
	GrantDue      time.Time // before that nobody else tries: an attempt is under way, or the next one has to wait
	GrantAttempts int
	AwaitsPerson  bool // Grant returned ErrUnattended: only the person's next attempt is of use
}

// InvitationState is computed from an invitation and the time.
type InvitationState string

// The states of an invitation.
const (
	InvitationPending   InvitationState = "pending"
	InvitationAccepted  InvitationState = "accepted"
	InvitationCancelled InvitationState = "cancelled"
	InvitationExpired   InvitationState = "expired"
)

// State returns the state at a time. An invitation is expired from ExpiresAt on.
func (i *Invitation) State(now time.Time) InvitationState {
	switch {
	case !i.AcceptedAt.IsZero():
		return InvitationAccepted
	case !i.CancelledAt.IsZero():
		return InvitationCancelled
	case !now.Before(i.ExpiresAt):
		return InvitationExpired
	default:
		return InvitationPending
	}
}

// EndedAt returns when nothing more could happen to the invitation, or will: GrantedAt,
// CancelledAt, or ExpiresAt. It is zero for one that is accepted and not granted yet.
func (i *Invitation) EndedAt() time.Time {
	switch {
	case !i.AcceptedAt.IsZero():
		return i.GrantedAt
	case !i.CancelledAt.IsZero():
		return i.CancelledAt
	default:
		return i.ExpiresAt
	}
}

// EmailKey is the email address as it is compared: in lower case.
func (i *Invitation) EmailKey() string { return strings.ToLower(i.Email) }

// FullAccess reports whether accepting the invitation gives full access: one that is
// stored without roles does. It is what a host's Grant passes on as NewToken.FullAccess.
func (i *Invitation) FullAccess() bool { return len(i.Roles) == 0 }

// Clone returns a copy that shares nothing with i.
func (i *Invitation) Clone() Invitation {
	d := *i
	d.Roles = cloneList(i.Roles)
	return d
}

package authmgmt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// grantToken is the Grant of Options.GrantToken. A token is of use only while the person
// waits: nobody could read one that is made later.
//
// Each attempt makes a token of its own, whose ID can be computed, and first ends those
// of the attempts before. They may have been stored, though nobody was told so.
func (s *Service) grantToken(ctx context.Context, a Acceptance) (mortise.Secret, error) {
	if !a.Attended {
		return mortise.Secret{}, ErrUnattended
	}
	i := &a.Invitation
	// What the invitation gives was covered by whoever made it.
	by := Caller{Actor: mortise.Actor(i.AcceptedBy), Access: access.Full()}
	for attempt := 1; attempt < a.Attempt; attempt++ {
		err := s.RevokeToken(ctx, i.Organization, by, grantedToken(i, attempt))
		if err != nil && !errors.Is(err, mortise.ErrNotFound) {
			return mortise.Secret{}, err
		}
	}
	_, text, err := s.IssueToken(ctx, i.Organization, by, NewToken{
		ID: grantedToken(i, a.Attempt), Subject: i.Email, Roles: i.Roles, FullAccess: i.FullAccess(), Lifetime: s.opts.GrantToken,
	})
	return text, err
}

// grantNamespace is where the IDs of granted tokens come from (RFC 9562 section 5.5).
var grantNamespace = uuid.MustParse("b3a0b7c1-6f52-4a0c-9c39-4f1f1f6f3d5e")

// grantedToken returns the ID of the token that an attempt makes. No name contains
// U+0000.
func grantedToken(i *Invitation, attempt int) uuid.UUID {
	name := strings.Join([]string{i.Organization, i.ID, fmt.Sprint(i.Generation), fmt.Sprint(attempt)}, "\x00")
	return uuid.NewSHA1(grantNamespace, []byte(name))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// authmgmtService is the credentials service.
type authmgmtService struct {
	member
	service *authmgmt.Service
	store   authmgmt.Store // for what a provisioning document is compared with
}

func newAuthMgmtService(s *settings, b authmgmt.Backend, root localkeys.Root, log *slog.Logger) (*authmgmtService, error) {
	derived, err := root.Derive(purposeInvitations)
	if err != nil {
		return nil, err
	}
	key, err := authmgmt.NewInvitationKey(derived[:])
	if err != nil {
		return nil, err
	}
	grants := new(tokenGrants)
	service, err := authmgmt.New(b, &authmgmt.Options{
		AcceptURL:     s.publicURL + httpadapter.AcceptPath,
		InvitationKey: key,
		Grant:         grants.grant,
		Observer:      s.meters.authmgmt(logRefused(log)),
		Logger:        log,
	})
	if err != nil {
		return nil, fmt.Errorf("make the credentials service: %w", err)
	}
	grants.service = service
	routes, err := httpadapter.NewAuthMgmt(service, httpadapter.Bearer(s.demo.orTokens(service)), &httpadapter.AuthMgmtOptions{
		Options:     httpadapter.Options{Observer: s.meters.request, Logger: log},
		Clients:     true,
		Invitations: true,
		Tokens:      true,
		AcceptPage:  true,
		Login:       true,
	})
	if err != nil {
		return nil, fmt.Errorf("mount the credentials service: %w", err)
	}
	return &authmgmtService{member{"authmgmt", routes, service.Ping, service.Run}, service, b.Store}, nil
}

// tokenLifetime is how long a token works that is issued to a person, unless it is
// revoked before. Those of clients end sooner.
const tokenLifetime = 90 * 24 * time.Hour

// tokenGrants gives whoever accepts an invitation an access token with its roles, which
// works for tokenLifetime. The acceptance page shows it once. So a token is of use only
// while the person waits: nobody could read one that is made later.
//
// Each attempt makes a token of its own, whose ID can be computed, and first ends those
// of the attempts before. They may have been stored, though nobody was told so.
type tokenGrants struct{ service *authmgmt.Service }

func (g *tokenGrants) grant(ctx context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
	if !a.Attended {
		return mortise.Secret{}, authmgmt.ErrUnattended
	}
	i := &a.Invitation
	// What the invitation gives was covered by whoever made it.
	by := authmgmt.Caller{Actor: authmgmt.Actor(i.AcceptedBy), Access: access.Full()}
	for attempt := 1; attempt < a.Attempt; attempt++ {
		err := g.service.RevokeToken(ctx, i.Organization, by, grantedToken(i, attempt))
		if err != nil && !errors.Is(err, authmgmt.ErrNotFound) {
			return mortise.Secret{}, err
		}
	}
	_, text, err := g.service.IssueToken(ctx, i.Organization, by, authmgmt.NewToken{
		ID: grantedToken(i, a.Attempt), Subject: i.Email, Roles: i.Roles, FullAccess: i.FullAccess(), Lifetime: tokenLifetime,
	})
	return text, err
}

// grantNamespace is where the IDs of granted tokens come from (RFC 9562 section 5.5).
var grantNamespace = uuid.MustParse("b3a0b7c1-6f52-4a0c-9c39-4f1f1f6f3d5e")

// grantedToken returns the ID of the token that an attempt makes. No name contains
// U+0000.
func grantedToken(i *authmgmt.Invitation, attempt int) uuid.UUID {
	name := strings.Join([]string{i.Organization, i.ID, fmt.Sprint(i.Generation), fmt.Sprint(attempt)}, "\x00")
	return uuid.NewSHA1(grantNamespace, []byte(name))
}

// logRefused logs what somebody tried in vain and an operator may want to know. What
// fails in the background the service logs itself.
func logRefused(log *slog.Logger) authmgmt.Observer {
	var logins atomic.Int64 // that were refused since the last line said so
	seldom := rate.Sometimes{Interval: time.Second}
	return func(ctx context.Context, o authmgmt.Observation) {
		switch {
		case o.Kind == authmgmt.KindLoginRefused && errors.Is(o.Err, authmgmt.ErrInvalidCredentials):
			// Anybody can cause these, without end.
			logins.Add(1)
			seldom.Do(func() { log.WarnContext(ctx, "login refused", "count", logins.Swap(0)) })
		case errors.Is(o.Err, authmgmt.ErrForbidden):
			log.WarnContext(ctx, "change refused: it gives or takes more than the caller holds", "kind", string(o.Kind),
				"organization", o.Organization, "actor", o.Actor, "target", o.Target)
		}
	}
}

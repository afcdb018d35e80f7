package provision

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// provisioner is who provisions credentials.
var provisioner = authmgmt.Caller{Actor: Actor, Access: access.Full()}

// findToken returns the token as it is stored, or a contradiction if it is something else
// here: it would not do what the document says.
func (s *Services) findToken(ctx context.Context, org string, t *accessTokenDoc) (authmgmt.Token, error) {
	digest := sha256.Sum256([]byte(t.Token))
	stored, err := s.Credentials.TokenByDigest(ctx, digest)
	if errors.Is(err, mortise.ErrNotFound) {
		if _, err := s.Credentials.ClientBySecret(ctx, digest); !errors.Is(err, mortise.ErrNotFound) {
			return stored, cmp.Or(err, error(contradiction("this access token is the secret of a client")))
		}
	}
	switch {
	case err != nil:
	case stored.Organization != org:
		err = contradiction("this access token belongs to another organization")
	case stored.Client != "":
		err = contradiction("this access token was issued to a client")
	}
	return stored, err
}

// checkClient refuses a client whose secret is something else here. It lets pass what may
// have become of a client: that its secret was rotated, or that it was deleted.
func (s *Services) checkClient(ctx context.Context, org string, c *clientDoc) error {
	digest := sha256.Sum256([]byte(c.Secret))
	if _, err := s.Credentials.TokenByDigest(ctx, digest); !errors.Is(err, mortise.ErrNotFound) {
		return cmp.Or(err, error(contradiction("the secret of this client is an access token")))
	}
	stored, err := s.Credentials.ClientBySecret(ctx, digest)
	switch {
	case err != nil:
		return except(err, mortise.ErrNotFound)
	case stored.Organization != org:
		return contradiction("the secret of this client belongs to another organization")
	case stored.ID != c.ID:
		return contradiction("the secret of this client belongs to another client")
	}
	return nil
}

// checkCredentials refuses credentials that are something else here.
func (s *Services) checkCredentials(ctx context.Context, doc *Document, org *organizationDoc) error {
	err := eachOf(doc, "access token", org.AccessTokens, func(t *accessTokenDoc) error {
		_, err := s.findToken(ctx, org.ID, t)
		return except(err, mortise.ErrNotFound)
	})
	if err != nil {
		return err
	}
	return eachOf(doc, "client", org.Clients, func(c *clientDoc) error { return s.checkClient(ctx, org.ID, c) })
}

// applyCredentials provisions access control, access tokens, clients and invitations.
// What exists stays as it is, but for tokens that the document revokes, and what has
// ended is not revived.
func (s *Services) applyCredentials(ctx context.Context, doc *Document, org *organizationDoc) error {
	if err := s.AuthMgmt.SetRBAC(ctx, org.ID, provisioner, org.RBAC); err != nil {
		return fmt.Errorf("provision an organization: %w", err)
	}
	err := eachOf(doc, "access token", org.AccessTokens, func(t *accessTokenDoc) error {
		return s.applyToken(ctx, doc, org.ID, t)
	})
	if err != nil {
		return err
	}
	err = eachOf(doc, "client", org.Clients, func(c *clientDoc) error {
		_, err := s.AuthMgmt.ImportClient(ctx, org.ID, provisioner, authmgmt.NewClient{
			ID: c.ID, Name: c.Name, Roles: c.Roles, FullAccess: len(c.Roles) == 0,
		}, string(c.Secret))
		if !errors.Is(err, mortise.ErrExists) {
			return err
		}
		if err := s.checkClient(ctx, org.ID, c); err != nil {
			return err
		}
		stored, err := s.AuthMgmt.Client(ctx, org.ID, c.ID)
		if err != nil {
			return except(err, mortise.ErrNotFound) // it was deleted
		}
		doc.warnOfOther("a client", c.place, "other roles", !same(stored.Roles, c.Roles))
		return nil
	})
	if err != nil {
		return err
	}
	return eachOf(doc, "invitation", org.Invitations, func(i *invitationDoc) error {
		_, err := s.AuthMgmt.ImportInvitation(ctx, org.ID, provisioner, authmgmt.NewInvitation{
			ID: i.ID, Inviter: i.Inviter.Name, Email: i.Invitee.Email, Name: i.Invitee.Name,
			Roles: i.Invitee.Roles, FullAccess: len(i.Invitee.Roles) == 0, Lifetime: i.Expires,
		})
		if !errors.Is(err, mortise.ErrExists) {
			return err
		}
		stored, err := s.AuthMgmt.Invitation(ctx, org.ID, i.ID)
		if err != nil {
			return except(err, mortise.ErrNotFound) // it cannot be accepted any more
		}
		doc.warnOfOther("an invitation", i.place, "other roles", !same(stored.Roles, i.Invitee.Roles))
		return nil
	})
}

// applyToken imports a token, or warns if it is there and does not mean what the document
// says. One to be revoked is stored all the same: so no document can bring it back. One
// that nobody could import any more, because it is too weak, is ended if it is there.
func (s *Services) applyToken(ctx context.Context, doc *Document, org string, t *accessTokenDoc) error {
	token, err := s.findToken(ctx, org, t)
	if errors.Is(err, mortise.ErrNotFound) {
		token, err = s.AuthMgmt.ImportToken(ctx, org, provisioner, authmgmt.NewToken{
			Subject: t.Subject, Roles: t.Roles, FullAccess: len(t.Roles) == 0, Lifetime: authmgmt.NoExpiry, Revoked: t.Revoked,
		}, string(t.Token))
	}
	if errors.Is(err, mortise.ErrExists) { // another server on the same data applies its document at this moment
		token, err = s.findToken(ctx, org, t)
	}
	if problems := problemsOf(err); t.Revoked && len(problems) > 0 && problems[0].Path[0].Field == "token" {
		return nil
	}
	if err != nil {
		return err
	}
	doc.warnOfOther("an access token", t.place, "another subject", token.Subject != t.Subject,
		"other roles", !same(token.Roles, t.Roles))
	if t.Revoked {
		return s.AuthMgmt.RevokeToken(ctx, org, provisioner, token.ID)
	}
	return nil
}

// same reports whether two lists have the same roles: their order means nothing.
func same(a, b []access.Role) bool {
	within := func(some, all []access.Role) bool {
		return !slices.ContainsFunc(some, func(r access.Role) bool { return !slices.Contains(all, r) })
	}
	return within(a, b) && within(b, a)
}

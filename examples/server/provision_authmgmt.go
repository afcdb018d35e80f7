package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/secret"
)

// provisioner is who provisions credentials.
var provisioner = authmgmt.Caller{Actor: provisioning, Access: access.Full()}

// checkDocument refuses a document whose credentials are something else here: they would
// not do what it says.
func (a *authmgmtService) checkDocument(ctx context.Context, doc *document) error {
	for _, org := range doc.organizations {
		for _, t := range org.accessTokens {
			if _, err := a.checkToken(ctx, doc, org.id, &t); err != nil {
				return err
			}
		}
		for _, c := range org.clients {
			if err := a.checkClient(ctx, doc, org.id, &c); err != nil {
				return err
			}
		}
	}
	return nil
}

// stored returns what is stored under a credential: nothing, as a rule, or one of the
// two.
func (a *authmgmtService) stored(ctx context.Context, credential string) (*authmgmt.Token, *authmgmt.Client, error) {
	digest := secret.Sum(credential)
	token, tokenErr := a.store.TokenByDigest(ctx, digest)
	if tokenErr != nil && !errors.Is(tokenErr, authmgmt.ErrNotFound) {
		return nil, nil, tokenErr
	}
	client, clientErr := a.store.ClientBySecret(ctx, digest)
	if clientErr != nil && !errors.Is(clientErr, authmgmt.ErrNotFound) {
		return nil, nil, clientErr
	}
	var t *authmgmt.Token
	var c *authmgmt.Client
	if tokenErr == nil {
		t = &token
	}
	if clientErr == nil {
		c = &client
	}
	return t, c, nil
}

// checkToken returns the token as it is stored, nil if it is not.
func (a *authmgmtService) checkToken(ctx context.Context, doc *document, org string, t *accessTokenDoc) (*authmgmt.Token, error) {
	stored, client, err := a.stored(ctx, t.token)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look up the access token at %s: %w", t.place, err)
	case client != nil:
		return nil, doc.contradiction(t.place, "this access token is the secret of a client")
	case stored == nil:
		return nil, nil
	case stored.Organization != org:
		return nil, doc.contradiction(t.place, "this access token belongs to another organization")
	case stored.Client != "":
		return nil, doc.contradiction(t.place, "this access token was issued to a client")
	}
	return stored, nil
}

// checkClient lets pass what may have become of a client here: that its secret was
// rotated, or that it was deleted.
func (a *authmgmtService) checkClient(ctx context.Context, doc *document, org string, c *clientDoc) error {
	token, stored, err := a.stored(ctx, c.secret)
	switch {
	case err != nil:
		return fmt.Errorf("look up the client at %s: %w", c.place, err)
	case token != nil:
		return doc.contradiction(c.place, "the secret of this client is an access token")
	case stored == nil:
		return nil
	case stored.Organization != org:
		return doc.contradiction(c.place, "the secret of this client belongs to another organization")
	case stored.ID != c.id:
		return doc.contradiction(c.place, "the secret of this client belongs to another client")
	}
	return nil
}

// applyDocument provisions access control, access tokens, clients and invitations. What
// exists stays as it is, but for tokens that the document revokes, and what has ended is
// not revived.
func (a *authmgmtService) applyDocument(ctx context.Context, doc *document) error {
	for _, org := range doc.organizations {
		err := a.applyOrganization(ctx, doc, &org)
		if errors.Is(err, authmgmt.ErrDeleted) {
			doc.noteDeleted(org.id, "")
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *authmgmtService) applyOrganization(ctx context.Context, doc *document, org *organizationDoc) error {
	if err := a.service.SetRBAC(ctx, org.id, provisioner, org.rbac); err != nil {
		return fmt.Errorf("provision an organization: %w", err)
	}
	for _, t := range org.accessTokens {
		if err := a.applyToken(ctx, doc, org.id, &t); err != nil {
			return err
		}
	}
	for _, c := range org.clients {
		_, err := a.service.ImportClient(ctx, org.id, provisioner, authmgmt.NewClient{
			ID: c.id, Name: c.name, Roles: c.roles, FullAccess: len(c.roles) == 0,
		}, c.secret)
		if errors.Is(err, authmgmt.ErrExists) {
			if err := a.checkClient(ctx, doc, org.id, &c); err != nil {
				return err
			}
		} else if err != nil {
			return fmt.Errorf("provision the client at %s: %w", c.place, err)
		}
	}
	for _, i := range org.invitations {
		_, err := a.service.ImportInvitation(ctx, org.id, provisioner, authmgmt.NewInvitation{
			ID: i.id, Inviter: i.inviter, Email: i.email, Name: i.name,
			Roles: i.roles, FullAccess: len(i.roles) == 0, Lifetime: i.expires,
		})
		if err != nil && !errors.Is(err, authmgmt.ErrExists) {
			return fmt.Errorf("provision the invitation at %s: %w", i.place, err)
		}
	}
	return nil
}

// applyToken imports a token, or warns if it is there and does not mean what the
// document says. One to be revoked is stored all the same: so no document can bring it
// back. One that nobody could import any more is ended if it is there.
func (a *authmgmtService) applyToken(ctx context.Context, doc *document, org string, t *accessTokenDoc) error {
	if t.revoked && secret.ImportProblem(t.token) != "" {
		stored, err := a.checkToken(ctx, doc, org, t)
		if err != nil || stored == nil {
			return err
		}
		return a.service.RevokeToken(ctx, org, provisioner, stored.ID)
	}
	token, err := a.service.ImportToken(ctx, org, provisioner, authmgmt.NewToken{
		Subject: t.subject, Roles: t.roles, FullAccess: len(t.roles) == 0, Lifetime: authmgmt.NoExpiry, Revoked: t.revoked,
	}, t.token)
	if errors.Is(err, authmgmt.ErrExists) { // maybe since a moment ago, by another server's document
		stored, refused := a.checkToken(ctx, doc, org, t)
		if refused != nil {
			return refused
		}
		if stored != nil {
			token, err = *stored, nil
			a.warnOfOther(ctx, stored, t)
		}
	}
	if err == nil && t.revoked {
		err = a.service.RevokeToken(ctx, org, provisioner, token.ID)
	}
	if err != nil {
		return fmt.Errorf("provision the access token at %s: %w", t.place, err)
	}
	return nil
}

// warnOfOther warns if a stored token is another than in the document. The order of roles
// means nothing.
func (a *authmgmtService) warnOfOther(ctx context.Context, stored *authmgmt.Token, t *accessTokenDoc) {
	var other []string
	if stored.Subject != t.subject {
		other = append(other, "another subject")
	}
	if !within(stored.Roles, t.roles) || !within(t.roles, stored.Roles) {
		other = append(other, "other roles")
	}
	if len(other) > 0 {
		a.log.WarnContext(ctx, "provisioning document: an access token is stored with "+strings.Join(other, " and ")+"; what exists is never changed",
			"place", t.place)
	}
}

func within(some, all []access.Role) bool {
	return !slices.ContainsFunc(some, func(r access.Role) bool { return !slices.Contains(all, r) })
}

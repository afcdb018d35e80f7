package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// provisioner is who provisions credentials.
var provisioner = authmgmt.Caller{Actor: provisioning, Access: access.Full()}

// check refuses credentials that are something else here: they would not do what the
// document says.
func (a *authmgmtService) check(ctx context.Context, doc *document, org *organizationDoc) error {
	for _, t := range org.AccessTokens {
		if _, err := a.checkToken(ctx, doc, org.ID, &t); err != nil {
			return err
		}
	}
	for _, c := range org.Clients {
		if err := a.checkClient(ctx, doc, org.ID, &c); err != nil {
			return err
		}
	}
	return nil
}

// stored returns what is stored under a credential: nothing, as a rule, or one of the
// two.
func (a *authmgmtService) stored(ctx context.Context, credential secretText) (*authmgmt.Token, *authmgmt.Client, error) {
	digest := sha256.Sum256([]byte(credential))
	token, err := a.store.TokenByDigest(ctx, digest)
	if !errors.Is(err, authmgmt.ErrNotFound) {
		return &token, nil, err
	}
	client, err := a.store.ClientBySecret(ctx, digest)
	if errors.Is(err, authmgmt.ErrNotFound) {
		return nil, nil, nil
	}
	return nil, &client, err
}

// checkToken returns the token as it is stored, nil if it is not, or as something else.
func (a *authmgmtService) checkToken(ctx context.Context, doc *document, org string, t *accessTokenDoc) (*authmgmt.Token, error) {
	stored, client, err := a.stored(ctx, t.Token)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look up the access token at %s: %w", doc.where(t.At), err)
	case client != nil:
		doc.fail(t.At, "this access token is the secret of a client")
	case stored == nil:
	case stored.Organization != org:
		doc.fail(t.At, "this access token belongs to another organization")
	case stored.Client != "":
		doc.fail(t.At, "this access token was issued to a client")
	default:
		return stored, nil
	}
	return nil, nil
}

// checkClient lets pass what may have become of a client here: that its secret was
// rotated, or that it was deleted.
func (a *authmgmtService) checkClient(ctx context.Context, doc *document, org string, c *clientDoc) error {
	token, stored, err := a.stored(ctx, c.Secret)
	switch {
	case err != nil:
		return fmt.Errorf("look up the client at %s: %w", doc.where(c.At), err)
	case token != nil:
		doc.fail(c.At, "the secret of this client is an access token")
	case stored == nil:
	case stored.Organization != org:
		doc.fail(c.At, "the secret of this client belongs to another organization")
	case stored.ID != c.ID:
		doc.fail(c.At, "the secret of this client belongs to another client")
	}
	return nil
}

// invitationKeys are where the document has what an invitation is made of.
var invitationKeys = map[string]string{
	"inviter": "inviter.name", "email": "invitee.email", "name": "invitee.name", "roles": "invitee.roles", "lifetime": "expires_in",
}

// apply provisions access control, access tokens, clients and invitations. What exists
// stays as it is, but for tokens that the document revokes, and what has ended is not
// revived.
func (a *authmgmtService) apply(ctx context.Context, doc *document, org *organizationDoc) error {
	if err := a.service.SetRBAC(ctx, org.ID, provisioner, org.RBAC); err != nil {
		return fmt.Errorf("provision an organization: %w", err)
	}
	for _, t := range org.AccessTokens {
		if t.At.isBad() {
			continue
		}
		if err := a.applyToken(ctx, doc, org.ID, &t); err != nil {
			return fmt.Errorf("provision the access token at %s: %w", doc.where(t.At), err)
		}
	}
	for _, c := range org.Clients {
		if c.At.isBad() {
			continue
		}
		_, err := a.service.ImportClient(ctx, org.ID, provisioner, authmgmt.NewClient{
			ID: c.ID, Name: c.Name, Roles: c.Roles.roles(), FullAccess: len(c.Roles) == 0,
		}, string(c.Secret))
		if errors.Is(err, authmgmt.ErrExists) {
			err = a.checkClient(ctx, doc, org.ID, &c)
		}
		if err != nil && !doc.refuse(c.At, err, nil) {
			return fmt.Errorf("provision the client at %s: %w", doc.where(c.At), err)
		}
	}
	for _, i := range org.Invitations {
		if i.At.isBad() {
			continue
		}
		_, err := a.service.ImportInvitation(ctx, org.ID, provisioner, authmgmt.NewInvitation{
			ID: i.ID, Inviter: i.Inviter.Name, Email: i.Invitee.Email, Name: i.Invitee.Name,
			Roles: i.Invitee.Roles.roles(), FullAccess: len(i.Invitee.Roles) == 0, Lifetime: time.Duration(i.Expires),
		})
		if err != nil && !errors.Is(err, authmgmt.ErrExists) && !doc.refuse(i.At, err, invitationKeys) {
			return fmt.Errorf("provision the invitation at %s: %w", doc.where(i.At), err)
		}
	}
	return nil
}

// applyToken imports a token, or warns if it is there and does not mean what the
// document says. One to be revoked is stored all the same: so no document can bring it
// back. One that nobody could import any more is ended if it is there.
func (a *authmgmtService) applyToken(ctx context.Context, doc *document, org string, t *accessTokenDoc) error {
	token, err := a.service.ImportToken(ctx, org, provisioner, authmgmt.NewToken{
		Subject: t.Subject, Roles: t.Roles.roles(), FullAccess: len(t.Roles) == 0, Lifetime: authmgmt.NoExpiry, Revoked: t.Revoked,
	}, string(t.Token))
	problems := problemsOf(err)
	old := t.Revoked && len(problems) > 0 && problems[0].Path[0].Field == "token" // an earlier version may have taken it
	if errors.Is(err, authmgmt.ErrExists) || old {
		var stored *authmgmt.Token
		exists := err
		if stored, err = a.checkToken(ctx, doc, org, t); stored == nil {
			if err == nil && !old && !t.At.isBad() { // nor is it something else
				err = exists
			}
			return err
		}
		token = *stored
		if !old {
			a.warnOfOther(ctx, doc, stored, t)
		}
	}
	if doc.refuse(t.At, err, nil) {
		return nil
	}
	if err == nil && t.Revoked {
		err = a.service.RevokeToken(ctx, org, provisioner, token.ID)
	}
	return err
}

// warnOfOther warns if a stored token is another than in the document. The order of roles
// means nothing.
func (a *authmgmtService) warnOfOther(ctx context.Context, doc *document, stored *authmgmt.Token, t *accessTokenDoc) {
	var other []string
	if stored.Subject != t.Subject {
		other = append(other, "another subject")
	}
	roles := t.Roles.roles()
	if !within(stored.Roles, roles) || !within(roles, stored.Roles) {
		other = append(other, "other roles")
	}
	if len(other) > 0 {
		a.log.WarnContext(ctx, "provisioning document: an access token is stored with "+strings.Join(other, " and ")+"; what exists is never changed",
			"place", doc.where(t.At))
	}
}

func within(some, all []access.Role) bool {
	return !slices.ContainsFunc(some, func(r access.Role) bool { return !slices.Contains(all, r) })
}

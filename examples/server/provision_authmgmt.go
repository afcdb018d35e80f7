package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/secret"
)

// provisioner is who provisions, in the audit trail.
var provisioner = authmgmt.Caller{Subject: "provisioning", Access: authmgmt.FullAccess()}

// checkDocument refuses a document whose credentials are somebody else's here: they would not do what it says.
func (a *authmgmtService) checkDocument(ctx context.Context, doc *document) error {
	for _, org := range doc.organizations {
		for _, t := range org.accessTokens {
			if err := a.checkToken(ctx, org.id, &t); err != nil {
				return err
			}
		}
		for _, c := range org.clients {
			if err := a.checkClient(ctx, org.id, &c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *authmgmtService) checkToken(ctx context.Context, org string, t *accessTokenDoc) error {
	stored, err := a.store.TokenByDigest(ctx, secret.Sum(t.token))
	switch {
	case errors.Is(err, authmgmt.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look up an access token: %w", err)
	case stored.Organization != org:
		return usagef("-config: %s: this access token belongs to another organization", t.place)
	case stored.Client != "":
		return usagef("-config: %s: this access token was issued to a client", t.place)
	}
	return nil
}

// checkClient lets pass what may have become of a client here: that its secret was rotated, or that it was deleted.
func (a *authmgmtService) checkClient(ctx context.Context, org string, c *clientDoc) error {
	stored, err := a.store.ClientBySecret(ctx, secret.Sum(c.secret))
	switch {
	case errors.Is(err, authmgmt.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look up a client: %w", err)
	case stored.Organization != org:
		return usagef("-config: %s: the secret of this client belongs to another organization", c.place)
	case stored.ID != c.id:
		return usagef("-config: %s: the secret of this client belongs to another client", c.place)
	}
	return nil
}

// applyDocument provisions access control, access tokens, clients and invitations. What exists stays as it is, and what has ended is
// not revived.
func (a *authmgmtService) applyDocument(ctx context.Context, doc *document) error {
	for _, org := range doc.organizations {
		if err := a.service.SetRBAC(ctx, org.id, provisioner, org.rbac); err != nil {
			return fmt.Errorf("provision an organization: %w", err)
		}
		for _, t := range org.accessTokens {
			_, err := a.service.ImportToken(ctx, org.id, provisioner, authmgmt.NewToken{Subject: t.subject, Roles: t.roles}, t.token)
			if errors.Is(err, authmgmt.ErrExists) { // maybe since a moment ago, by another server's document
				err = a.checkToken(ctx, org.id, &t)
			}
			if err != nil {
				return fmt.Errorf("provision the access token at %s: %w", t.place, err)
			}
		}
		for _, c := range org.clients {
			_, err := a.service.ImportClient(ctx, org.id, provisioner, authmgmt.NewClient{ID: c.id, Name: c.name, Roles: c.roles}, c.secret)
			if errors.Is(err, authmgmt.ErrExists) {
				err = a.checkClient(ctx, org.id, &c)
			}
			if err != nil {
				return fmt.Errorf("provision the client at %s: %w", c.place, err)
			}
		}
		for _, i := range org.invitations {
			_, err := a.service.ImportInvitation(ctx, org.id, provisioner, authmgmt.NewInvitation{
				ID: i.id, Inviter: i.inviter, Email: i.email, Name: i.name, Roles: i.roles, Lifetime: i.expires,
			})
			if err != nil && !errors.Is(err, authmgmt.ErrExists) {
				return fmt.Errorf("provision the invitation at %s: %w", i.place, err)
			}
		}
	}
	return nil
}

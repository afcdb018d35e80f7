package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

const docToken = "at-0123456789abcdef0123456789abcdef"

// authmgmtState is all that a storage has of an organization.
type authmgmtState struct {
	Organization authmgmt.Organization
	Clients      []authmgmt.Client
	Tokens       []authmgmt.Token
	Invitations  []authmgmt.Invitation
	Events       []authmgmt.AuditEvent
}

func stateOf(t *testing.T, b *backends, org string) authmgmtState {
	t.Helper()
	o, orgErr := b.authmgmt.Directory.AccessControl(t.Context(), org)
	clients, clientsErr := b.authmgmt.Store.ListClients(t.Context(), org, "", mortise.MaxPageSize)
	tokens, tokensErr := b.authmgmt.Store.ListTokens(t.Context(), org, "", mortise.MaxPageSize)
	invitations, invitationsErr := b.authmgmt.Store.ListInvitations(t.Context(), org, time.Time{}, "", "", mortise.MaxPageSize)
	events, eventsErr := b.authmgmt.Store.ListAuditEvents(t.Context(), org, authmgmt.AuditQuery{Limit: mortise.MaxPageSize})
	if err := errors.Join(clientsErr, tokensErr, invitationsErr, eventsErr); err != nil || orgErr != nil && !errors.Is(orgErr, mortise.ErrNotFound) {
		t.Fatal(orgErr, err)
	}
	return authmgmtState{o, clients.Items, tokens.Items, invitations.Items, events.Items}
}

func orgDocument(id string, rbac bool, tokenRoles, clientRoles string) string {
	return fmt.Sprintf(`{"organizations":[{"id":%q,"rbac_enabled":%v,
		"access_tokens":[{"token":%q,"subject":"ops","roles":%s}],
		"clients":[{"client_id":"c1","client_secret":%q,"name":"ci","roles":%s}],
		"invitations":[{"invitation_id":"inv1","inviter":{"name":"Grace"},"invitee":{"email":"alan@example.com","name":"Alan","roles":[{"role_id":"editor"}]},"expires_in":"1h"}]}]}`,
		id, rbac, docToken, tokenRoles, docSecret, clientRoles)
}

// TestProvisioningCredentials: what is missing is created, what exists or has ended stays
// as it is, and rbac_enabled follows.
func TestProvisioningCredentials(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		ctx, service := t.Context(), s.authmgmt.service
		const admin, viewer = `[{"role_id":"admin"}]`, `[{"role_id":"viewer","resource":"dataset","resource_instance":"d1"}]`
		if err := apply(t, s, orgDocument("acme", true, admin, viewer)); err != nil {
			t.Fatal(err)
		}
		first := stateOf(t, b, "acme")
		if !first.Organization.RBAC || len(first.Clients) != 1 || len(first.Tokens) != 1 || len(first.Invitations) != 1 || len(first.Events) != 4 {
			t.Fatalf("%+v", first)
		}
		for _, e := range first.Events {
			if e.Actor != "provisioning" {
				t.Errorf("%+v", e)
			}
		}
		if i := first.Invitations[0]; i.ExpiresAt.Sub(i.CreatedAt) != time.Hour || i.Inviter != "Grace" || i.Email != "alan@example.com" || i.Name != "Alan" || !slices.Equal(i.Roles, []access.Role{{ID: "editor"}}) {
			t.Errorf("%+v", i)
		}
		identity, err := service.VerifyToken(ctx, docToken)
		if err != nil || identity.Subject != "ops" || !identity.ExpiresAt.IsZero() || !slices.Equal(identity.Access.Roles(), []access.Role{{ID: "admin"}}) {
			t.Errorf("%+v, %v", identity, err)
		}
		if c := first.Clients[0]; c.Name != "ci" || !slices.Equal(c.Roles, []access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}}) {
			t.Errorf("%+v", c)
		}
		if _, _, err := service.Login(ctx, "c1", docSecret); err != nil {
			t.Error(err)
		}

		// The same again, and with other roles, which are for what is missing only.
		before := stateOf(t, b, "acme")
		for _, text := range []string{orgDocument("acme", true, admin, viewer), orgDocument("acme", true, `[]`, admin), `{}`} {
			if err := apply(t, s, text); err != nil {
				t.Fatal(err)
			}
			if after := stateOf(t, b, "acme"); !reflect.DeepEqual(before, after) {
				t.Errorf("from %+v to %+v", before, after)
			}
		}

		// What was changed since, by a request.
		name, roles := "renamed", []access.Role{{ID: "editor"}}
		_, updateErr := service.UpdateClient(ctx, "acme", provisioner, "c1", authmgmt.ClientUpdate{Name: &name, Roles: &roles})
		_, _, rotateErr := service.RotateSecret(ctx, "acme", provisioner, "c1", -1)
		cancelErr := service.CancelInvitation(ctx, "acme", provisioner, "inv1")
		revokeErr := service.RevokeToken(ctx, "acme", provisioner, first.Tokens[0].ID)
		if err := errors.Join(updateErr, rotateErr, cancelErr, revokeErr); err != nil {
			t.Fatal(err)
		}
		changed := stateOf(t, b, "acme")
		if err := apply(t, s, orgDocument("acme", true, admin, viewer)); err != nil {
			t.Fatal(err)
		}
		if after := stateOf(t, b, "acme"); !reflect.DeepEqual(changed, after) {
			t.Errorf("from %+v to %+v", changed, after)
		}
		if err := service.DeleteClient(ctx, "acme", provisioner, "c1"); err != nil {
			t.Fatal(err)
		}
		if err := apply(t, s, orgDocument("acme", false, admin, viewer)); err != nil {
			t.Fatal(err)
		}
		if after := stateOf(t, b, "acme"); len(after.Clients) != 0 || after.Organization.RBAC || len(after.Events) != len(changed.Events)+2 {
			t.Errorf("%+v", after)
		}
	})
}

// TestProvisioningRefusesForeignCredentials: what would not work as written stops the
// whole document, before anything is changed.
func TestProvisioningRefusesForeignCredentials(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		if err := apply(t, s, orgDocument("acme", true, "[]", "[]")); err != nil {
			t.Fatal(err)
		}
		_, text, err := s.authmgmt.service.Login(t.Context(), "c1", docSecret)
		if err != nil {
			t.Fatal(err)
		}
		before := stateOf(t, b, "acme")
		for name, test := range map[string]struct{ text, want string }{
			"token of another organization": {`{"id":"evil","access_tokens":[{"token":"` + docToken + `","subject":"x"}]}`,
				"line 2, column 33: organizations[1].access_tokens[0]: this access token belongs to another organization"},
			"secret of another organization": {`{"id":"evil","clients":[{"client_id":"c1","client_secret":"` + docSecret + `","name":"x"}]}`,
				"line 2, column 27: organizations[1].clients[0]: the secret of this client belongs to another organization"},
			"secret of another client": {`{"id":"acme","clients":[{"client_id":"c2","client_secret":"` + docSecret + `","name":"x"}]}`,
				"line 2, column 27: organizations[1].clients[0]: the secret of this client belongs to another client"},
			"token of a client": {`{"id":"acme","access_tokens":[{"token":"` + text.Reveal() + `","subject":"x"}]}`,
				"line 2, column 33: organizations[1].access_tokens[0]: this access token was issued to a client"},
			"token that is a secret": {`{"id":"acme","access_tokens":[{"token":"` + docSecret + `","subject":"x"}]}`,
				"line 2, column 33: organizations[1].access_tokens[0]: this access token is the secret of a client"},
			"secret that is a token": {`{"id":"acme","clients":[{"client_id":"c2","client_secret":"` + docToken + `","name":"x"}]}`,
				"line 2, column 27: organizations[1].clients[0]: the secret of this client is an access token"},
			"secret that is a client's token": {`{"id":"acme","clients":[{"client_id":"c1","client_secret":"` + text.Reveal() + `","name":"x"}]}`,
				"line 2, column 27: organizations[1].clients[0]: the secret of this client is an access token"},
		} {
			err := apply(t, s, `{"organizations":[{"id":"first","rbac_enabled":true,"setup_complete":true},`+"\n  "+test.text+`]}`)
			var usage *usageError
			if !errors.As(err, &usage) || err.Error() != "-config: acme.json: "+test.want {
				t.Errorf("%s: got %v", name, err)
			}
			for _, told := range []string{docToken, docSecret, text.Reveal()} {
				if strings.Contains(fmt.Sprint(err), told) {
					t.Errorf("%s: the error repeats a secret: %v", name, err)
				}
			}
		}
		if after := stateOf(t, b, "acme"); !reflect.DeepEqual(before, after) {
			t.Errorf("from %+v to %+v", before, after)
		}
		for _, org := range []string{"first", "evil"} {
			if after := stateOf(t, b, org); !reflect.DeepEqual(after, authmgmtState{}) {
				t.Errorf("half of the document was applied: %+v", after)
			}
		}
	})
}

// late is a store in which another server stores credentials after the document was
// checked.
type late struct {
	credentialStore
	tokens, clients int // how often each was asked for
}

func (l *late) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	if l.tokens++; l.tokens == 1 {
		return authmgmt.Token{}, mortise.ErrNotFound
	}
	return l.credentialStore.TokenByDigest(ctx, digest)
}

func (l *late) ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
	if l.clients++; l.clients == 1 {
		return authmgmt.Client{}, mortise.ErrNotFound
	}
	return l.credentialStore.ClientBySecret(ctx, digest)
}

// TestProvisioningContradictedMeanwhile: a contradiction that was not there when the
// document was checked is no silent one.
func TestProvisioningContradictedMeanwhile(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		if err := apply(t, s, orgDocument("acme", true, "[]", "[]")); err != nil {
			t.Fatal(err)
		}
		stored := b.authmgmt.Store.(credentialStore)
		for _, text := range []string{
			`{"id":"evil","access_tokens":[{"token":"` + docToken + `","subject":"x"}]}`,
			`{"id":"evil","clients":[{"client_id":"c1","client_secret":"` + docSecret + `","name":"x"}]}`,
		} {
			b.authmgmt.Store = &late{credentialStore: stored}
			s, err := wire(testSettings(), b, testKey(), discard())
			if err != nil {
				t.Fatal(err)
			}
			var usage *usageError
			if err := apply(t, s, `{"organizations":[`+text+`]}`); !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "-config: acme.json: line 1, column ") ||
				!strings.Contains(err.Error(), "belongs to another organization") {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}

// broken is a store that fails when it is asked for a token, or for a client.
type broken struct {
	credentialStore
	token, client error
}

func (b *broken) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	if b.token != nil {
		return authmgmt.Token{}, b.token
	}
	return b.credentialStore.TokenByDigest(ctx, digest)
}

func (b *broken) ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
	if b.client != nil {
		return authmgmt.Client{}, b.client
	}
	return b.credentialStore.ClientBySecret(ctx, digest)
}

// TestProvisioningWhenTheStoreFails: a failure is neither a mistake in the document nor a
// reason to take it for right.
func TestProvisioningWhenTheStoreFails(t *testing.T) {
	failure := errors.New("the disk is on fire")
	for name, store := range map[string]*broken{"token": {token: failure}, "client": {client: failure}} {
		for _, text := range []string{tokenDocument(docToken, ""), clientWith(`[]`)} {
			b := storages["memory"](t)
			stored := b.authmgmt.Store.(credentialStore)
			store.credentialStore = stored
			b.authmgmt.Store = store
			s, err := wire(testSettings(), b, testKey(), discard())
			if err != nil {
				t.Fatal(err)
			}
			err = apply(t, s, text)
			var usage *usageError
			if !errors.Is(err, failure) || errors.As(err, &usage) || !strings.Contains(err.Error(), " at line 1, column ") {
				t.Errorf("%s: %v", name, err)
			}
			b.authmgmt.Store = stored
			for _, org := range []string{"acme", "a"} {
				if after := stateOf(t, b, org); !reflect.DeepEqual(after, authmgmtState{}) {
					t.Errorf("%s: half of the document was applied: %+v", name, after)
				}
			}
		}
	}
}

// TestProvisioningCredentialsAtOnce: several servers on the same data start with the same
// document.
func TestProvisioningCredentialsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := apply(t, s, orgDocument("acme", true, "[]", "[]")); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if after := stateOf(t, b, "acme"); len(after.Events) != 4 || len(after.Clients) != 1 || len(after.Tokens) != 1 || len(after.Invitations) != 1 {
			t.Errorf("%+v", after)
		}
	})
}

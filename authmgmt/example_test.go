package authmgmt_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// exampleKey stands for 32 random bytes that the host keeps outside of its database, in a
// file or a variable, say, whose text ParseInvitationKey reads.
func exampleKey(text string) authmgmt.InvitationKey {
	key, err := authmgmt.NewInvitationKey([]byte(text))
	if err != nil {
		panic(err)
	}
	return key
}

// operator is who runs the example.
var operator = authmgmt.Caller{Actor: "operator", Access: access.Full()}

// newExample makes a service for which every organization has role-based access control.
func newExample(opts *authmgmt.Options) (*authmgmt.Service, authmgmt.Store) {
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	backend := db.AuthMgmt()
	backend.Directory = nil
	s, err := authmgmt.New(backend, opts)
	if err != nil {
		panic(err)
	}
	return s, backend.Store
}

// A client is made, exchanges its secret for a token, and the token says what it may do.
func Example() {
	ctx := context.Background()
	s, _ := newExample(nil)
	client, secret, err := s.CreateClient(ctx, "acme", operator, authmgmt.NewClient{
		Name: "nightly import", Roles: []access.Role{{ID: "editor", Resource: "dataset", ResourceInstance: "d1"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, token, err := s.Login(ctx, client.ID, secret.Reveal())
	if err != nil {
		fmt.Println(err)
		return
	}
	who, err := s.VerifyToken(ctx, token.Reveal())
	fmt.Println(who.Organization, err)
	fmt.Println(who.Access.Allows(access.SearchSound, access.Resource{Type: access.Dataset, ID: "d1"}))

	err = s.DeleteClient(ctx, "acme", operator, client.ID)
	_, after := s.VerifyToken(ctx, token.Reveal())
	fmt.Println(err, after)
	// Output:
	// acme <nil>
	// true
	// <nil> authmgmt: invalid credentials
}

// An invitation is a link that works once. What it gives is the host's.
func ExampleService_Accept() {
	ctx := context.Background()
	s, _ := newExample(&authmgmt.Options{
		AcceptURL:     "https://app.example.com/join/",
		InvitationKey: exampleKey("not random, for the example only"),
		Deliver: func(_ context.Context, i authmgmt.Invitation, url mortise.Secret) error {
			fmt.Println("mail to", i.Email, "with a link:", strings.HasPrefix(url.Reveal(), "https://app.example.com/join/"))
			return nil
		},
		Grant: func(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
			// It may run again, which changes nothing.
			return mortise.NewSecret("You are a member of " + a.Invitation.Organization + "."), nil
		},
	})
	i, err := s.Invite(ctx, "acme", operator, authmgmt.NewInvitation{
		Email: "alan@example.com", Name: "Alan", Roles: []access.Role{{ID: "viewer"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	token, err := s.LinkToken(ctx, &i)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, reply, err := s.Accept(ctx, token.Reveal(), "alan")
	fmt.Println(reply.Reveal(), err)
	_, _, err = s.Accept(ctx, token.Reveal(), "eve")
	fmt.Println(err)
	// Output:
	// mail to alan@example.com with a link: true
	// You are a member of acme. <nil>
	// mortise: not found
}

// Nobody can give away more than they hold.
func ExampleService_UpdateClient() {
	ctx := context.Background()
	s, _ := newExample(nil)
	client, _, err := s.CreateClient(ctx, "acme", operator, authmgmt.NewClient{Name: "ci", Roles: []access.Role{{ID: "viewer"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	admin := authmgmt.Caller{Actor: "admin", Access: s.Catalogue().Access(access.Role{ID: "admin"})}
	everything := []access.Role{}
	_, err = s.UpdateClient(ctx, "acme", admin, client.ID, authmgmt.ClientUpdate{Roles: &everything, FullAccess: true})
	fmt.Println(err)
	client, err = s.UpdateClient(ctx, "acme", operator, client.ID, authmgmt.ClientUpdate{Roles: &everything, FullAccess: true})
	fmt.Println(len(client.Roles), err)
	// Output:
	// authmgmt: the change gives or takes more than the caller holds
	// 0 <nil>
}

// An iterator goes through a whole listing, page by page. A host that shows pages of its
// own passes the cursor on.
func ExampleService_Clients() {
	ctx := context.Background()
	s, _ := newExample(nil)
	for _, id := range []string{"ci", "deploy", "nightly"} {
		_, _, err := s.CreateClient(ctx, "acme", operator, authmgmt.NewClient{ID: id, Name: id, FullAccess: true})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	for c, err := range s.Clients(ctx, "acme") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(c.ID)
	}
	first, err := s.ListClients(ctx, "acme", "", 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := s.ListClients(ctx, "acme", first.Next, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(second.Items), "on the last page:", second.Next == "")
	// Output:
	// ci
	// deploy
	// nightly
	// 1 on the last page: true
}

// Every change is in the audit trail: who, what, before and after.
func ExampleService_AuditEvents() {
	ctx := context.Background()
	s, _ := newExample(nil)
	client, _, err := s.CreateClient(ctx, "acme", operator, authmgmt.NewClient{Name: "ci", FullAccess: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	name := "builds"
	if _, err := s.UpdateClient(ctx, "acme", operator, client.ID, authmgmt.ClientUpdate{Name: &name}); err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range s.AuditEvents(ctx, "acme", authmgmt.AuditQuery{Target: client.ID, Kind: mortise.KindClientUpdated}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Actor, e.Kind, e.Before.Name, "->", e.After.Name)
	}
	// Output:
	// operator client_updated ci -> builds
}

// An Observer counts what happens, for metrics or alerts.
func ExampleObserver() {
	refused := 0
	s, _ := newExample(&authmgmt.Options{
		Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
			if o.Kind == mortise.KindLoginRefused {
				refused++
			}
		}},
	})
	for range 3 {
		_, _, _ = s.Login(context.Background(), "somebody", "guess")
	}
	fmt.Println(refused)
	// Output:
	// 3
}

// directoryOfHost answers from what the host knows already: here, its price list.
type directoryOfHost struct{}

func (directoryOfHost) AccessControl(_ context.Context, org string) (authmgmt.Organization, error) {
	return authmgmt.Organization{ID: org, RBAC: strings.HasPrefix(org, "enterprise-")}, nil
}

func ExampleDirectory() {
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	backend := db.AuthMgmt()
	backend.Directory = directoryOfHost{}
	s, err := authmgmt.New(backend, nil)
	if err != nil {
		panic(err)
	}
	for _, org := range []string{"small", "enterprise-acme"} {
		_, _, err := s.CreateClient(context.Background(), org, operator, authmgmt.NewClient{
			Name: "ci", Roles: []access.Role{{ID: "viewer"}},
		})
		fmt.Println(err)
	}
	// Output:
	// authmgmt: the organization has no role-based access control (see Service.SetRBAC)
	// <nil>
}

// A host without a place of its own keeps them in the store.
func ExampleOrganizations() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		panic(err)
	}
	backend := db.AuthMgmt() // its Directory is the store's
	s, err := authmgmt.New(backend, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(s.SetRBAC(ctx, "acme", operator, true))
	o, err := backend.Directory.AccessControl(ctx, "acme")
	fmt.Println(o.RBAC, err)
	// Output:
	// <nil>
	// true <nil>
}

// A store that can forget lets the service do so.
func ExamplePruner() {
	ctx := context.Background()
	var clock mortise.ManualClock
	s, _ := newExample(&authmgmt.Options{Env: mortise.Env{Now: clock.Now}})
	if _, _, err := s.CreateClient(ctx, "acme", operator, authmgmt.NewClient{Name: "ci", FullAccess: true}); err != nil {
		fmt.Println(err)
		return
	}
	clock.Advance(366 * 24 * time.Hour)
	fmt.Println(s.Prune(ctx, authmgmt.Retention{Audit: 365 * 24 * time.Hour}))
	// Output:
	// 1 <nil>
}

// A store that remembers which key it began with keeps a wrong one from making links that
// nobody can open.
func ExampleKeyChecker() {
	ctx := context.Background()
	first, store := newExample(&authmgmt.Options{
		AcceptURL: "https://app.example.com/join/", InvitationKey: exampleKey("not random, for the example only"),
	})
	fmt.Println(first.CheckKey(ctx))
	second, err := authmgmt.New(authmgmt.Backend{Store: store}, &authmgmt.Options{
		AcceptURL: "https://app.example.com/join/", InvitationKey: exampleKey("another, and not random, neither"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(second.CheckKey(ctx))
	// Output:
	// <nil>
	// authmgmt: the store's invitations were made with another key: start with that one, or with both (see Options.OtherInvitationKeys)
}

// The key of the links is changed. Those already sent go on, as long as the old key is
// one of the others.
func Example_changeInvitationKey() {
	ctx := context.Background()
	oldKey, newKey := exampleKey("not random, for the example only"), exampleKey("the next, and not random, either")
	before, store := newExample(&authmgmt.Options{AcceptURL: "https://app.example.com/join/", InvitationKey: oldKey})
	i, err := before.Invite(ctx, "acme", operator, authmgmt.NewInvitation{Email: "alan@example.com", Name: "Alan", FullAccess: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	sent, err := before.LinkToken(ctx, &i)
	if err != nil {
		fmt.Println(err)
		return
	}

	after, err := authmgmt.New(authmgmt.Backend{Store: store}, &authmgmt.Options{
		AcceptURL: "https://app.example.com/join/", InvitationKey: newKey, OtherInvitationKeys: []authmgmt.InvitationKey{oldKey},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	shown, err := after.LinkToken(ctx, &i)
	fmt.Println("another link:", shown.Reveal() != sent.Reveal(), err)
	accepted, _, err := after.Accept(ctx, sent.Reveal(), "alan")
	fmt.Println(accepted.AcceptedBy, err)
	// Output:
	// another link: true <nil>
	// alan <nil>
}

// countingStore stands for a host's own wrapper round a store. A store is one interface
// of six parts.
type countingStore struct {
	authmgmt.Store
	lookups int
}

func (c *countingStore) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	c.lookups++
	return c.Store.TokenByDigest(ctx, digest)
}

func ExampleStore() {
	_, inner := newExample(nil)
	store := &countingStore{Store: inner}
	s, err := authmgmt.New(authmgmt.Backend{Store: store}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = s.VerifyToken(context.Background(), "guess")
	fmt.Println(store.lookups, err)
	// Output:
	// 1 authmgmt: invalid credentials
}

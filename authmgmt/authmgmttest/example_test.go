package authmgmttest_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

func ExampleNew() {
	t := new(testing.T) // a test has its own

	away := true
	f := authmgmttest.New(t, &authmgmttest.Options{Service: authmgmt.Options{
		Grant: func(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
			if away {
				return mortise.Secret{}, errors.New("the directory is away")
			}
			fmt.Println(a.Invitation.Email, "is a member, by attempt", a.Attempt)
			return mortise.Secret{}, nil
		},
	}})
	ctx := context.Background()
	bob := authmgmt.Caller{Actor: "user:bob", Access: access.Full()}
	i, err := f.Invite(ctx, "acme", bob, authmgmt.NewInvitation{Email: "ann@example.com", Name: "Ann", Roles: []access.Role{{ID: "viewer"}}})
	if err != nil {
		panic(err)
	}
	f.Advance(24 * time.Hour)
	url, err := f.URL(ctx, &i)
	if err != nil {
		panic(err)
	}
	_, _, err = f.Accept(ctx, path.Base(url.Reveal()), "user:ann")
	fmt.Println(errors.Is(err, authmgmt.ErrGrantPending))

	fmt.Println(f.Drain(ctx), "granted") // too early
	away = false
	f.Advance(time.Minute)
	fmt.Println(f.Drain(ctx), "granted")
	for _, e := range f.AuditTrail() {
		fmt.Println(e.At.Format(time.DateTime), e.Kind, "by", e.Actor)
	}
	// Output:
	// true
	// 0 granted
	// ann@example.com is a member, by attempt 2
	// 1 granted
	// 2026-01-01 00:00:00 invitation_created by user:bob
	// 2026-01-02 00:00:00 invitation_accepted by user:ann
	// 2026-01-02 00:01:00 invitation_granted by user:ann
}

func ExampleFake_Break() {
	t := new(testing.T) // a test has its own

	f := authmgmttest.New(t, nil)
	ctx := context.Background()
	admin := authmgmt.Caller{Actor: "user:bob", Access: access.Full()}
	_, secret, err := f.CreateClient(ctx, "acme", admin, authmgmt.NewClient{ID: "build", Name: "Nightly build", FullAccess: true})
	if err != nil {
		panic(err)
	}
	_, token, err := f.Login(ctx, "build", secret.Reveal())
	if err != nil {
		panic(err)
	}

	heal := f.Break(authmgmttest.TokensPart)
	_, err = f.VerifyToken(ctx, token.Reveal())
	fmt.Println(errors.Is(err, mortise.ErrUnavailable), errors.Is(err, authmgmt.ErrInvalidCredentials))

	heal()
	who, err := f.VerifyToken(ctx, token.Reveal())
	fmt.Println(who.Subject, err)
	// Output:
	// true false
	// client:build <nil>
}

func ExampleFaults() {
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	// The second CreateClient is done, and its answer is lost.
	faults := &authmgmttest.Faults{After: authmgmttest.On(authmgmttest.Nth(2), "Clients.CreateClient")}
	service, err := authmgmt.New(authmgmt.Backend{Store: faults.Store(db.AuthMgmt().Store)}, nil)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	admin := authmgmt.Caller{Actor: "user:bob", Access: access.Full()}
	for _, id := range []string{"a", "b", "b"} {
		_, _, err := service.CreateClient(ctx, "acme", admin, authmgmt.NewClient{ID: id, Name: "Nightly build", FullAccess: true})
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// mortise: unavailable: store client: authmgmttest: injected failure
	// mortise: already exists: client "b", or its secret
}

func ExampleOutage() {
	hook, heal := authmgmttest.Outage()
	fmt.Println(hook("Clients.Client"))
	heal()
	fmt.Println(hook("Clients.Client"))
	// Output:
	// authmgmttest: injected failure
	// <nil>
}

func ExampleSometimes() {
	hook := authmgmttest.Sometimes(0.5, 42)
	failed := 0
	for range 1000 {
		if hook("Clients.Client") != nil {
			failed++
		}
	}
	fmt.Println(failed > 400 && failed < 600)
	// Output: true
}

package sqlite_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/authmgmtdb"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

func submitting(b *testing.B, path string) writing {
	return writing{call: benchService(b, path)}
}

// benchClients is how many clients the calls are spread over.
const benchClients = 64

// benchRoles are a client's and an invitation's in the benchmarks.
func benchRoles() []access.Role {
	return []access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}}
}

// benchAccess opens a database with clients, and returns their secrets.
func benchAccess(b *testing.B, path string) (service *authmgmt.Service, secrets []string) {
	tables := openAt(b, path, nil).AuthMgmt().Store.(*authmgmtdb.Store)
	service, err := authmgmt.New(authmgmt.Backend{Store: tables, Directory: tables}, &authmgmt.Options{
		AcceptURL: "https://app.example.com/join/", InvitationKey: invitationKey,
	})
	require.NoError(b, err)
	require.NoError(b, service.SetRBAC(b.Context(), "acme", root, true))
	for i := range benchClients {
		_, secret, err := service.CreateClient(b.Context(), "acme", root, authmgmt.NewClient{ID: fmt.Sprint("robot", i), Name: "Robot", Roles: benchRoles()})
		require.NoError(b, err)
		secrets = append(secrets, secret.Reveal())
	}
	return service, secrets
}

// puttingClients changes names, and asks the directory whether the organization may have
// roles.
func puttingClients(b *testing.B, path string) writing {
	service, _ := benchAccess(b, path)
	var calls atomic.Int64
	return writing{call: func(ctx context.Context) error {
		n := calls.Add(1)
		name, roles := fmt.Sprint("Robot ", n), benchRoles()
		_, err := service.UpdateClient(ctx, "acme", root, fmt.Sprint("robot", n%benchClients), authmgmt.ClientUpdate{Name: &name, Roles: &roles})
		return err
	}}
}

func loggingIn(b *testing.B, path string) writing {
	service, secrets := benchAccess(b, path)
	var calls atomic.Int64
	return writing{secrets: secrets, call: func(ctx context.Context) error {
		n := calls.Add(1) % benchClients
		_, _, err := service.Login(ctx, fmt.Sprint("robot", n), secrets[n])
		return err
	}}
}

// link is what an invitation's link says.
type link struct {
	token string
	id    string
}

// accepting follows links of invitations that give nothing else.
func accepting(b *testing.B, path string) writing {
	service, _ := benchAccess(b, path)
	w := writing{links: make(chan link, 1<<16)}
	var invited atomic.Int64
	w.prepare = func(calls int) {
		turn(b, 64, 64*((calls+63)/64), func(ctx context.Context) error {
			i, err := service.Invite(ctx, "acme", root, authmgmt.NewInvitation{Email: fmt.Sprint("person", invited.Add(1), "@example.com"), Name: "Person", Roles: benchRoles()})
			if err != nil {
				return err
			}
			token, err := service.LinkToken(ctx, &i)
			w.links <- link{token.Reveal(), i.ID}
			return err
		})
	}
	w.call = func(ctx context.Context) error {
		_, _, err := service.Accept(ctx, (<-w.links).token, "person")
		return err
	}
	return w
}

func benchKeys(b *testing.B) *localkeys.Keyring {
	root, err := localkeys.NewRoot([]byte("not random, for benchmarks only."))
	require.NoError(b, err)
	keys, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(b, err)
	return keys
}

// inserting inserts values that are new, one a call.
func inserting(b *testing.B, path string) writing {
	service, err := vault.New(openAt(b, path, nil).Vault(), benchKeys(b), nil)
	require.NoError(b, err)
	_, err = service.CreateVault(b.Context(), "acme", "bench", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic},
	}}}})
	require.NoError(b, err)
	var calls atomic.Int64
	insert := func(ctx context.Context) error {
		value := vault.NewValue(fmt.Sprint("person", calls.Add(1), "@example.com"))
		_, err := service.Insert(ctx, "acme", "bench", "v1", []vault.Item{{Place: vault.InColumn("persons", "email"), Value: value}})
		return err
	}
	require.NoError(b, insert(b.Context())) // the scope is there
	return writing{call: insert}
}

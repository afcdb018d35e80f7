package vault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// deleting calls a deletion until it has nothing more to do, and returns how often.
func deleting(t testing.TB, step func() (bool, error)) (calls int) {
	t.Helper()
	for calls = 1; calls < 1000; calls++ {
		more, err := step()
		require.NoError(t, err)
		if !more {
			return calls
		}
	}
	require.FailNow(t, "the deletion does not end")
	return calls
}

// noneOf requires that nothing of a vault is there for a service that has used it.
func noneOf(t testing.TB, s *vault.Service, id, token string) {
	t.Helper()
	ctx := t.Context()
	var exported error
	for _, err := range s.Export(ctx, "acme", "ops", id, everything) {
		exported = err
	}
	for what, err := range map[string]error{
		"Vault":        only(s.Vault(ctx, "acme", id)),
		"Tokenize":     only(s.Tokenize(ctx, "acme", id, of("persons", "name", "Ada"))),
		"Insert":       only(s.Insert(ctx, "acme", "ops", id, of("persons", "name", "Ada", "Eve"))),
		"a bad Insert": only(s.Insert(ctx, "acme", "ops", id, of("persons", "nothing", "Ada"))),
		"Import": s.Import(ctx, "acme", "ops", id, []vault.ImportItem{
			{Item: of("persons", "name", "Ada")[0], Token: token},
		}),
		"Detokenize": only(s.Detokenize(ctx, "acme", "ops", id, asked(token), everything)),
		"Delete":     s.Delete(ctx, "acme", "ops", id, token),
		"Export":     exported,
		"ChangeSchema": only(s.ChangeSchema(ctx, "acme", "ops", id, func(*vault.Schema) error {
			return errors.New("nobody should change it")
		})),
	} {
		require.ErrorIs(t, err, mortise.ErrNotFound, what)
	}
	for _, make := range []func() error{
		func() error { return only(s.CreateVault(ctx, "acme", "ops", id, schema)) },
		func() error { return only(s.EnsureVault(ctx, "acme", "ops", id, schema)) },
	} {
		require.ErrorIs(t, make(), mortise.ErrDeleted)
		require.ErrorContains(t, make(), fmt.Sprintf("use another ID: vault %q", id))
	}
	page, err := s.ListVaults(ctx, "acme", "", 0)
	require.NoError(t, err)
	for _, v := range page.Items {
		require.NotEqual(t, id, v.ID)
	}
}

// A vault that was deleted is gone for every server that shares the store, also for one
// that remembers it, and the trail says who deleted it.
func TestDeleteVault(t *testing.T) {
	var out bytes.Buffer
	r := newRig(t, vault.Options{Env: mortise.Env{Logger: slog.New(slog.NewTextHandler(&out, nil))}})
	ctx := t.Context()
	_, err := r.CreateVault(ctx, "acme", "ops", "v2", schema)
	require.NoError(t, err)
	token := insert(t, r.Service, of("persons", "name", "Ada"))[0]
	beside, err := r.Insert(ctx, "acme", "ops", "v2", of("persons", "name", "Ada"))
	require.NoError(t, err)
	other := r.with(t, 1)
	tokenize(t, other, of("persons", "name", "Ada"))
	for i := range 21 { // 2100 values
		var values []string
		for n := range 100 {
			values = append(values, fmt.Sprint(i, "-", n))
		}
		insert(t, r.Service, of("persons", "diary", values...))
	}
	r.observed = nil

	more, err := r.DeleteVault(ctx, "acme", "boss", "v1")
	require.NoError(t, err)
	require.True(t, more)
	for _, s := range []*vault.Service{other, r.Service} {
		noneOf(t, s, "v1", token)
	}
	r.observed = nil
	require.Equal(t, 2, deleting(t, func() (bool, error) { return other.DeleteVault(ctx, "acme", "somebody else", "v1") }),
		"steps for what is left of 2102 rows")
	require.Equal(t, 1, deleting(t, func() (bool, error) { return r.DeleteVault(ctx, "acme", "somebody else", "v1") }))
	require.Empty(t, r.observed, "steps are not observed")
	noneOf(t, other, "v1", token)
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), `msg="vault: a vault was deleted" organization=acme vault=v1 actor=boss`)

	shown, err := other.Detokenize(ctx, "acme", "ops", "v2", []vault.DetokenizeItem{{Token: beside[0], Redaction: vault.PlainText}}, everything)
	require.NoError(t, err)
	require.Equal(t, "Ada", shown[0].Value.Reveal())
	page, err := other.ListAuditEvents(ctx, "acme", vault.AuditQuery{Vault: "v1"})
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	kinds := map[mortise.Kind]mortise.Actor{}
	for _, e := range page.Items {
		kinds[e.Kind] = e.Actor
	}
	require.Equal(t, map[mortise.Kind]mortise.Actor{mortise.KindVaultDeleted: "boss", mortise.KindVaultCreated: "ops"}, kinds)
}

// Whoever is told of a deletion is told once: when it is marked.
func TestDeletionIsObservedOnce(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	insert(t, r.Service, of("persons", "name", "Ada"))
	r.observed = nil
	deleting(t, func() (bool, error) { return r.DeleteVault(ctx, "acme", "boss", "v1") })
	deleting(t, func() (bool, error) { return r.DeleteVault(ctx, "acme", "boss", "v1") })
	_, unknown := r.DeleteVault(ctx, "acme", "boss", "v2")
	require.EqualError(t, unknown, `mortise: not found: vault "v2"`)
	deleting(t, func() (bool, error) { return r.DeleteOrganization(ctx, "acme", "boss") })
	deleting(t, func() (bool, error) { return r.DeleteOrganization(ctx, "acme", "boss") })
	_, gone := r.DeleteVault(ctx, "acme", "boss", "v1")
	require.EqualError(t, gone, `mortise: not found: vault "v1"`)
	require.Equal(t, []mortise.Observation{
		{Kind: mortise.KindVaultDeleted, Organization: "acme", Object: "v1", Actor: "boss", Items: 1},
		{Kind: mortise.KindVaultDeleted, Organization: "acme", Object: "v2", Actor: "boss", Items: 1, Err: unknown},
		{Kind: mortise.KindOrganizationDeleted, Organization: "acme", Actor: "boss", Items: 1},
		{Kind: mortise.KindVaultDeleted, Organization: "acme", Object: "v1", Actor: "boss", Items: 1, Err: gone},
	}, r.observed)
	page, err := r.ListAuditEvents(ctx, "acme", vault.AuditQuery{})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	e := page.Items[0]
	require.Equal(t, vault.AuditEvent{ID: e.ID, Organization: "acme", At: begin.UTC().Truncate(time.Microsecond),
		Kind: mortise.KindOrganizationDeleted, Actor: "boss"}, e)
}

// An organization that was deleted has nothing, and gets nothing, whoever asks.
func TestDeleteOrganization(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	token := insert(t, r.Service, of("persons", "name", "Ada"))[0]
	other := r.with(t, 1)
	tokenize(t, other, of("persons", "name", "Ada"))
	_, err := other.CreateVault(ctx, "acme too", "ops", "v1", schema)
	require.NoError(t, err)
	_, err = r.DeleteOrganization(ctx, "acme", "boss")
	require.NoError(t, err)
	for range 2 {
		for _, s := range []*vault.Service{other, r.Service} {
			noneOf(t, s, "v1", token)
			_, err = s.CreateVault(ctx, "acme", "ops", "a new one", schema)
			require.ErrorIs(t, err, mortise.ErrDeleted)
			page, err := s.ListVaults(ctx, "acme", "", 0)
			require.NoError(t, err)
			require.Empty(t, page.Items)
			page, err = s.ListVaults(ctx, "acme too", "", 0)
			require.NoError(t, err)
			require.Len(t, page.Items, 1)
		}
		deleting(t, func() (bool, error) { return other.DeleteOrganization(ctx, "acme", "boss") })
	}
	for _, org := range []string{"", "a\x00b", "\xff", strings.Repeat("o", 300)} {
		_, err = r.DeleteOrganization(ctx, org, "boss")
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid)
		_, err = r.DeleteVault(ctx, org, "boss", "v1")
		require.ErrorIs(t, err, mortise.ErrNotFound)
		_, err = r.DeleteVault(ctx, "acme too", "boss", org)
		require.ErrorIs(t, err, mortise.ErrNotFound)
	}
}

// An export that is in the middle of a vault ends when it is deleted.
func TestDeleteVaultBesideExport(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	var values []string
	for i := range 600 { // more than a page
		values = append(values, fmt.Sprint(i))
	}
	insert(t, r.Service, of("persons", "diary", values...))
	n := 0
	var ended error
	for _, err := range r.Export(ctx, "acme", "ops", "v1", everything) {
		if err != nil {
			ended = err
			break
		}
		if n++; n == 10 {
			_, err := r.with(t, 1).DeleteVault(ctx, "acme", "boss", "v1")
			require.NoError(t, err)
		}
	}
	require.ErrorIs(t, ended, mortise.ErrNotFound)
	require.Equal(t, 500, n, "values of the page that was there")
}

// Calls that are under way when the vault is deleted show nothing and store nothing.
func TestDeletionBesideCalls(t *testing.T) {
	for name, call := range map[string]struct {
		at string
		do func(s *vault.Service, token string) error
	}{
		"a look-up": {"Keyring.Fingerprint", func(s *vault.Service, _ string) error {
			return only(s.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "Ada")))
		}},
		"an insertion": {"Keyring.Seal", func(s *vault.Service, _ string) error {
			return only(s.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "Eve")))
		}},
		"an import": {"Keyring.Seal", func(s *vault.Service, token string) error {
			return s.Import(t.Context(), "acme", "ops", "v1", []vault.ImportItem{
				{Item: of("persons", "name", "Eve")[0], Token: "0190a3c8-3333-7000-8000-000000000000"},
			})
		}},
		"a detokenization": {"Keyring.Open", func(s *vault.Service, token string) error {
			values, err := s.Detokenize(t.Context(), "acme", "ops", "v1", asked(token), everything)
			require.Empty(t, values)
			return err
		}},
		"an export": {"Keyring.Open", func(s *vault.Service, token string) error {
			for e, err := range s.Export(t.Context(), "acme", "ops", "v1", everything) {
				require.Empty(t, e)
				return err
			}
			return nil
		}},
		"a change": {"Vaults.PutVault", func(s *vault.Service, _ string) error {
			return only(s.ChangeSchema(t.Context(), "acme", "ops", "v1", func(*vault.Schema) error { return nil }))
		}},
	} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " beside the organization's: ", whole), func(t *testing.T) {
				r := newRig(t, vault.Options{})
				token := insert(t, r.Service, of("persons", "name", "Ada"))[0]
				armed, marked := false, 0
				faults := &vaulttest.Faults{Before: func(op string) error {
					if op != call.at || !armed {
						return nil
					}
					armed = false
					marked++
					if whole {
						return only(r.DeleteOrganization(context.Background(), "acme", "boss"))
					}
					return only(r.DeleteVault(context.Background(), "acme", "boss", "v1"))
				}}
				s, err := vault.New(vault.Backend{Store: faults.Store(r.store)}, faults.Keyring(newKeyring(t, 1)), nil)
				require.NoError(t, err)
				tokenize(t, s, of("persons", "name", "Ada"))
				armed = true
				require.ErrorIs(t, call.do(s, token), mortise.ErrNotFound)
				require.Equal(t, 1, marked)
				page, err := r.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{})
				require.NoError(t, err)
				require.NotContains(t, []mortise.Kind{mortise.KindDetokenized, mortise.KindExported, mortise.KindImported, mortise.KindSchemaChanged},
					page.Items[0].Kind)
			})
		}
	}
}

// A deletion that is cut off says so, and goes on when it is called again.
func TestDeletionIsCutOff(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	insert(t, r.Service, of("persons", "name", "Ada"))
	down, up := vaulttest.Outage()
	var observed []mortise.Observation
	on := ""
	faults := &vaulttest.Faults{Before: func(op string) error {
		if op == on {
			return down(op)
		}
		return nil
	}}
	s, err := vault.New(vault.Backend{Store: faults.Store(r.store)}, newKeyring(t, 1), &vault.Options{
		Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) { observed = append(observed, o) }},
	})
	require.NoError(t, err)

	on = "Deletion.MarkDeleted"
	_, err = s.DeleteOrganization(ctx, "acme", "boss")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Len(t, observed, 1)
	require.ErrorIs(t, observed[0].Err, mortise.ErrUnavailable)
	_, err = s.Vault(ctx, "acme", "v1")
	require.NoError(t, err)

	on, observed = "Deletion.RemoveDeleted", nil
	_, err = s.DeleteOrganization(ctx, "acme", "boss")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Len(t, observed, 1)
	require.ErrorIs(t, observed[0].Err, mortise.ErrUnavailable)
	up()

	// It is marked, and the first step fails: the one before has found no mark.
	on, observed = "Deletion.RemoveDeleted", nil
	down = vaulttest.Nth(2)
	_, err = s.DeleteOrganization(ctx, "acme", "boss")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Len(t, observed, 1)
	require.Equal(t, mortise.KindOrganizationDeleted, observed[0].Kind)
	require.NoError(t, observed[0].Err)
	_, err = s.Vault(ctx, "acme", "v1")
	require.ErrorIs(t, err, mortise.ErrNotFound)
	require.Equal(t, 1, deleting(t, func() (bool, error) { return s.DeleteOrganization(ctx, "acme", "boss") }))
	require.Len(t, observed, 1)
}

package vault_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// An error says what there is not, by the names that the caller gave.
func TestErrorsNameWhat(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	asks := func(items ...vault.Item) error {
		_, err := r.Tokenize(ctx, "acme", "v1", items)
		return err
	}
	inserts := func(items ...vault.Item) error {
		_, err := r.Insert(ctx, "acme", "ops", "v1", items)
		return err
	}
	at := func(table, column string) vault.Item { return of(table, column, "a secret value")[0] }
	inNone := []vault.Item{at("persons", "name")}
	for text, err := range map[string]error{
		`item 0: vault: no such table "persns"`:                                           asks(at("persns", "email")),
		`item 0: vault: no such column "emial" in table "persons"`:                        asks(at("persons", "emial")),
		`item 1: vault: no such column "emial" in table "persons"`:                        inserts(at("persons", "name"), at("persons", "emial")),
		`item 0: vault: no such column group "mails"`:                                     asks(inGroup("mails", "a secret value")...),
		`item 0: vault: the column is not deterministic: "diary" in table "persons"`:      asks(at("persons", "diary")),
		`item 0: vault: the column has no tokenization: "note" in table "persons"`:        inserts(at("persons", "note")),
		`item 0: vault: no such table "a\n\"b\""; item 1: vault: no such table "\x1b[2J"`: asks(at("a\n\"b\"", "x"), at("\x1b[2J", "x")),
		`item 0: vault: no such column "` + strings.Repeat("c", 100) + `"... in table "persons"`: asks(
			at("persons", strings.Repeat("c", 5000))),

		`mortise: not found: vault "people"`:     only(r.Vault(ctx, "acme", "people")),
		`mortise: not found: vault ""`:           only(r.Vault(ctx, "acme", "")),
		`mortise: not found: vault "v\x00"`:      only(r.Tokenize(ctx, "acme", "v\x00", inNone)),
		`mortise: not found: vault "tokenize"`:   only(r.Tokenize(ctx, "acme", "tokenize", inNone)),
		`mortise: not found: vault "insert"`:     only(r.Insert(ctx, "acme", "ops", "insert", inNone)),
		`mortise: not found: vault "detokenize"`: only(r.Detokenize(ctx, "acme", "ops", "detokenize", []vault.DetokenizeItem{{Token: "a secret value"}}, nil)),
		`mortise: not found: vault "delete"`:     r.Delete(ctx, "acme", "ops", "delete", "a secret value"),
		`mortise: not found: vault "del\nete"`:   r.Delete(ctx, "acme", "ops", "del\nete", "a secret value"),
		`mortise: not found: vault "\xff"`:       r.Delete(ctx, "acme", "ops", "\xff", "a secret value"),
		`mortise: not found: vault "change"`:     only(r.ChangeSchema(ctx, "acme", "ops", "change", func(*vault.Schema) error { return nil })),
		`mortise: already exists: vault "v1"`:    only(r.CreateVault(ctx, "acme", "ops", "v1", schema)),
		`mortise: already exists: vault "v1" has another schema: change it by ChangeSchema`: only(
			r.EnsureVault(ctx, "acme", "ops", "v1", vault.Schema{})),
	} {
		require.EqualError(t, err, text)
		require.NotContains(t, err.Error(), "secret")
		sentinel := map[string]error{
			"no such table": vault.ErrTableNotFound, "no such column \"": vault.ErrColumnNotFound, "no such column group": vault.ErrGroupNotFound,
			"not deterministic": vault.ErrNotDeterministic, "no tokenization": vault.ErrNotTokenized,
			"not found: vault": mortise.ErrNotFound, "already exists: vault": mortise.ErrExists,
		}
		known := 0
		for word, s := range sentinel {
			switch {
			case strings.Contains(text, word):
				known++
				require.ErrorIs(t, err, s)
			// Something that the vault does not have.
			case s == mortise.ErrNotFound && strings.Contains(text, "no such"):
				require.ErrorIs(t, err, s)
			default:
				require.NotErrorIs(t, err, s)
			}
		}
		require.Equal(t, 1, known, text)
	}
	for _, err := range r.Export(ctx, "acme", "ops", "export", nil) {
		require.EqualError(t, err, `mortise: not found: vault "export"`)
	}
	// Observers hear nothing of what somebody wrote in the place of a name.
	r.observed = nil
	for _, item := range []vault.Item{at("a secret value", "email"), at("persons", "a secret value"), inGroup("a secret value", "x")[0]} {
		require.ErrorContains(t, asks(item), `"a secret value"`)
	}
	require.Error(t, asks(at("persons", "diary")))
	require.Len(t, r.observed, 4)
	for i, want := range []error{vault.ErrTableNotFound, vault.ErrColumnNotFound, vault.ErrGroupNotFound, vault.ErrNotDeterministic} {
		require.ErrorIs(t, r.observed[i].Err, want)
		require.NotContains(t, r.observed[i].Err.Error(), "secret")
	}
	require.Contains(t, r.observed[3].Err.Error(), `"diary" in table "persons"`)

	// Neither a token nor a value is named.
	require.EqualError(t, r.Delete(ctx, "acme", "ops", "v1", "a secret value"), "vault: no such token")
	require.EqualError(t, asks(at("persons", "name")), "item 0: vault: the value has no token")
	require.EqualError(t, only(r.Detokenize(ctx, "acme", "ops", "v1", []vault.DetokenizeItem{{Token: "a secret value"}}, nil)),
		"item 0: vault: no such token")
}

// only returns the error of two results.
func only(_ any, err error) error { return err }

// gone is a store whose vault goes while it is used.
type gone struct{ vault.Store }

func (gone) FindTokens(context.Context, string, string, int64, []vault.Lookup) ([][]string, error) {
	return nil, mortise.ErrNotFound
}

func (gone) InsertTokens(context.Context, string, string, int64, []vault.Row) ([]string, error) {
	return nil, mortise.ErrNotFound
}

func (gone) Rows(context.Context, string, string, []string) ([]vault.Row, error) {
	return nil, mortise.ErrNotFound
}

func (gone) ListRows(context.Context, string, string, mortise.Cursor, int) (mortise.Page[vault.Row], error) {
	return mortise.Page[vault.Row]{}, mortise.ErrNotFound
}

func TestErrorsNameAVaultThatWent(t *testing.T) {
	r := newRig(t, vault.Options{})
	s, err := vault.New(vault.Backend{Store: gone{r.store}}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	const text = `mortise: not found: vault "v1"`
	require.EqualError(t, only(s.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "Ada"))), text)
	require.EqualError(t, only(s.Insert(t.Context(), "acme", "ops", "v1", of("persons", "diary", "Ada"))), text)
	require.EqualError(t, only(s.Detokenize(t.Context(), "acme", "ops", "v1", []vault.DetokenizeItem{{Token: "x"}}, nil)), text)
	require.EqualError(t, s.Delete(t.Context(), "acme", "ops", "v1", "x"), text)
	require.EqualError(t, s.Import(t.Context(), "acme", "ops", "v1", []vault.ImportItem{
		{Item: of("persons", "name", "Ada")[0], Token: "2a7c9d1e-5f0b-4c3d-8e6f-1a2b3c4d5e6f"},
	}), text)
	for _, err := range s.Export(t.Context(), "acme", "ops", "v1", nil) {
		require.EqualError(t, err, text)
	}
}

// TestNotFoundWithin: what a vault does not have is ErrNotFound as well; that there is no
// vault is none of the more specific errors.
func TestNotFoundWithin(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	specific := []error{vault.ErrTableNotFound, vault.ErrColumnNotFound, vault.ErrGroupNotFound, vault.ErrValueNotFound, vault.ErrTokenNotFound}
	tokenize := func(id string, place vault.Place) error {
		_, err := r.Tokenize(ctx, "acme", id, []vault.Item{{Place: place, Value: vault.NewValue("x")}})
		return err
	}
	name := vault.InColumn("persons", "name")
	for i, err := range []error{
		tokenize("v1", vault.InColumn("none", "name")), tokenize("v1", vault.InColumn("persons", "none")), tokenize("v1", vault.InGroup("none")),
		tokenize("v1", name), r.Delete(ctx, "acme", "ops", "v1", "none"), tokenize("none", name), r.Delete(ctx, "acme", "ops", "none", "none"),
	} {
		require.ErrorIs(t, err, mortise.ErrNotFound)
		require.Equal(t, i >= len(specific), strings.Contains(err.Error(), "not found: vault"), err)
		for j, one := range specific {
			require.Equal(t, i == j, errors.Is(err, one), "%v is %v", err, one)
		}
	}
}

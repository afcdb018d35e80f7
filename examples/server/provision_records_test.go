package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// TestProvisioningManyRecords: more than a call takes are inserted in several, and no
// record is cut.
func TestProvisioningManyRecords(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		const count = 1205
		var records []string
		for i := range count {
			fields := fmt.Sprintf(`"email":"%d"`, i)
			if i%3 == 0 {
				fields += fmt.Sprintf(`,"card":"%d","phone":"%d"`, 1_000_000+i, i)
			}
			records = append(records, record(fields))
		}
		text := vaultWith(allColumns, strings.Join(records, ","))
		if err := apply(t, s, text); err != nil {
			t.Fatal(err)
		}
		first := vaultStateOf(t, s, b, "v1")
		if len(first.Tokens) != count+2*(count+2)/3 {
			t.Errorf("%d tokens", len(first.Tokens))
		}
		if err := apply(t, s, text); err != nil {
			t.Fatal(err)
		}
		if after := vaultStateOf(t, s, b, "v1"); !reflect.DeepEqual(first, after) {
			t.Error("the second start changed something")
		}
	})
}

// brokenVault is a store that fails when it is asked for a vault, or for tokens.
type brokenVault struct {
	vault.Store
	vault, tokens error
}

func (b *brokenVault) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	if b.vault != nil {
		return vault.Vault{}, b.vault
	}
	return b.Store.Vault(ctx, org, id)
}

func (b *brokenVault) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	if b.tokens != nil {
		return nil, b.tokens
	}
	return b.Store.FindTokens(ctx, org, id, revision, lookups)
}

// TestProvisioningWhenTheVaultFails: a failure is no mistake in the document.
func TestProvisioningWhenTheVaultFails(t *testing.T) {
	failure := errors.New("the disk is on fire")
	for name, broken := range map[string]*brokenVault{"vault": {vault: failure}, "tokens": {tokens: failure}} {
		for _, fields := range []string{`"email":"a"`, `"email":"a","phone":"1"`} {
			b := storages["memory"](t)
			broken.Store = b.vault.Store
			b.vault.Store = broken
			s, err := wire(testSettings(), b, testKey(), discard())
			if err != nil {
				t.Fatal(err)
			}
			err = apply(t, s, vaultWith(allColumns, record(fields)))
			var usage *usageError
			if !errors.Is(err, failure) || errors.As(err, &usage) || !strings.Contains(err.Error(), " at line 1, column ") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// full is a vault in which every token is taken.
type full struct{ vault.Store }

func (full) InsertTokens(_ context.Context, _, _ string, _ int64, rows []vault.Row) ([]string, error) {
	var taken vault.TakenError
	for i := range rows {
		taken.Rows = append(taken.Rows, i)
	}
	return nil, &taken
}

// TestProvisioningIntoAFullVault: a value that cannot have a token is told with its
// place.
func TestProvisioningIntoAFullVault(t *testing.T) {
	b := storages["memory"](t)
	b.vault.Store = full{b.vault.Store}
	s, err := wire(testSettings(), b, testKey(), discard())
	if err != nil {
		t.Fatal(err)
	}
	document := vaultWith(allColumns, record(`"card":"123456"`))
	err = apply(t, s, strings.TrimSuffix(document, "}]}")+`,"api_keys":[{"key":"`+docKey+`"}]}]}`)
	var usage *usageError
	const want = "-config: acme.json: line 3, column 48: organizations[0].vaults[0].records[0].fields.card: the format has no room for another token"
	if !errors.As(err, &usage) || err.Error() != want {
		t.Errorf("got %v", err)
	}
	// What shows this late comes before the credentials.
	if _, err := s.trigger.service.VerifyKey(t.Context(), docKey); !errors.Is(err, trigger.ErrInvalidKey) {
		t.Errorf("the API key works: %v", err)
	}
}

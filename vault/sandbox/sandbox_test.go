package sandbox

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const maxValue = 64 << 10

// rig is a sandbox with the same vault for two organizations.
type rig struct {
	t       *testing.T
	service *vault.Service
	store   *store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	store, err := newStore(defaultBytes)
	if err != nil {
		t.Fatal(err)
	}
	service, err := newService(store, &vault.Options{MaxValue: maxValue})
	if err != nil {
		t.Fatal(err)
	}
	schema := vault.Schema{Tables: []vault.Table{{Name: "t", Columns: []vault.Column{{Name: "c", Tokenization: vault.Deterministic}}}}}
	for _, org := range []string{"acme", "rival"} {
		if _, err := service.CreateVault(t.Context(), org, "ops", "v1", schema); err != nil {
			t.Fatal(err)
		}
	}
	return &rig{t, service, store}
}

// TestOptions: the settings are those of the service, and a bound of its own.
func TestOptions(t *testing.T) {
	if _, err := New(&Options{MaxBytes: -1}); err == nil {
		t.Error("a bound below 0")
	}
	if _, err := New(&Options{Options: vault.Options{MaxItems: -1}}); err == nil {
		t.Error("a setting of the service below 0")
	}
	service, err := New(&Options{MaxBytes: rowBytes + 100})
	if err != nil {
		t.Fatal(err)
	}
	schema := vault.Schema{Tables: []vault.Table{{Name: "t", Columns: []vault.Column{{Name: "c", Tokenization: vault.Deterministic}}}}}
	if _, err := service.EnsureVault(t.Context(), "acme", "ops", "v1", schema); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, vault.ErrFull} {
		item := vault.Item{Place: vault.InColumn("t", "c"), Value: vault.NewValue(fmt.Sprint(i))}
		if _, err := service.Insert(t.Context(), "acme", "ops", "v1", []vault.Item{item}); !errors.Is(err, want) {
			t.Errorf("value %d: %v", i, err)
		}
	}
}

// long is a value that few of fill the sandbox.
func long(i int) []vault.Item {
	return []vault.Item{{Place: vault.InColumn("t", "c"), Value: vault.NewValue(fmt.Sprintf("%0*d", maxValue, i))}}
}

func (r *rig) insert(org string, items []vault.Item) ([]string, error) {
	return r.service.Insert(r.t.Context(), org, "ops", "v1", items)
}

// fill inserts values until there is no room, and returns their tokens.
func (r *rig) fill(org string, from int) (tokens []string) {
	r.t.Helper()
	const most = defaultBytes / maxValue
	for i := range most + 1 {
		token, err := r.insert(org, long(from+i))
		if err == nil {
			tokens = append(tokens, token...)
			continue
		}
		if !errors.Is(err, vault.ErrFull) || errors.Is(err, mortise.ErrUnavailable) {
			r.t.Fatalf("after %d values: %v", i, err)
		}
		return tokens
	}
	r.t.Fatal("it is never full")
	return nil
}

// TestIsBounded: the sandbox takes values of an organization until they are too
// many, and then goes on to answer for those that it has. What is shown of them leaves no
// trail in memory.
func TestIsBounded(t *testing.T) {
	r := newRig(t)
	tokens := r.fill("acme", 0)
	const most = defaultBytes / maxValue
	if len(tokens) < most*9/10 {
		t.Errorf("full after %d values", len(tokens))
	}
	again, err := r.insert("acme", long(0)) // is there
	if err != nil || again[0] != tokens[0] {
		t.Errorf("%v, %v", again, err)
	}
	found, err := r.service.Tokenize(t.Context(), "acme", "v1", long(0))
	if err != nil || found[0] != tokens[0] {
		t.Fatal(found, err)
	}
	if _, err := r.service.Detokenize(t.Context(), "acme", "ops", "v1", []vault.DetokenizeItem{{Token: tokens[0]}}, nil); err != nil {
		t.Error(err)
	}
	page, err := r.service.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Kind: mortise.KindDetokenized})
	if err != nil || len(page.Items) != 0 {
		t.Errorf("%v, %v", page.Items, err)
	}

	// The others have as much room as if nobody were there.
	if theirs := r.fill("rival", 0); len(theirs) != len(tokens) {
		t.Errorf("%d values of another organization, %d of the first", len(theirs), len(tokens))
	}
}

// TestGivesBack: what is deleted makes room, once, and so does what was not stored
// in the end. But a token is never given again, so something stays of it.
func TestGivesBack(t *testing.T) {
	r := newRig(t)
	tokens := r.fill("acme", 0)
	for range 2 {
		err := r.service.Delete(t.Context(), "acme", "ops", "v1", tokens[0])
		if err == nil {
			continue
		}
		if !errors.Is(err, vault.ErrTokenNotFound) {
			t.Fatal(err)
		}
	}
	if more := r.fill("acme", 1000); len(more) != 1 {
		t.Errorf("room for %d after one was deleted", len(more))
	}
	if err := r.service.Delete(t.Context(), "rival", "ops", "v1", tokens[1]); !errors.Is(err, vault.ErrTokenNotFound) {
		t.Errorf("got %v", err)
	}
	if err := r.service.Delete(t.Context(), "acme", "ops", "none", tokens[1]); !errors.Is(err, vault.ErrTokenNotFound) && !errors.Is(err, mortise.ErrNotFound) {
		t.Errorf("got %v", err)
	}

	// Rows that are stored, those that the store had, and those that it did not take.
	store := r.store
	v, err := store.Vault(t.Context(), "rival", "v1")
	if err != nil {
		t.Fatal(err)
	}
	row := func(token string, fingerprint byte) vault.Row {
		return vault.Row{Organization: "rival", Vault: "v1", Token: token, Scope: "t.c", Deterministic: true, Sealed: keyring.Sealed{Version: 1, Ciphertext: make([]byte, 100)},
			Fingerprints: []vault.VersionedFingerprint{{Version: 1, Fingerprint: keyring.Fingerprint{fingerprint}}}}
	}
	for _, step := range []struct {
		rows []vault.Row
		kept int
	}{
		{[]vault.Row{row("a", 1), row("b", 1), row("c", 2)}, 2}, // the second is the value of the first
		{[]vault.Row{row("d", 1)}, 2},
		{[]vault.Row{row("e", 5), row("a", 6)}, 2}, // a token that is taken
		{[]vault.Row{row("e", 5)}, 3},
	} {
		_, err := store.InsertTokens(t.Context(), "rival", "v1", v.Revision, step.rows)
		var taken *vault.TakenError
		if err != nil && !errors.As(err, &taken) {
			t.Fatal(err)
		}
		if got := store.kept["rival"]; got != step.kept*(100+rowBytes) {
			t.Errorf("%d bytes, want those of %d rows", got, step.kept)
		}
	}
	if err := store.ImportTokens(t.Context(), "rival", "v1", v.Revision, []vault.Row{row("f", 7)}, vault.AuditEvent{}); !errors.Is(err, vault.ErrFull) {
		t.Errorf("an import that nobody counts: %v", err)
	}
	for _, token := range []string{"a", "c", "e"} {
		if err := r.service.Delete(t.Context(), "rival", "ops", "v1", token); err != nil {
			t.Fatal(err)
		}
	}
	if got := store.kept["rival"]; got != 3*goneBytes {
		t.Errorf("%d bytes after all was deleted", got)
	}
}

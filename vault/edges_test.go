package vault_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// pausing is a store that lets something happen before the nth call of FindTokens.
type pausing struct {
	vault.Store
	calls, at int
	do        func()
}

func (p *pausing) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	if p.calls++; p.calls == p.at {
		p.do()
	}
	return p.Store.FindTokens(ctx, org, id, revision, lookups)
}

// A value is found though a whole rotation goes by between two looks.
func TestTokenizeDuringAWholeRotation(t *testing.T) {
	r := newRig(t, vault.Options{})
	ada := of("persons", "name", "Ada")
	want := insert(t, r.Service, ada)
	store := &pausing{Store: r.store, at: 2, do: func() {
		other := r.with(t, 2, 1)
		require.NoError(t, other.Backfill(t.Context(), 2, nil))
		require.NoError(t, other.Rewrap(t.Context(), nil))
		require.NoError(t, other.Retire(t.Context(), keyring.FingerprintKey, 1, nil))
	}}
	// Promoted before it was backfilled.
	s, err := vault.New(vault.Backend{Store: store}, newKeyring(t, 2, 1), nil)
	require.NoError(t, err)
	require.Equal(t, want, tokenize(t, s, ada))
	require.Equal(t, 2, store.calls)
}

// All versions that are loaded are asked.
func TestThreeVersions(t *testing.T) {
	r := newRig(t, vault.Options{})
	a := insert(t, r.Service, of("persons", "name", "a"))
	s := r.with(t, 3, 2, 1)
	require.Equal(t, a, tokenize(t, s, of("persons", "name", "a")))
	b := insert(t, s, of("persons", "name", "b", "a"))
	require.Equal(t, a[0], b[1])
	require.Equal(t, []string{b[1], b[0], b[1]}, tokenize(t, s, of("persons", "name", "a", "b", "a")))
}

// nthFails is a keyring that fails at the nth call of Fingerprint.
type nthFails struct {
	keyring.Keyring
	calls, at int
}

func (k *nthFails) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	if k.calls++; k.calls == k.at {
		return errDown
	}
	return k.Keyring.Fingerprint(ctx, version, items, dst)
}

// Without its fingerprints nothing is stored: values would meet under those that are
// missing.
func TestInsertNeedsAllFingerprints(t *testing.T) {
	r := newRig(t, vault.Options{})
	for at := 1; ; at++ {
		keys := &nthFails{Keyring: newKeyring(t, 1, 2)}
		s, err := vault.New(vault.Backend{Store: r.store}, keys, nil)
		require.NoError(t, err)
		_, err = s.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "nobody"))
		require.ErrorIs(t, err, vault.ErrValueNotFound)
		keys.calls, keys.at = 0, at
		_, err = s.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "a", "b"))
		if keys.calls < at {
			require.NoError(t, err)
			require.Equal(t, 3, at, "one call a version, for the lookups and the rows")
			return
		}
		require.ErrorIs(t, err, mortise.ErrUnavailable, "call %d", at)
		usage, err := s.KeyUsage(t.Context())
		require.NoError(t, err)
		require.Zero(t, usage.Rows, "call %d", at)
	}
}

// counting is a Tokenizer that notes the attempts, and fails for one value though it
// returns a token.
type counting struct {
	format.Standard
	attempts []int
}

func (*counting) CheckFormat(string) error { return nil }

func (c *counting) Tokens(_ context.Context, requests []format.Request) ([]format.Result, error) {
	results := make([]format.Result, len(requests))
	for i, r := range requests {
		if r.Value.Reveal() == "boom" {
			results[i] = format.Result{Token: "token of an error", Err: errDown}
			continue
		}
		c.attempts = append(c.attempts, r.Attempt)
		results[i].Token = fmt.Sprint("token ", r.Attempt)
	}
	return results, nil
}

func TestAttemptsCountFromZero(t *testing.T) {
	c := new(counting)
	r := newRig(t, vault.Options{Tokenizer: c})
	insert(t, r.Service, of("persons", "name", "a"))
	insert(t, r.Service, of("persons", "name", "b"))
	require.Equal(t, []int{0, 0, 1}, c.attempts)
	_, err := r.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "c", "boom"))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorIs(t, err, errDown)
	_, err = r.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "c"))
	require.ErrorIs(t, err, vault.ErrValueNotFound)
}

// restless is a keyring that says something else each time that it is asked for its
// versions, and has none of them.
type restless struct {
	keyring.Keyring
	asked int
}

func (r *restless) Versions(context.Context) (keyring.Versions, error) {
	r.asked++
	return keyring.Versions{Fingerprint: 100 + r.asked, Seal: 1}, nil
}

// An operation is not repeated without end for want of a key, and not at all for another
// reason.
func TestRepetitionsAreBounded(t *testing.T) {
	r := newRig(t, vault.Options{})
	keys := &restless{Keyring: newKeyring(t, 1)}
	s, err := vault.New(vault.Backend{Store: r.store}, keys, nil)
	require.NoError(t, err)
	_, err = s.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "a"))
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
	require.LessOrEqual(t, keys.asked, 6)

	store := &pausing{Store: r.store}
	s, err = vault.New(vault.Backend{Store: store}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	_, err = s.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "a"))
	require.ErrorIs(t, err, vault.ErrValueNotFound)
	require.Equal(t, 1, store.calls)
}

// One value that cannot be opened does not keep the others from being exported.
func TestExportGoesOn(t *testing.T) {
	ctx := t.Context()
	r := newRig(t, vault.Options{})
	var tokens []string
	for from := range 2 {
		var names []string
		for i := range 400 {
			names = append(names, fmt.Sprint(from, " ", i))
		}
		tokens = append(tokens, insert(t, r.Service, of("persons", "name", names...))...)
	}
	rows, err := r.store.Rows(ctx, "acme", "v1", tokens[:1])
	require.NoError(t, err)
	bad := keyring.Sealed{Version: 1, Ciphertext: bytes.Repeat([]byte{7}, 40)}
	_, err = r.store.Reseal(ctx, []vault.Resealed{{Row: rows[0].ID(), From: rows[0].Sealed, To: bad}})
	require.NoError(t, err)
	shown, broken := 0, 0
	for e, err := range r.Export(ctx, "acme", "ops", "v1", everything) {
		if err == nil {
			shown++
			continue
		}
		broken++
		require.ErrorIs(t, err, keyring.ErrCorrupt)
		require.Equal(t, tokens[0], e.Token)
		require.True(t, e.Value.IsZero())
	}
	require.Equal(t, 799, shown)
	require.Equal(t, 1, broken)
	page, err := r.ListAuditEvents(ctx, "acme", vault.AuditQuery{Kind: mortise.KindExported})
	require.NoError(t, err)
	require.Equal(t, 799, len(page.Items[0].Tokens)+len(page.Items[1].Tokens), "what was not shown is not in the trail")
}

// A process that others have left behind in a rotation is not ready.
func TestPingNeedsTheRequiredKeys(t *testing.T) {
	r := newRig(t, vault.Options{})
	require.NoError(t, r.Ping(t.Context()))
	require.NoError(t, r.with(t, 1, 2).Backfill(t.Context(), 2, nil))
	require.ErrorIs(t, r.Ping(t.Context()), keyring.ErrUnknownKey)
}

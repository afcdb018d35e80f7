package vault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
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
		require.NoError(t, other.Retire(t.Context(), vault.FingerprintKey, 1, nil))
	}}
	// Promoted before it was backfilled.
	s, err := vault.New(vault.Backend{Store: store}, keyring(t, 2, 1), nil)
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
	vault.Keyring
	calls, at int
}

func (k *nthFails) Fingerprint(ctx context.Context, version int, items []vault.FingerprintItem, dst []vault.Fingerprint) error {
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
		keys := &nthFails{Keyring: keyring(t, 1, 2)}
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
		require.ErrorIs(t, err, vault.ErrUnavailable, "call %d", at)
		status, err := s.KeyStatus(t.Context())
		require.NoError(t, err)
		require.Zero(t, status.Usage.Rows, "call %d", at)
	}
}

// counting is a Tokenizer that notes the attempts, and fails for one value though it
// returns a token.
type counting struct {
	vault.Formats
	attempts []int
}

func (*counting) CheckFormat(string) error { return nil }

func (c *counting) Tokens(_ context.Context, requests []vault.TokenRequest) ([]vault.TokenResult, error) {
	results := make([]vault.TokenResult, len(requests))
	for i, r := range requests {
		if r.Value.Reveal() == "boom" {
			results[i] = vault.TokenResult{Token: "token of an error", Err: errDown}
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
	require.ErrorIs(t, err, vault.ErrUnavailable)
	require.ErrorIs(t, err, errDown)
	_, err = r.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "c"))
	require.ErrorIs(t, err, vault.ErrValueNotFound)
}

// restless is a keyring that says something else each time that it is asked for its
// versions, and has none of them.
type restless struct {
	vault.Keyring
	asked int
}

func (r *restless) Versions(context.Context) (vault.Versions, error) {
	r.asked++
	return vault.Versions{Fingerprint: 100 + r.asked, Seal: 1}, nil
}

// An operation is not repeated without end for want of a key, and not at all for another
// reason.
func TestRepetitionsAreBounded(t *testing.T) {
	r := newRig(t, vault.Options{})
	keys := &restless{Keyring: keyring(t, 1)}
	s, err := vault.New(vault.Backend{Store: r.store}, keys, nil)
	require.NoError(t, err)
	_, err = s.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "a"))
	require.ErrorIs(t, err, vault.ErrUnknownKey)
	require.LessOrEqual(t, keys.asked, 6)

	store := &pausing{Store: r.store}
	s, err = vault.New(vault.Backend{Store: store}, keyring(t, 1), nil)
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
	bad := vault.Sealed{Version: 1, Ciphertext: bytes.Repeat([]byte{7}, 40)}
	_, err = r.store.Reseal(ctx, []vault.Resealed{{Row: rows[0].ID(), From: rows[0].Sealed, To: bad}})
	require.NoError(t, err)
	shown, broken := 0, 0
	for e, err := range r.Export(ctx, "acme", "ops", "v1", everything) {
		if err == nil {
			shown++
			continue
		}
		broken++
		require.ErrorIs(t, err, vault.ErrCorrupt)
		require.Equal(t, tokens[0], e.Token)
		require.True(t, e.Value.IsZero())
	}
	require.Equal(t, 799, shown)
	require.Equal(t, 1, broken)
	page, err := r.ListAuditEvents(ctx, "acme", vault.AuditQuery{Kind: vault.KindExported})
	require.NoError(t, err)
	require.Equal(t, 799, len(page.Events[0].Tokens)+len(page.Events[1].Tokens), "what was not shown is not in the trail")
}

// A process that others have left behind in a rotation is not ready.
func TestPingNeedsTheRequiredKeys(t *testing.T) {
	r := newRig(t, vault.Options{})
	require.NoError(t, r.Ping(t.Context()))
	require.NoError(t, r.with(t, 1, 2).Backfill(t.Context(), 2, nil))
	require.ErrorIs(t, r.Ping(t.Context()), vault.ErrUnknownKey)
}

func TestFormatsCheckTheirDomain(t *testing.T) {
	for _, domain := range []string{"no domain", "a..b", "@", "a.example\r\n", strings.Repeat("a.", 150) + "a"} {
		formats := &vault.Formats{EmailDomain: domain}
		require.Error(t, formats.CheckFormat("email"), domain)
		require.NoError(t, formats.CheckFormat("email:a.example"))
		_, err := tokenOf(t, formats, "email", "ada@example.com")
		require.Error(t, err)
	}
}

// always is a source that returns one byte for ever.
type always byte

func (a always) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(a)
	}
	return len(p), nil
}

// A source that is not random is an error, not a call without end.
func TestRandomnessThatIsNone(t *testing.T) {
	for value, random := range map[string]io.Reader{"123456": always(0xff), "000000": always(0)} {
		_, err := tokenOf(t, &vault.Formats{Rand: random}, "digits", value)
		require.Error(t, err)
		require.False(t, errors.Is(err, vault.ErrFormat))
	}
}

package vault_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// counted is a keyring and a tokenizer that count their calls, as a host would that pays
// for each. It fails a call that is over its limits.
type counted struct {
	keyring.Keyring
	format.Standard
	t      *testing.T
	limits keyring.Limits

	mu    sync.Mutex
	calls map[string][]int // by method, how many items each call had
}

func newCounted(t *testing.T, k keyring.Keyring, limits keyring.Limits) *counted {
	return &counted{Keyring: k, t: t, limits: limits, calls: make(map[string][]int)}
}

func (c *counted) service(r *rig) *vault.Service {
	c.t.Helper()
	s, err := vault.New(vault.Backend{Store: r.store}, c, &vault.Options{Tokenizer: c})
	require.NoError(c.t, err)
	require.NoError(c.t, s.Ping(c.t.Context()))
	c.taken()
	return s
}

// taken returns how many calls there were since it was called last, by method.
func (c *counted) taken() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := make(map[string]int)
	for method, items := range c.calls {
		counts[method] = len(items)
	}
	c.calls = make(map[string][]int)
	return counts
}

func count[I any](c *counted, method string, items []I, size func(I) int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[method] = append(c.calls[method], len(items))
	bytes := 0
	for _, item := range items {
		bytes += size(item)
	}
	require.NotEmpty(c.t, items, method)
	require.True(c.t, c.limits.Items <= 0 || len(items) <= c.limits.Items, "%s of %d items", method, len(items))
	require.True(c.t, c.limits.Bytes <= 0 || len(items) == 1 || bytes <= c.limits.Bytes, "%s of %d bytes", method, bytes)
}

func (c *counted) Limits() keyring.Limits { return c.limits }

func (c *counted) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	count(c, "Fingerprint", items, func(it keyring.FingerprintItem) int { return len(it.Value.Reveal()) })
	return c.Keyring.Fingerprint(ctx, version, items, dst)
}

func (c *counted) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	count(c, "Seal", items, func(it keyring.SealItem) int { return len(it.Value.Reveal()) })
	return c.Keyring.Seal(ctx, items)
}

func (c *counted) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	count(c, "Open", items, func(it keyring.OpenItem) int { return len(it.Sealed.Ciphertext) })
	return c.Keyring.Open(ctx, items)
}

func (c *counted) Tokens(ctx context.Context, requests []format.Request) ([]format.Result, error) {
	count(c, "Tokens", requests, func(r format.Request) int { return len(r.Value.Reveal()) })
	return c.Standard.Tokens(ctx, requests)
}

// thousand returns 1000 values of 15 bytes each, in three scopes and in turns.
func thousand() (items []vault.Item) {
	for i := range 1000 {
		value := fmt.Sprintf("%05d@a.example", i)
		column := [][2]string{{"persons", "name"}, {"persons", "email"}, {"orders", "number"}}[i%3]
		items = append(items, of(column[0], column[1], value)...)
	}
	return items
}

// A keyring and a tokenizer that somebody asks over a network are asked as seldom as can
// be: these are all calls that 1000 values of three scopes take.
func TestCallsOfAThousandValues(t *testing.T) {
	const plain = 15               // bytes of a value
	const sealed = plain + 12 + 16 // with the nonce and the tag of AES-GCM
	for name, c := range map[string]struct {
		limits                            keyring.Limits
		values                            int // calls for 1000 values
		opens                             int // calls to open 1000 ciphertexts
		pagesOfValues, pagesOfCiphertexts int // calls for two pages of 500
	}{
		"no limits": {keyring.Limits{}, 1, 1, 2, 2},
		"items":     {keyring.Limits{Items: 100}, 10, 10, 10, 10},
		"odd items": {keyring.Limits{Items: 300}, 4, 4, 4, 4},
		"bytes":     {keyring.Limits{Bytes: 250 * plain}, 4, 12, 4, 12}, // 87 ciphertexts a call
		"ample":     {keyring.Limits{Items: 1000, Bytes: 1000 * sealed}, 1, 1, 2, 2},
		"both":      {keyring.Limits{Items: 50, Bytes: 250 * plain}, 20, 20, 20, 20},
		"negative":  {keyring.Limits{Items: -1, Bytes: -1}, 1, 1, 2, 2},
		"one":       {keyring.Limits{Bytes: 1}, 1000, 1000, 1000, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			r := newRig(t, vault.Options{})
			keys := newCounted(t, newKeyring(t, 1), c.limits)
			s := keys.service(r)

			_, err := s.Tokenize(ctx, "acme", "v1", thousand())
			require.ErrorIs(t, err, vault.ErrValueNotFound)
			require.Equal(t, map[string]int{"Fingerprint": c.values}, keys.taken(), "Tokenize of values that are not there")
			tokens := insert(t, s, thousand())
			require.Equal(t, map[string]int{"Fingerprint": c.values, "Tokens": c.values, "Seal": c.values}, keys.taken(), "Insert")
			require.Equal(t, tokens, insert(t, s, thousand()))
			require.Equal(t, map[string]int{"Fingerprint": c.values}, keys.taken(), "Insert of values that are there")
			require.Equal(t, tokens, tokenize(t, s, thousand()))
			require.Equal(t, map[string]int{"Fingerprint": c.values}, keys.taken(), "Tokenize")
			values := reveal(t, s, tokens...)
			require.Equal(t, map[string]int{"Open": c.opens}, keys.taken(), "Detokenize")
			for i, it := range thousand() {
				require.Equal(t, it.Value.Reveal(), values[i])
			}
			exported := 0
			for e, err := range s.Export(ctx, "acme", "ops", "v1", everything) {
				require.NoError(t, err)
				at := slices.Index(tokens, e.Token)
				require.Equal(t, values[at], e.Value.Reveal())
				exported++
			}
			require.Equal(t, 1000, exported)
			require.Equal(t, map[string]int{"Open": c.pagesOfCiphertexts}, keys.taken(), "Export")

			both := newCounted(t, newKeyring(t, 1, 2), c.limits)
			require.NoError(t, both.service(r).Backfill(ctx, 2, nil))
			require.Equal(t, map[string]int{"Open": c.pagesOfCiphertexts, "Fingerprint": c.pagesOfValues}, both.taken(), "Backfill")
			promoted := newCounted(t, newKeyring(t, 2, 1), c.limits)
			s = promoted.service(r)
			require.NoError(t, s.Rewrap(ctx, nil))
			require.Equal(t, map[string]int{"Open": c.pagesOfCiphertexts, "Seal": c.pagesOfValues}, promoted.taken(), "Rewrap")
			require.Equal(t, tokens, tokenize(t, s, thousand()))
			require.Equal(t, map[string]int{"Fingerprint": c.values}, promoted.taken(), "Tokenize under the primary version")
			require.Equal(t, values, reveal(t, s, tokens...))

			// What is new is looked up under both versions, and needs a fingerprint of
			// each.
			fresh := slices.Clone(thousand())
			for i := range fresh {
				fresh[i].Value = vault.NewValue(fmt.Sprintf("%05d@b.example", i))
			}
			promoted.taken()
			insert(t, s, fresh)
			require.Equal(t, map[string]int{"Fingerprint": 2 * c.values, "Tokens": c.values, "Seal": c.values}, promoted.taken(),
				"Insert under two versions")
			usage, err := s.KeyUsage(ctx)
			require.NoError(t, err)
			require.Equal(t, map[int]int{1: 2000, 2: 2000}, usage.Fingerprints)
		})
	}
}

// What is inserted is found under each version by itself, also beside values that were
// there under one of them, and of which the others are not computed.
func TestFingerprintsOfEveryVersion(t *testing.T) {
	r := newRig(t, vault.Options{})
	insert(t, r.Service, of("persons", "name", "old 1", "old 2"))
	var items []vault.Item
	for i := range 9 {
		column := [][2]string{{"persons", "name"}, {"orders", "number"}, {"persons", "name"}}[i%3]
		items = append(items, of(column[0], column[1], fmt.Sprint("new ", i))...)
	}
	mixed := append(of("persons", "name", "old 1"), append(items, of("persons", "name", "old 2")...)...)
	tokens := insert(t, newCounted(t, newKeyring(t, 2, 3, 1), keyring.Limits{}).service(r), mixed)
	for _, versions := range [][]int{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}} {
		keys := newCounted(t, newKeyring(t, versions[0], versions[1:]...), keyring.Limits{})
		require.Equal(t, tokens[1:10], tokenize(t, keys.service(r), items))
		require.Equal(t, map[string]int{"Fingerprint": 1}, keys.taken(), "version %d alone has them", versions[0])
	}
}

// An item that is over the limit by itself goes alone, and the others beside it go
// together.
func TestLongItemsGoAlone(t *testing.T) {
	r := newRig(t, vault.Options{})
	keys := newCounted(t, newKeyring(t, 1), keyring.Limits{Bytes: 10})
	s := keys.service(r)
	long := strings.Repeat("x", 11)
	values := []string{"aaaa", "bbbb", long, "cc", "dddd", "eeee", "f" + long, "gggg"}
	tokens := insert(t, s, of("persons", "name", values...))
	require.Equal(t, []int{2, 1, 3, 1, 1}, keys.calls["Seal"])
	require.Equal(t, keys.calls["Seal"], keys.calls["Fingerprint"])
	require.Equal(t, keys.calls["Seal"], keys.calls["Tokens"])
	require.Equal(t, values, reveal(t, s, tokens...))
}

// Where tokens are taken, others are asked for and sealed for those values alone.
func TestTakenTokensAreMadeAgainAlone(t *testing.T) {
	r := newRig(t, vault.Options{})
	tokens := &few{"a", "b"}
	keys := newCounted(t, newKeyring(t, 1), keyring.Limits{})
	s, err := vault.New(vault.Backend{Store: r.store}, keys, &vault.Options{Tokenizer: tokens})
	require.NoError(t, err)
	one := insert(t, s, of("persons", "name", "1"))
	keys.taken()
	*tokens = few{"a", "c"}
	_, err = s.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "1", "2"))
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, keys.calls["Seal"], "the value that is there has no part in it")

	perValue := perValue{"x": {"t1"}, "y": {"t1", "t2"}, "z": {"a", "a", "t3"}}
	s, err = vault.New(vault.Backend{Store: r.store}, keys, &vault.Options{Tokenizer: perValue})
	require.NoError(t, err)
	keys.taken()
	require.Equal(t, []string{"t1", "t2", "t3", "a"}, insert(t, s, of("persons", "name", "x", "y", "z", "1")))
	require.Equal(t, "a", one[0])
	require.Equal(t, []int{3, 2, 1}, keys.calls["Seal"])
	require.Equal(t, []int{1, 4}, keys.calls["Fingerprint"], "the check of the key, and the values")
	require.Equal(t, []string{"x", "y", "z"}, reveal(t, s, "t1", "t2", "t3"), "each is sealed for its own token")
}

// perValue is a Tokenizer that has these tokens for a value, one for each attempt.
type perValue map[string][]string

func (perValue) CheckFormat(string) error { return nil }

func (perValue) Limits() keyring.Limits { return keyring.Limits{} }

func (p perValue) Tokens(_ context.Context, requests []format.Request) ([]format.Result, error) {
	results := make([]format.Result, len(requests))
	for i, r := range requests {
		results[i].Token = p[r.Value.Reveal()][r.Attempt]
	}
	return results, nil
}

func (perValue) CheckTokens(_ context.Context, pairs []format.Pair) ([]error, error) {
	return make([]error, len(pairs)), nil
}

// Of values that are not shown, no more are opened at once than may be shown, and none of
// those that come after the bound. What is redacted is not opened at all.
func TestOpensNoMoreThanCanBeShown(t *testing.T) {
	const max = 1000
	r := newRig(t, vault.Options{})
	var values []string
	for i := range 100 {
		// 128 bytes when it is sealed, so that 7 are within the bound.
		values = append(values, fmt.Sprintf("%0100d", i))
	}
	tokens := insert(t, r.Service, of("persons", "diary", values...))
	keys := newCounted(t, newKeyring(t, 1), keyring.Limits{})
	_, err := vault.New(vault.Backend{Store: r.store}, keys, &vault.Options{MaxValue: 1<<20 + 1})
	require.EqualError(t, err, "vault: Options.MaxValue is 1048577; it can be 1048576 at most")
	s, err := vault.New(vault.Backend{Store: r.store}, keys, &vault.Options{MaxShown: max, MaxValue: 1 << 20})
	require.NoError(t, err)
	detokenize := func(n int, allow vault.RedactionPolicy) ([]int, error) {
		keys.taken()
		_, err := s.Detokenize(t.Context(), "acme", "ops", "v1", asked(tokens[:n]...), allow)
		return keys.calls["Open"], err
	}
	as := func(redaction vault.Redaction) vault.RedactionPolicy {
		return func(vault.Field) vault.Redaction { return redaction }
	}
	opened, err := detokenize(10, everything)
	require.NoError(t, err)
	require.Equal(t, []int{7, 3}, opened)
	opened, err = detokenize(100, everything)
	require.ErrorIs(t, err, vault.ErrTooMuch)
	require.Equal(t, []int{7, 7}, opened, "after the 11th it is too much")
	opened, err = detokenize(10, as(vault.Masked))
	require.NoError(t, err)
	require.Equal(t, []int{7, 3}, opened)
	opened, err = detokenize(100, nil)
	require.NoError(t, err, "100 times what is redacted is within the bound")
	require.Empty(t, opened)

	keys.taken()
	shown := 0
	for e, err := range s.Export(t.Context(), "acme", "ops", "v1", as(vault.Masked)) {
		require.NoError(t, err)
		require.Equal(t, vault.Masked, e.Redaction)
		shown++
	}
	require.Equal(t, 100, shown)
	require.Len(t, keys.calls["Open"], 15, "7 at a time")
	keys.taken()
	for e, err := range s.Export(t.Context(), "acme", "ops", "v1", nil) {
		require.NoError(t, err)
		require.Equal(t, "*REDACTED*", e.Value.Reveal())
	}
	require.Empty(t, keys.taken())
}

// Some of a batch is shown plain, some masked and some not at all, each at its own place.
func TestRedactionsOfABatchStayApart(t *testing.T) {
	r := newRig(t, vault.Options{})
	keys := newCounted(t, newKeyring(t, 1), keyring.Limits{Items: 2})
	s := keys.service(r)
	var values []string
	for i := range 20 {
		values = append(values, fmt.Sprintf("name %02d x", i))
	}
	tokens := insert(t, s, of("persons", "name", values...))
	items := asked(tokens...)
	for i := range items {
		items[i].Redaction = []vault.Redaction{vault.Redacted, vault.PlainText, vault.Redacted, vault.Masked, vault.PlainText}[i%5]
	}
	shown, err := s.Detokenize(t.Context(), "acme", "ops", "v1", items, everything)
	require.NoError(t, err)
	for i := range shown {
		want := values[i]
		switch items[i].Redaction {
		case vault.Redacted:
			want = "*REDACTED*"
		case vault.Masked:
			want = "n********x"
		}
		require.Equal(t, tokens[i], shown[i].Token)
		require.Equal(t, items[i].Redaction, shown[i].Redaction)
		require.Equal(t, want, shown[i].Value.Reveal(), i)
	}
	require.Len(t, keys.calls["Open"], 6, "12 of 20 are opened")
}

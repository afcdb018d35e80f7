package vaulttest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// parts cuts items into batches that a keyring takes in one call.
func parts[I any](l keyring.Limits, items []I, size func(I) int) (cut [][]I) {
	from, bytes := 0, 0
	for i, item := range items {
		n := size(item)
		if i > from && (l.Items > 0 && i-from == l.Items || l.Bytes > 0 && bytes+n > l.Bytes) {
			cut = append(cut, items[from:i])
			from, bytes = i, 0
		}
		bytes += n
	}
	if from < len(items) || len(items) == 0 {
		cut = append(cut, items[from:])
	}
	return cut
}

func fingerprintParts(l keyring.Limits, items []keyring.FingerprintItem) [][]keyring.FingerprintItem {
	return parts(l, items, func(it keyring.FingerprintItem) int { return len(it.Value.Reveal()) })
}

// fingerprintAll returns the fingerprints of items, in as few calls as the keyring takes.
func (r *ring) fingerprintAll(t *testing.T, version int, items []keyring.FingerprintItem) []keyring.Fingerprint {
	t.Helper()
	var all []keyring.Fingerprint
	for _, part := range fingerprintParts(r.Limits(), items) {
		dst := make([]keyring.Fingerprint, len(part))
		require.NoError(t, r.Fingerprint(t.Context(), version, part, dst), "Fingerprint")
		all = append(all, dst...)
	}
	return all
}

// sealAll seals items, in as few calls as the keyring takes.
func (r *ring) sealAll(t *testing.T, items []keyring.SealItem) []keyring.Sealed {
	t.Helper()
	var all []keyring.Sealed
	for _, part := range parts(r.Limits(), items, func(it keyring.SealItem) int { return len(it.Value.Reveal()) }) {
		results, err := r.Seal(t.Context(), part)
		require.NoError(t, err, "Seal")
		require.Len(t, results, len(part), "the results of Seal")
		for i := range results {
			require.NoError(t, results[i].Err, "item %d of Seal", i)
			all = append(all, results[i].Sealed)
		}
	}
	return all
}

// openAll opens items, in as few calls as the keyring takes.
func (r *ring) openAll(t *testing.T, items []keyring.OpenItem) []keyring.OpenResult {
	t.Helper()
	var all []keyring.OpenResult
	for _, part := range parts(r.Limits(), items, func(it keyring.OpenItem) int { return len(it.Sealed.Ciphertext) }) {
		results, err := r.Open(t.Context(), part)
		require.NoError(t, err, "Open")
		require.Len(t, results, len(part), "the results of Open")
		all = append(all, results...)
	}
	return all
}

// openItems are what became of items that were sealed.
func openItems(items []keyring.SealItem, sealed []keyring.Sealed) []keyring.OpenItem {
	opens := make([]keyring.OpenItem, len(items))
	for i, it := range items {
		opens[i] = keyring.OpenItem{Scope: it.Scope, Token: it.Token, Sealed: sealed[i]}
	}
	return opens
}

// mixed returns n items, each neighbour of another scope, token and value. Each scope has
// every value, and each value many tokens.
func mixed(n int) []keyring.SealItem {
	items := make([]keyring.SealItem, n)
	for i := range items {
		value := keyring.NewValue(fmt.Sprint("value ", i%7))
		items[i] = keyring.SealItem{Scope: places[i%len(places)], Token: fmt.Sprint("tok_", i), Value: value}
	}
	return items
}

// holds requires that a result is the value of an item.
func holds(t *testing.T, got keyring.OpenResult, want keyring.SealItem, what string, i int) {
	t.Helper()
	require.NoError(t, got.Err, "%s %d", what, i)
	require.True(t, !got.Value.IsZero() && got.Value.Reveal() == want.Value.Reveal(), "%s %d is another value", what, i)
}

// batchRules say how the items of a batch stand beside each other.
var batchRules = []keyringRule{
	{Rule: Rule{"keyring/limits-stay",
		"Limits never changes, and a call takes as much as it says."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1, 2)
			limits := k.Limits()
			items := mixed(1000)
			k.openAll(t, openItems(items, k.sealAll(t, items)))
			for range 3 {
				require.Equal(t, limits, k.Limits())
			}
		}},

	{Rule: Rule{"keyring/batch-order",
		"There is a result for each item, in their order, and each item gets what it would get alone, " +
			"for one and for a thousand."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			for _, n := range []int{1, 2, 1000} {
				items := mixed(n)
				sealed := k.sealAll(t, items)
				opens := openItems(items, sealed)
				slices.Reverse(opens)
				for i, got := range k.openAll(t, opens) {
					holds(t, got, items[n-1-i], "of a batch, item", i)
				}
				for i := 0; i < n; i += 97 {
					k.opens(t, items[i].Scope, items[i].Token, sealed[i], items[i].Value.Reveal())
				}
			}
		}},

	{Rule: Rule{"keyring/batch-scopes",
		"One call takes values of several scopes, in any order, and mixes nothing up: " +
			"fingerprints, and what is sealed, are those of each item's own scope and token."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			items := mixed(4 * len(places))
			prints := make([]keyring.FingerprintItem, len(items))
			for i, it := range items {
				prints[i] = keyring.FingerprintItem{Scope: it.Scope, Value: it.Value}
			}
			all := k.fingerprintAll(t, k.versions.Fingerprint, prints)
			sealed := k.sealAll(t, items)
			for i, it := range items {
				alone := k.fingerprint(t, k.versions.Fingerprint, it.Scope, it.Value.Reveal())
				require.True(t, all[i] == alone[0], "the fingerprint of item %d", i)
				k.opens(t, it.Scope, it.Token, sealed[i], it.Value.Reveal())
			}
			// Each with the ciphertext of its neighbour, which has another scope and
			// another token.
			opens := openItems(items, sealed)
			for i := range opens {
				opens[i].Sealed = sealed[(i+1)%len(sealed)]
			}
			for i, got := range k.openAll(t, opens) {
				require.ErrorIs(t, got.Err, keyring.ErrCorrupt, "item %d has the ciphertext of another one", i)
			}
			// The same, where the scope or the token alone is another one.
			ann := keyring.NewValue("ann")
			near := []keyring.SealItem{
				{Scope: emails, Token: "a", Value: ann}, {Scope: emails, Token: "b", Value: ann},
				{Scope: places[1], Token: "b", Value: ann}, {Scope: places[1], Token: "a", Value: ann},
			}
			sealed = k.sealAll(t, near)
			for i := range near {
				for j := range near {
					if i != j {
						k.refuses(t, near[i].Scope, near[i].Token, sealed[j], keyring.ErrCorrupt, "sealed beside it")
					}
				}
			}
		}},

	{Rule: Rule{"keyring/batch-errors",
		"An item that is corrupt, or of a version that is not loaded, leaves the others alone, " +
			"wherever it stands; the call succeeds."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			items := mixed(24)
			other := h.open(t, 2)
			wrong := make(map[int]error)
			opens := openItems(items, k.sealAll(t, items))
			for i := range opens {
				switch i % 6 {
				case 0:
					opens[i].Sealed.Ciphertext = opens[i].Sealed.Ciphertext[1:]
					wrong[i] = keyring.ErrCorrupt
				case 2:
					opens[i].Sealed = other.seal(t, items[i].Scope, items[i].Token, items[i].Value.Reveal())
					wrong[i] = keyring.ErrUnknownKey
				case 3:
					opens[i].Sealed.Ciphertext = nil
					wrong[i] = keyring.ErrCorrupt
				}
			}
			for _, order := range [][]keyring.OpenItem{opens, slices.Clone(opens[1:]), opens[:1], opens[2:3]} {
				first := slices.IndexFunc(opens, func(it keyring.OpenItem) bool { return it.Token == order[0].Token })
				for i, got := range k.openAll(t, order) {
					i += first
					if wrong[i] == nil {
						holds(t, got, items[i], "beside items that cannot be opened, item", i)
						continue
					}
					require.ErrorIs(t, got.Err, wrong[i], "item %d", i)
					require.Empty(t, got.Value.Reveal(), "item %d", i)
				}
			}
		}},

	{Rule: Rule{"keyring/batch-versions", "One call opens what several versions have sealed, in any order."},
		check: func(t *testing.T, h *KeyringHarness) {
			one, two := h.open(t, 1, 2), h.open(t, 2, 1)
			items := make([]keyring.SealItem, 12)
			opens := make([]keyring.OpenItem, len(items))
			for i := range items {
				items[i] = keyring.SealItem{Scope: emails, Token: fmt.Sprint("tok_", i), Value: keyring.NewValue(fmt.Sprint(i))}
				k := []*ring{one, two, two}[i%3]
				sealed := k.seal(t, emails, items[i].Token, items[i].Value.Reveal())
				opens[i] = keyring.OpenItem{Scope: emails, Token: items[i].Token, Sealed: sealed}
			}
			for i, got := range one.openAll(t, opens) {
				holds(t, got, items[i], "of several versions, item", i)
			}
		}},

	{Rule: Rule{"keyring/batch-of-none", "A batch without items succeeds, with no results."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			for _, none := range []bool{true, false} {
				prints, seals, opens := []keyring.FingerprintItem{}, []keyring.SealItem{}, []keyring.OpenItem{}
				if none {
					prints, seals, opens = nil, nil, nil
				}
				require.NoError(t, k.Fingerprint(t.Context(), k.versions.Fingerprint, prints, nil))
				sealed, err := k.Seal(t.Context(), seals)
				require.NoError(t, err)
				require.Empty(t, sealed)
				opened, err := k.Open(t.Context(), opens)
				require.NoError(t, err)
				require.Empty(t, opened)
			}
		}},

	{Rule: Rule{"keyring/batch-same-twice", "The same item may be in a batch twice, and has a result each time."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			ann, bea := mixed(2)[0], mixed(2)[1]
			items := []keyring.SealItem{ann, ann, bea, ann, bea}
			sealed := k.sealAll(t, items)
			for i, it := range items {
				k.opens(t, it.Scope, it.Token, sealed[i], it.Value.Reveal())
			}
			a := keyring.OpenItem{Scope: ann.Scope, Token: ann.Token, Sealed: sealed[0]}
			b := keyring.OpenItem{Scope: bea.Scope, Token: bea.Token, Sealed: sealed[2]}
			for i, got := range k.openAll(t, []keyring.OpenItem{a, a, b, a, b}) {
				holds(t, got, items[i], "item", i)
			}
			prints := fingerprintItems(emails, "ann", "ann", "bea", "ann")
			all := k.fingerprintAll(t, k.versions.Fingerprint, prints)
			require.True(t, all[0] == all[1] && all[0] == all[3] && all[0] != all[2])
		}},

	{Rule: Rule{"keyring/batch-seals-anew",
		"Nobody can tell whether two ciphertexts of a batch are of one value, nor what two values have in common: " +
			"each is sealed with a randomness of its own."},
		check: func(t *testing.T, h *KeyringHarness) {
			const size = 64
			k := h.open(t, 1)
			items := make([]keyring.SealItem, 48)
			for i := range items {
				value := strings.Repeat(string(rune('a'+i/2%4)), size)
				items[i] = keyring.SealItem{Scope: emails, Token: fmt.Sprint("tok_", i/8%2), Value: keyring.NewValue(value)}
			}
			sealed := k.sealAll(t, items)
			for i := range sealed {
				for j := range i {
					a, b := sealed[i].Ciphertext, sealed[j].Ciphertext
					require.False(t, bytes.Equal(a, b), "items %d and %d are the same", i, j)
					difference := items[i].Value.Reveal()[0] ^ items[j].Value.Reveal()[0]
					shown := difference != 0 && differBy(a, b, difference, size)
					require.False(t, shown, "items %d and %d show what their values have in common", i, j)
				}
			}
		}},

	{Rule: Rule{"keyring/fingerprint-all-or-none",
		"Fingerprint needs room for each item in dst, no more and no less. When it fails, dst is as it was."},
		check: func(t *testing.T, h *KeyringHarness) {
			k, other := h.open(t, 1), h.open(t, 2)
			items := fingerprintItems(emails, "ann", "bea")
			try := func(version, room int) {
				t.Helper()
				before := make([]keyring.Fingerprint, room)
				for i := range before {
					before[i][i] = 0xaa
				}
				dst := slices.Clone(before)
				require.Error(t, k.Fingerprint(t.Context(), version, items, dst), "room for %d", room)
				require.True(t, slices.Equal(before, dst), "a call that failed has written to dst")
			}
			for _, room := range []int{0, 1, 3} {
				try(k.versions.Fingerprint, room)
			}
			try(other.versions.Fingerprint, len(items))
		}},
}

// differBy reports whether two texts somewhere differ by the same bits, at as many places
// in a row.
func differBy(a, b []byte, difference byte, places int) bool {
	run := 0
	for i := range min(len(a), len(b)) {
		if run++; a[i]^b[i] != difference {
			run = 0
		}
		if run == places {
			return true
		}
	}
	return false
}

package vault_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// The tokens of another vault.
const (
	uuidA = "0b3f1e0a-6f5c-4c55-9d4d-0a9b1c2d3e4f"
	uuidB = "1b3f1e0a-6f5c-4c55-9d4d-0a9b1c2d3e4f"
	uuidC = "2b3f1e0a-6f5c-4c55-9d4d-0a9b1c2d3e4f"
	uuidD = "3b3f1e0a-6f5c-4c55-9d4d-0a9b1c2d3e4f"
)

// withToken returns an item with the token that it has elsewhere.
func withToken(table, column, value, token string) vault.ImportItem {
	return vault.ImportItem{Item: of(table, column, value)[0], Token: token}
}

// imports calls Import.
func imports(t testing.TB, s *vault.Service, items ...vault.ImportItem) error {
	t.Helper()
	return s.Import(t.Context(), "acme", "mover", "v1", items)
}

// imported returns the events of imports, the newest first.
func imported(t testing.TB, s *vault.Service) []vault.AuditEvent {
	t.Helper()
	page, err := s.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Kind: mortise.KindImported})
	require.NoError(t, err)
	return page.Items
}

// everyColumn has an item of each kind of column.
func everyColumn() []vault.ImportItem {
	return []vault.ImportItem{
		withToken("persons", "email", "ada@example.com", "abcdefghijklmnopqrstuvwxy2@tokens.invalid"),
		withToken("persons", "card", "4012888888881881", "4111111111111881"),
		withToken("persons", "name", "Ada", uuidA),
		withToken("persons", "diary", "dear diary", uuidB),
		withToken("persons", "diary", "dear diary", uuidC),
		withToken("orders", "contact", "bob@example.com", "abcdefghijklmnopqrstuvwxy3@tokens.invalid"),
		withToken("orders", "number", "17", "ord_abcdefghijklmnopqrstuvwxy4"),
		// Of the group, too.
		withToken("orders", "contact", "ada@example.com", "abcdefghijklmnopqrstuvwxy2@tokens.invalid"),
	}
}

func TestImport(t *testing.T) {
	r := newRig(t, vault.Options{})
	items := everyColumn()
	items[1].Token = "4111111111121881"
	require.Equal(t, []int{1}, indexes(t, imports(t, r.Service, items...), format.ErrMismatch), "not by Luhn")
	items[1].Token = luhnToken
	var tokens, values []string
	var want []vault.AuditToken
	for i, it := range items {
		tokens, values = append(tokens, it.Token), append(values, it.Value.Reveal())
		if scope := it.Place.String(); i < len(items)-1 {
			want = append(want, vault.AuditToken{Token: it.Token, Scope: map[string]string{"persons.email": "emails", "orders.contact": "emails"}[scope]})
			if want[i].Scope == "" {
				want[i].Scope = scope
			}
		}
	}
	for round := 1; round <= 3; round++ { // the same again is done
		r.observed = nil
		require.NoError(t, imports(t, r.Service, items...))
		require.Equal(t, []mortise.Observation{{Kind: mortise.KindImported, Organization: "acme", Object: "v1", Actor: "mover", Items: len(items)}}, r.observed)
		events := imported(t, r.Service)
		require.Len(t, events, round)
		e := events[0]
		require.Equal(t, vault.AuditEvent{ID: e.ID, Organization: "acme", At: begin.UTC().Truncate(time.Microsecond), Kind: mortise.KindImported, Actor: "mover",
			Vault: "v1", Tokens: e.Tokens}, e)
		require.Equal(t, want, e.Tokens)
		require.Equal(t, values, reveal(t, r.Service, tokens...))
		for i, it := range items {
			if it.Place == vault.InColumn("persons", "diary") {
				continue
			}
			require.Equal(t, tokens[i:i+1], tokenize(t, r.Service, []vault.Item{it.Item}))
			require.Equal(t, tokens[i:i+1], insert(t, r.Service, []vault.Item{it.Item}))
		}
	}
	usage, err := r.KeyUsage(t.Context())
	require.NoError(t, err)
	require.Equal(t, keyring.Usage{Rows: 7, Deterministic: 5, Fingerprints: map[int]int{1: 5}, Sealed: map[int]int{1: 7}}, usage)

	// A page that is there in part, and its items twice.
	more := withToken("persons", "name", "Eve", uuidD)
	require.NoError(t, imports(t, r.Service, items[2], more, items[4], more))
	require.Equal(t, []string{uuidD}, tokenize(t, r.Service, of("persons", "name", "Eve")))
	require.Len(t, imported(t, r.Service)[0].Tokens, 3)
}

// luhnToken is of the shape of 4012888888881881.
const luhnToken = "4111111111191881"

// What is wrong with items is told by their indexes, one kind at a time, and nothing of
// the call is done.
func TestImportRefuses(t *testing.T) {
	r := newRig(t, vault.Options{MaxValue: 100})
	taken := insert(t, r.Service, of("persons", "name", "Ada", "Bob", "gone"))
	random := insert(t, r.Service, of("persons", "diary", "secret"))[0]
	require.NoError(t, r.Delete(t.Context(), "acme", "ops", "v1", taken[2]))
	good := withToken("persons", "name", "Good", uuidA)
	name := func(value, token string) vault.ImportItem { return withToken("persons", "name", value, token) }
	grouped := vault.ImportItem{Item: inGroup("emails", "ada@example.com")[0], Token: uuidB}
	trail := len(imported(t, r.Service))
	for what, c := range map[string]struct {
		items []vault.ImportItem
		want  error
		at    []int
	}{
		"a column group":             {[]vault.ImportItem{grouped, good}, vault.ErrInvalid, []int{0}},
		"no value":                   {[]vault.ImportItem{good, {Item: vault.Item{Place: vault.InColumn("persons", "name")}, Token: uuidB}}, vault.ErrInvalid, []int{1}},
		"no place":                   {[]vault.ImportItem{{Item: vault.Item{Value: vault.NewValue("x")}, Token: uuidB}}, vault.ErrInvalid, []int{0}},
		"no token":                   {[]vault.ImportItem{name("x", ""), good, name("y", "")}, vault.ErrInvalid, []int{0, 2}},
		"a token that is none":       {[]vault.ImportItem{name("x", strings.Repeat("t", 256)), name("y", "\xff"), name("z", "a\x00")}, vault.ErrInvalid, []int{0, 1, 2}},
		"a long value":               {[]vault.ImportItem{good, name(strings.Repeat("x", 101), uuidB)}, vault.ErrInvalid, []int{1}},
		"no such table":              {[]vault.ImportItem{withToken("nothing", "name", "x", "no uuid"), good}, vault.ErrTableNotFound, []int{0}},
		"no such column":             {[]vault.ImportItem{withToken("persons", "nothing", "x", "no uuid"), good}, vault.ErrColumnNotFound, []int{0}},
		"a column that is not ours":  {[]vault.ImportItem{good, withToken("persons", "note", "x", uuidB)}, vault.ErrNotTokenized, []int{1}},
		"tokens of another shape":    {[]vault.ImportItem{name("Ada", "no uuid"), good, withToken("orders", "number", "1", "inv_abcdefghijklmnopqrstuvwxy4")}, format.ErrMismatch, []int{0, 2}},
		"a value of another shape":   {[]vault.ImportItem{withToken("persons", "card", "no digits", luhnToken)}, format.ErrMismatch, []int{0}},
		"a value as its token":       {[]vault.ImportItem{good, name(uuidB, uuidB), name(uuidB, uuidB)}, format.ErrMismatch, []int{1, 2}},
		"one token of two values":    {[]vault.ImportItem{name("x", uuidB), good, name("y", uuidB)}, vault.ErrTokenConflict, []int{2}},
		"one token of two columns":   {[]vault.ImportItem{name("x", uuidB), withToken("persons", "diary", "x", uuidB)}, vault.ErrTokenConflict, []int{1}},
		"two tokens of a value":      {[]vault.ImportItem{name("x", uuidB), name("x", uuidB), name("x", uuidC), good}, vault.ErrTokenConflict, []int{2}},
		"a token of something else":  {[]vault.ImportItem{good, name("Eve", taken[0]), withToken("persons", "diary", "Ada", taken[0])}, vault.ErrTokenConflict, []int{2}},
		"tokens of something else":   {[]vault.ImportItem{name("Eve", taken[0]), good, withToken("persons", "diary", "Bob", taken[1]), name("secret", random)}, vault.ErrTokenConflict, []int{0, 2, 3}},
		"a token that was deleted":   {[]vault.ImportItem{good, name("gone", taken[2])}, vault.ErrTokenConflict, []int{1}},
		"values with another token":  {[]vault.ImportItem{name("Ada", uuidB), name("Bob", uuidC), good, name("Bob", uuidC)}, vault.ErrTokenConflict, []int{0, 1, 3}},
		"all kinds of contradiction": {[]vault.ImportItem{name("gone", taken[2]), good, name("Ada", uuidB), name("Eve", taken[1])}, vault.ErrTokenConflict, []int{0, 2, 3}},
	} {
		err := imports(t, r.Service, c.items...)
		require.Equal(t, c.at, indexes(t, err, c.want), what)
		for _, it := range c.items {
			if v := it.Value.Reveal(); len(v) > 1 && v != "gone" {
				require.NotContains(t, err.Error(), v, what)
			}
		}
		require.Len(t, imported(t, r.Service), trail, what)
		_, err = r.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "Good"))
		require.ErrorIs(t, err, vault.ErrValueNotFound, what)
	}
	require.ErrorContains(t, imports(t, r.Service, good, name("x", uuidB), name("x", uuidC)), "item 1 has another token for the same value")
	require.ErrorContains(t, imports(t, r.Service, name("x", uuidB), name("y", uuidB)), "item 0 has the same token for something else")
	require.ErrorContains(t, imports(t, r.Service, name("Eve", taken[0])), "the token stands for something else")
	require.ErrorContains(t, imports(t, r.Service, name("Ada", uuidB)), "the value has another token, or the token was deleted")
	require.ErrorIs(t, imports(t, r.Service), vault.ErrInvalid)
	many := make([]vault.ImportItem, 1001)
	require.ErrorIs(t, imports(t, r.Service, many...), vault.ErrInvalid)
	require.ErrorIs(t, r.Import(t.Context(), "acme", "mover", "v2", []vault.ImportItem{good}), mortise.ErrNotFound)
	require.ErrorIs(t, r.Import(t.Context(), "other", "mover", "v1", []vault.ImportItem{good}), mortise.ErrNotFound)
	require.NoError(t, imports(t, r.Service, good, name("Ada", taken[0]), withToken("persons", "diary", "secret", random)))
	require.Equal(t, []string{"Ada", "Bob", "Good", "secret"}, reveal(t, r.Service, taken[0], taken[1], uuidA, random))

	require.NoError(t, r.Delete(t.Context(), "acme", "mover", "v1", random))
	err := imports(t, r.Service, withToken("persons", "diary", "secret", random))
	require.ErrorIs(t, err, vault.ErrTokenConflict)
	require.ErrorContains(t, err, "the token was deleted")
	require.NotContains(t, err.Error(), "another token", "its value can have several")
}

// A token that was given when its column had another tokenization is none of the column
// as it is.
func TestImportAfterAChangeOfTokenization(t *testing.T) {
	r := newRig(t, vault.Options{})
	random := insert(t, r.Service, of("persons", "diary", "secret"))[0]
	named := insert(t, r.Service, of("persons", "name", "Ada"))[0]
	_, err := r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error {
		s.Tables[0].Columns[2].Tokenization, s.Tables[0].Columns[3].Tokenization = vault.Random, vault.Deterministic
		return nil
	})
	require.NoError(t, err)
	err = imports(t, r.Service, withToken("persons", "diary", "secret", random), withToken("persons", "name", "Ada", named))
	require.Equal(t, []int{0, 1}, indexes(t, err, vault.ErrTokenConflict))
	require.NoError(t, imports(t, r.Service, withToken("persons", "diary", "secret", uuidA), withToken("persons", "name", "Ada", uuidB)))
	require.Equal(t, []string{"secret", "secret", "Ada", "Ada"}, reveal(t, r.Service, random, uuidA, named, uuidB))
}

// In the middle of a rotation what is imported is found by all versions, and what is
// there is compared under whatever key it is sealed.
func TestImportDuringARotation(t *testing.T) {
	r := newRig(t, vault.Options{})
	items := everyColumn()
	items[1].Token = luhnToken
	require.NoError(t, imports(t, r.Service, items[:4]...))
	require.ErrorIs(t, imports(t, r.with(t, 2), items...), keyring.ErrUnknownKey)
	both := r.with(t, 2, 1)
	require.NoError(t, imports(t, both, items...))
	usage, err := both.KeyUsage(t.Context())
	require.NoError(t, err)
	require.Equal(t, keyring.Usage{Rows: 7, Deterministic: 5, Fingerprints: map[int]int{1: 5, 2: 5}, Sealed: map[int]int{1: 4, 2: 3}}, usage)
	require.NoError(t, both.Backfill(t.Context(), 2, nil))
	require.NoError(t, both.Rewrap(t.Context(), nil))
	require.NoError(t, imports(t, both, items...))
	require.NoError(t, both.Retire(t.Context(), keyring.FingerprintKey, 1, nil))
	require.NoError(t, both.Retire(t.Context(), keyring.SealKey, 1, nil))
	require.NoError(t, imports(t, r.with(t, 2), items...))
	require.Equal(t, []string{uuidA}, tokenize(t, r.with(t, 2), of("persons", "name", "Ada")))
}

// What cannot be compared is no success: the error names the token.
func TestImportOfWhatDoesNotOpen(t *testing.T) {
	r := newRig(t, vault.Options{})
	require.NoError(t, imports(t, r.Service, withToken("persons", "name", "Ada", uuidA), withToken("persons", "name", "Bob", uuidB)))
	rows, err := r.store.Rows(t.Context(), "acme", "v1", []string{uuidB})
	require.NoError(t, err)
	damaged := rows[0].Sealed
	damaged.Ciphertext = append([]byte(nil), damaged.Ciphertext...)
	damaged.Ciphertext[len(damaged.Ciphertext)-1] ^= 1
	_, err = r.store.Reseal(t.Context(), []vault.Resealed{{Row: rows[0].ID(), From: rows[0].Sealed, To: damaged}})
	require.NoError(t, err)
	bob := withToken("persons", "name", "Bob", uuidB)
	err = imports(t, r.Service, bob, withToken("persons", "name", "Eve", uuidC), bob)
	require.Equal(t, []int{0, 2}, indexes(t, err, keyring.ErrCorrupt))
	var of *vault.TokenError
	require.ErrorAs(t, err, &of)
	require.Equal(t, uuidB, of.Token)
	_, err = r.Detokenize(t.Context(), "acme", "ops", "v1", asked(uuidC), everything)
	require.ErrorIs(t, err, vault.ErrTokenNotFound)

	// It is not opened where it can be no success.
	_, err = r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error {
		persons := &s.Tables[0]
		persons.Columns[2].Tokenization = vault.Random // name
		persons.Columns = append(persons.Columns, vault.Column{Name: "alias", Tokenization: vault.Deterministic})
		return nil
	})
	require.NoError(t, err)
	err = imports(t, r.Service, bob, withToken("persons", "name", "Eve", uuidC))
	require.Equal(t, []int{0}, indexes(t, err, vault.ErrTokenConflict))
	err = imports(t, r.Service, withToken("persons", "alias", "Bob", uuidB))
	require.Equal(t, []int{0}, indexes(t, err, vault.ErrTokenConflict))
}

// What is sealed under a key that is not loaded cannot be compared either, and is no
// conflict.
func TestImportWithoutTheKey(t *testing.T) {
	r := newRig(t, vault.Options{})
	require.NoError(t, r.CheckKeys(t.Context())) // the store begins with version 1
	there, more := withToken("persons", "name", "Ada", uuidA), withToken("persons", "name", "Eve", uuidB)
	require.NoError(t, imports(t, r.with(t, 2, 1), there))
	err := imports(t, r.Service, more, there)
	require.Equal(t, []int{1}, indexes(t, err, keyring.ErrUnknownKey))
	var of *vault.TokenError
	require.ErrorAs(t, err, &of)
	require.Equal(t, uuidA, of.Token)
	require.NoError(t, imports(t, r.with(t, 1, 2), more, there))
}

// A whole batch is imported, of values as long as they may be.
func TestImportMany(t *testing.T) {
	r := newRig(t, vault.Options{})
	items := make([]vault.ImportItem, r.Limits().Items)
	for i := range items {
		items[i] = withToken("orders", "number", fmt.Sprint(i, strings.Repeat("x", 1000)), fmt.Sprintf("ord_%s", token26(i)))
	}
	require.NoError(t, imports(t, r.Service, items...))
	require.NoError(t, imports(t, r.Service, items...))
	require.Equal(t, []string{items[999].Token}, tokenize(t, r.Service, []vault.Item{items[999].Item}))
}

// token26 returns 26 characters that differ by a number.
func token26(n int) string {
	return strings.Repeat("a", 22) + strings.Map(func(c rune) rune { return 'a' + c - '0' }, fmt.Sprintf("%04d", n))
}

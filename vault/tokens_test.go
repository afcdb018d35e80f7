package vault_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
)

func TestInsertAndTokenize(t *testing.T) {
	r := newRig(t, vault.Options{})
	items := append(of("persons", "email", "ada@example.com", "bob@example.com", "ada@example.com"), of("persons", "card", "4111111111111111")...)
	items = append(items, of("orders", "contact", "ada@example.com")...)
	items = append(items, of("persons", "name", "", "ada@example.com", "\x00\xff")...)
	tokens := insert(t, r.Service, items)
	require.Equal(t, tokens[0], tokens[2])
	require.Equal(t, tokens[0], tokens[4], "a column of the same group")
	require.NotEqual(t, tokens[0], tokens[6], "another scope")
	require.Regexp(t, `^[0-9]{12}1111$`, tokens[3])
	seen := make(map[string]bool)
	for _, token := range tokens {
		seen[token] = true
	}
	require.Len(t, seen, 6)

	require.Equal(t, tokens, tokenize(t, r.Service, items))
	require.Equal(t, tokens, insert(t, r.Service, items), "a value that is there keeps its token")
	require.Equal(t, []string{tokens[1], tokens[0]}, tokenize(t, r.Service, inGroup("emails", "bob@example.com", "ada@example.com")))
	var want []string
	for _, it := range items {
		want = append(want, it.Value.Reveal())
	}
	require.Equal(t, want, reveal(t, r.Service, tokens...))
}

func TestRandomColumns(t *testing.T) {
	r := newRig(t, vault.Options{})
	tokens := insert(t, r.Service, of("persons", "diary", "dear", "dear"))
	again := insert(t, r.Service, of("persons", "diary", "dear"))
	require.NotEqual(t, tokens[0], tokens[1])
	require.NotContains(t, tokens, again[0])
	require.Equal(t, []string{"dear", "dear", "dear"}, reveal(t, r.Service, append(tokens, again...)...))
	_, err := r.Tokenize(t.Context(), "acme", "v1", of("persons", "diary", "dear"))
	require.Equal(t, []int{0}, indexes(t, err, vault.ErrNotDeterministic))
}

// Tokenize names all items of the kind that has to be mended first, and inserts nothing.
func TestTokenizeErrors(t *testing.T) {
	r := newRig(t, vault.Options{})
	insert(t, r.Service, of("persons", "name", "Ada"))
	known, unknown := of("persons", "name", "Ada")[0], of("persons", "name", "Bob")[0]
	novalue := vault.Item{Place: vault.InColumn("persons", "name")}
	value := known.Value
	for name, c := range map[string]struct {
		items []vault.Item
		kind  error
		at    []int
	}{
		"no value":         {[]vault.Item{known, novalue}, vault.ErrInvalid, []int{1}},
		"no place":         {[]vault.Item{{Value: value}}, vault.ErrInvalid, []int{0}},
		"no table's name":  {of("", "name", "x"), vault.ErrTableNotFound, []int{0}},
		"no column's name": {of("persons", "", "x"), vault.ErrColumnNotFound, []int{0}},
		"no group's name":  {inGroup("", "x"), vault.ErrGroupNotFound, []int{0}},
		"too long":         {of("persons", "name", strings.Repeat("x", 64<<10+1)), vault.ErrInvalid, []int{0}},
		"unknown group":    {append(inGroup("emails", "x"), inGroup("nope", "x", "y")...), vault.ErrGroupNotFound, []int{1, 2}},
		"unknown table":    {append(of("nope", "name", "x"), known), vault.ErrTableNotFound, []int{0}},
		"unknown column":   {[]vault.Item{known, {Place: vault.InColumn("persons", "nope"), Value: value}}, vault.ErrColumnNotFound, []int{1}},
		"no tokenization":  {of("persons", "note", "x"), vault.ErrNotDeterministic, []int{0}},
		"unknown values":   {[]vault.Item{unknown, known, unknown}, vault.ErrValueNotFound, []int{0, 2}},
		"shape first":      {append(append(inGroup("nope", "x"), of("nope", "a", "x")...), novalue, unknown), vault.ErrInvalid, []int{2}},
		"groups first":     {append(append(of("persons", "note", "x"), of("nope", "a", "x")...), inGroup("nope", "x")[0], unknown), vault.ErrGroupNotFound, []int{2}},
		"names first":      {append(append(of("persons", "note", "x"), unknown), of("persons", "nope", "x")...), vault.ErrColumnNotFound, []int{2}},
		"columns first":    {append([]vault.Item{unknown}, of("persons", "note", "x")...), vault.ErrNotDeterministic, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Tokenize(t.Context(), "acme", "v1", c.items)
			require.Equal(t, c.at, indexes(t, err, c.kind))
		})
	}
	_, err := r.Tokenize(t.Context(), "acme", "nope", []vault.Item{known})
	require.ErrorIs(t, err, mortise.ErrNotFound)
	_, err = r.Tokenize(t.Context(), "other", "v1", []vault.Item{known})
	require.ErrorIs(t, err, mortise.ErrNotFound)
	_, err = r.Tokenize(t.Context(), "acme", "v1", nil)
	require.ErrorIs(t, err, vault.ErrInvalid)
	_, err = r.Tokenize(t.Context(), "acme", "v1", make([]vault.Item, 1001))
	require.ErrorIs(t, err, vault.ErrInvalid)
	_, err = r.Tokenize(t.Context(), "acme", "v1", []vault.Item{unknown})
	require.ErrorIs(t, err, vault.ErrValueNotFound, "nothing was inserted by all that")
}

func TestInsertErrors(t *testing.T) {
	r := newRig(t, vault.Options{})
	good := of("persons", "name", "Ada")
	for name, c := range map[string]struct {
		items []vault.Item
		kind  error
		at    []int
	}{
		"group":           {append(of("persons", "name", "Ada"), inGroup("emails", "x")...), vault.ErrInvalid, []int{1}},
		"no tokenization": {append(of("persons", "name", "Ada"), of("persons", "note", "x")...), vault.ErrNotTokenized, []int{1}},
		"format":          {append(append(of("persons", "card", "1", "4111111111111111", "2"), good...), of("persons", "email", "x")...), format.ErrMismatch, []int{0, 2, 4}},
		"same twice":      {append(of("persons", "card", "1", "1"), good...), format.ErrMismatch, []int{0, 1}},
		"unknown":         {append(of("persons", "name", "Ada"), of("persons", "nope", "x")...), vault.ErrColumnNotFound, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Insert(t.Context(), "acme", "ops", "v1", c.items)
			require.Equal(t, c.at, indexes(t, err, c.kind))
			_, err = r.Tokenize(t.Context(), "acme", "v1", good)
			require.ErrorIs(t, err, vault.ErrValueNotFound, "nothing of the batch is stored")
		})
	}
}

func TestLimits(t *testing.T) {
	r := newRig(t, vault.Options{})
	var values []string
	for i := range 1000 {
		values = append(values, fmt.Sprint("value ", i))
	}
	values[999] = strings.Repeat("x", 64<<10)
	items := of("persons", "name", values...)
	tokens := insert(t, r.Service, items)
	require.Equal(t, tokens, tokenize(t, r.Service, items))
	require.Equal(t, values, reveal(t, r.Service, tokens...))
	small := newRig(t, vault.Options{MaxItems: 2, MaxValue: 3})
	require.Equal(t, 2, small.Limits().Items)
	require.Equal(t, 3, small.Limits().Value)
	insert(t, small.Service, of("persons", "name", "abc", "def"))
	_, err := small.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "a", "b", "c"))
	require.ErrorIs(t, err, vault.ErrInvalid)
	_, err = small.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "abcd"))
	require.ErrorIs(t, err, vault.ErrInvalid)
	shown := newRig(t, vault.Options{MaxShown: 8})
	two := insert(t, shown.Service, of("persons", "name", "abcd", "efghi"))
	require.Equal(t, []string{"abcd", "abcd"}, reveal(t, shown.Service, two[0], two[0]))
	for _, tokens := range [][]string{two, {two[0], two[0], two[0]}} {
		_, err = shown.Detokenize(t.Context(), "acme", "ops", "v1", asked(tokens...), everything)
		require.ErrorIs(t, err, vault.ErrTooMuch)
	}
	page, err := shown.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Kind: mortise.KindDetokenized})
	require.NoError(t, err)
	require.Len(t, page.Items, 1, "what was not shown is not in the trail")
	_, err = small.Detokenize(t.Context(), "acme", "ops", "v1", asked("a", "b", "c"), everything)
	require.ErrorIs(t, err, vault.ErrInvalid)
}

// Values are compared byte for byte: what looks the same is not.
func TestUnicodeIsKept(t *testing.T) {
	r := newRig(t, vault.Options{})
	values := []string{"\u00e9", "e\u0301", "\u00c9", "e", "\u00e9 ", "\xe9", "\xff", "\xfe", "\ufffd", "\x00", "\x00\x00", ""}
	tokens := insert(t, r.Service, of("persons", "name", values...))
	seen := make(map[string]bool)
	for _, token := range tokens {
		seen[token] = true
	}
	require.Len(t, seen, len(values))
	require.Equal(t, values, reveal(t, r.Service, tokens...))
}

// The same value in another scope, vault or organization has another token and nothing in
// common with it.
func TestScopesAreUnlinkable(t *testing.T) {
	r := newRig(t, vault.Options{})
	tokens := insert(t, r.Service, append(of("persons", "name", "ada@example.com"), of("orders", "number", "ada@example.com")...))
	for _, at := range [][2]string{{"acme", "v2"}, {"other", "v1"}} {
		_, err := r.CreateVault(t.Context(), at[0], "ops", at[1], schema)
		require.NoError(t, err)
		_, err = r.Tokenize(t.Context(), at[0], at[1], of("persons", "name", "ada@example.com"))
		require.ErrorIs(t, err, vault.ErrValueNotFound)
		more, err := r.Insert(t.Context(), at[0], "ops", at[1], of("persons", "name", "ada@example.com"))
		require.NoError(t, err)
		tokens = append(tokens, more...)
		_, err = r.Detokenize(t.Context(), at[0], "ops", at[1], asked(tokens[0]), everything)
		require.Equal(t, []int{0}, indexes(t, err, vault.ErrTokenNotFound))
	}
	seen := make(map[string]bool)
	for _, token := range tokens {
		seen[token] = true
	}
	require.Len(t, seen, 4)
}

// One value has one token: from 16 goroutines that insert it at once, 10^4 times.
func TestSameTokenForAll(t *testing.T) {
	r := newRig(t, vault.Options{})
	const goroutines, rounds = 16, 625
	tokens := make([][]string, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range rounds {
				value := fmt.Sprintf("%d@example.com", i%50)
				got, err := r.Insert(t.Context(), "acme", "ops", "v1", of("persons", "email", value, value))
				if err != nil || got[0] != got[1] {
					t.Errorf("%v, %v", got, err)
					return
				}
				tokens[g] = append(tokens[g], got[0])
			}
		})
	}
	all.Wait()
	for g := range goroutines {
		require.Equal(t, tokens[0], tokens[g])
	}
}

// Where tokens are taken, others are made, until the shape is full.
func TestTakenTokens(t *testing.T) {
	r := newRig(t, vault.Options{Tokenizer: &few{"a", "b", "c"}})
	one := insert(t, r.Service, of("persons", "name", "1"))
	two := insert(t, r.Service, of("persons", "name", "2", "3", "2"))
	require.ElementsMatch(t, []string{"a", "b", "c"}, []string{one[0], two[0], two[1]})
	require.Equal(t, two[0], two[2])
	_, err := r.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "1", "4", "4"))
	require.Equal(t, []int{1, 2}, indexes(t, err, format.ErrExhausted))
	require.Equal(t, one, tokenize(t, r.Service, of("persons", "name", "1")))

	// A token that was deleted is not given again.
	require.NoError(t, r.Delete(t.Context(), "acme", "ops", "v1", one[0]))
	_, err = r.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "4"))
	require.ErrorIs(t, err, format.ErrExhausted)
}

func TestTokenizerThatMakesNone(t *testing.T) {
	for _, token := range []string{"", "a\x00", "\xff", strings.Repeat("x", 256)} {
		r := newRig(t, vault.Options{Tokenizer: &few{token}})
		_, err := r.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "secret value"))
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		require.NotContains(t, err.Error(), "secret value")
	}
}

// fullStore keeps nothing more.
type fullStore struct{ vault.Store }

func (fullStore) InsertTokens(context.Context, string, string, int64, []vault.Row) ([]string, error) {
	return nil, fmt.Errorf("10 MiB are kept: %w", vault.ErrFull)
}

// A store that bounds what it keeps says so, and is not taken for one that fails.
func TestFullStore(t *testing.T) {
	r := newRig(t, vault.Options{})
	service, err := vault.New(vault.Backend{Store: fullStore{r.store}}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	_, err = service.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "1"))
	require.ErrorIs(t, err, vault.ErrFull)
	require.NotErrorIs(t, err, mortise.ErrUnavailable)
}

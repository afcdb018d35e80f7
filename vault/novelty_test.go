package vault_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// watched is a store that counts looks and insertions, and whose insertions may fail.
type watched struct {
	vault.Store
	looked   []string // the scopes of all lookups
	inserted int
	fails    error
}

func (c *watched) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	for i := range lookups {
		c.looked = append(c.looked, lookups[i].Scope)
	}
	return c.Store.FindTokens(ctx, org, id, revision, lookups)
}

func (c *watched) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	c.inserted++
	if c.fails != nil {
		return nil, c.fails
	}
	return c.Store.InsertTokens(ctx, org, id, revision, rows)
}

// looks returns how many lookups there were since the last call.
func (c *watched) looks() int {
	n := len(c.looked)
	c.looked = nil
	return n
}

// loading returns a service after so many insertions of new values that it takes the next
// one for new, too.
func loading(t *testing.T, r *rig) (*vault.Service, *watched) {
	t.Helper()
	store := &watched{Store: r.store}
	s, err := vault.New(vault.Backend{Store: store}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	load(t, s, store, "load")
	return s, store
}

// load inserts new names until nothing looks whether they are there.
func load(t *testing.T, s *vault.Service, store *watched, names string) {
	t.Helper()
	for i := range 8 {
		insert(t, s, of("persons", "name", fmt.Sprint(names, i)))
		require.Equal(t, 1, store.looks())
	}
	insert(t, s, of("persons", "name", names+" without a look"))
	require.Zero(t, store.looks())
}

// Whoever loads new values does not look for each whether it is there. A value that is keeps
// its token all the same, and the next calls look again.
func TestInsertNewValuesWithoutALook(t *testing.T) {
	r := newRig(t, vault.Options{})
	known := insert(t, r.Service, of("persons", "name", "Ada"))
	s, store := loading(t, r)
	require.Equal(t, known, insert(t, s, of("persons", "name", "Ada")))
	require.Zero(t, store.looks())
	load(t, s, store, "again")

	tokens := insert(t, s, of("persons", "name", "x", "Ada", "x", "y", "Ada"))
	require.Zero(t, store.looks())
	require.Equal(t, []string{known[0], tokens[0], known[0]}, []string{tokens[1], tokens[2], tokens[4]})
	require.Equal(t, []string{"x", "Ada", "y"}, reveal(t, s, tokens[0], tokens[1], tokens[3]))
	insert(t, s, of("persons", "name", "z"))
	require.Equal(t, 1, store.looks())
}

// What is new of one column says nothing about another one, and all about those of its group.
func TestInsertWithoutALookByScope(t *testing.T) {
	r := newRig(t, vault.Options{})
	s, store := loading(t, r)
	insert(t, s, append(of("persons", "name", "new"), of("persons", "email", "a@example.com")...))
	require.Len(t, store.looked, 1)
	email := store.looked[0]
	insert(t, s, of("persons", "email", "b@example.com"))
	require.Equal(t, []string{email, email}, store.looked)
	for i := range 6 {
		insert(t, s, of("persons", "email", fmt.Sprint(i, "@example.com")))
	}
	require.Equal(t, 8, store.looks())
	tokens := insert(t, s, append(of("orders", "contact", "c@example.com", "b@example.com"), of("persons", "name", "newer")...))
	require.Zero(t, store.looks())
	require.Equal(t, tokenize(t, s, of("persons", "email", "c@example.com", "b@example.com")), tokens[:2])
	store.looks()
	insert(t, s, append(of("orders", "contact", "d@example.com"), of("persons", "name", "newest")...))
	require.Equal(t, []string{email}, store.looked)
}

// A call in which some values are known is none of a load.
func TestInsertLooksAfterAKnownValue(t *testing.T) {
	r := newRig(t, vault.Options{})
	insert(t, r.Service, of("persons", "name", "Ada"))
	store := &watched{Store: r.store}
	s, err := vault.New(vault.Backend{Store: store}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	for i := range 50 {
		names := []string{fmt.Sprint("new", i)}
		if i%8 == 7 {
			names = append(names, "Ada")
		}
		insert(t, s, of("persons", "name", names...))
		require.Equal(t, 1, store.looks())
	}
}

// choosy is a tokenizer that has no token for a value, and may be away.
type choosy struct {
	few
	refuses string
	fails   error
}

func (c *choosy) Tokens(ctx context.Context, requests []format.Request) ([]format.Result, error) {
	if c.fails != nil {
		return nil, c.fails
	}
	results := make([]format.Result, len(requests))
	for i := range requests {
		value := requests[i].Value.Reveal()
		results[i].Token = "token of " + value
		if value == c.refuses {
			results[i] = format.Result{Err: format.ErrMismatch}
		}
	}
	return results, nil
}

// Known values need no token, no seal and no write, though no look came first.
func TestKnownValuesWithoutALook(t *testing.T) {
	for name, failure := range map[string]func(c *watched, tokens *choosy){
		"no token in the shape": func(_ *watched, tokens *choosy) { tokens.refuses = "Ada" },
		"no tokenizer":          func(_ *watched, tokens *choosy) { tokens.fails = fmt.Errorf("away") },
		"full disk":             func(c *watched, _ *choosy) { c.fails = fmt.Errorf("no space left") },
		"store bound":           func(c *watched, _ *choosy) { c.fails = vault.ErrFull },
		"required key":          func(c *watched, _ *choosy) { c.fails = keyring.ErrUnknownKey },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, vault.Options{})
			known := insert(t, r.Service, of("persons", "name", "Ada"))
			store, tokens := &watched{Store: r.store}, new(choosy)
			s, err := vault.New(vault.Backend{Store: store}, newKeyring(t, 1), &vault.Options{Tokenizer: tokens})
			require.NoError(t, err)
			load(t, s, store, "load")
			failure(store, tokens)
			require.Equal(t, known, insert(t, s, of("persons", "name", "Ada")))
			require.Equal(t, 1, store.looks())
		})
	}
}

// A store that gives no answer in time is not asked again: what it has stored, it may not have
// for good, and it was time enough.
func TestKnownValuesAfterATimeout(t *testing.T) {
	r := newRig(t, vault.Options{})
	known := insert(t, r.Service, of("persons", "name", "Ada"))
	store := &watched{Store: r.store}
	s, err := vault.New(vault.Backend{Store: store}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	load(t, s, store, "load")
	store.fails = fmt.Errorf("no answer: %w", context.DeadlineExceeded)
	_, err = s.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "Ada"))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Zero(t, store.looks())
	store.fails = nil
	require.Equal(t, known, insert(t, s, of("persons", "name", "Ada")))
	require.Equal(t, 1, store.looks())
}

// A store that is away is not asked twice for new values: each may have waited for a lock.
func TestNewValuesFailOnce(t *testing.T) {
	r := newRig(t, vault.Options{})
	s, store := loading(t, r)
	store.inserted, store.fails = 0, fmt.Errorf("no space left")
	_, err := s.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "Bob"))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorIs(t, err, store.fails)
	require.Equal(t, 1, store.inserted)
	store.fails, store.looked = nil, nil
	insert(t, s, of("persons", "name", "Bob"))
	require.Equal(t, 1, store.looks())
}

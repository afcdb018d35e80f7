package vault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// The values of a rotation: enough for several pages of a step.
func values(n int) []vault.Item {
	var items []vault.Item
	for i := range n {
		items = append(items, of("persons", "name", fmt.Sprint("person ", i))...)
		items = append(items, of("orders", "number", fmt.Sprint("person ", i))...)
	}
	return items
}

func insertAll(t *testing.T, s *vault.Service, items []vault.Item) []string {
	var tokens []string
	for from := 0; from < len(items); from += 1000 {
		tokens = append(tokens, insert(t, s, items[from:min(from+1000, len(items))])...)
	}
	return tokens
}

// rotate takes a store from one version of the keys to the next.
func rotate(t *testing.T, r *rig, from, to int) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, r.with(t, from, to).Backfill(ctx, to, nil))
	promoted := r.with(t, to, from)
	require.NoError(t, promoted.Rewrap(ctx, nil))
	require.NoError(t, promoted.Retire(ctx, keyring.SealKey, from, nil))
	require.NoError(t, promoted.Retire(ctx, keyring.FingerprintKey, from, nil))
}

// Three rotations later every token is what it was, and nothing of the old keys is left.
func TestTokensSurviveRotations(t *testing.T) {
	r := newRig(t, vault.Options{})
	items := append(values(600), of("persons", "diary", "dear")...)
	tokens := insertAll(t, r.Service, items)
	for from := 1; from <= 3; from++ {
		rotate(t, r, from, from+1)
		s := r.with(t, from+1)
		require.Equal(t, tokens[:1000], tokenize(t, s, items[:1000]))
		require.Equal(t, tokens[:1000], insert(t, s, items[:1000]))
		require.Equal(t, []string{"person 0", "dear"}, reveal(t, s, tokens[0], tokens[1200]))
		usage, err := s.KeyUsage(t.Context())
		require.NoError(t, err)
		require.Equal(t, keyring.Usage{Rows: 1201, Deterministic: 1200, Fingerprints: map[int]int{from + 1: 1200}, Sealed: map[int]int{from + 1: 1201}}, usage)
		keys, err := r.store.Keys(t.Context())
		require.NoError(t, err)
		require.Len(t, keys, 2*(from+1))
		for _, k := range keys {
			require.Equal(t, k.Version <= from, k.Retired)
			require.Equal(t, k.Version == from+1 && k.Purpose == keyring.FingerprintKey, k.Required)
		}
	}
}

// Services at any two neighbouring steps of a rotation give one value one token.
func TestRotationAtDifferentSteps(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	n := 0
	same := func(services ...*vault.Service) {
		t.Helper()
		for i := range services {
			n++
			item := of("persons", "name", fmt.Sprint("value ", n))
			token := insert(t, services[i], item)
			for _, s := range services {
				require.Equal(t, token, tokenize(t, s, item))
				require.Equal(t, token, insert(t, s, item))
				require.Equal(t, []string{fmt.Sprint("value ", n)}, reveal(t, s, token...))
			}
		}
	}
	old, added, promoted, done := r.with(t, 1), r.with(t, 1, 2), r.with(t, 2, 1), r.with(t, 2)
	same(old, added)
	require.NoError(t, added.Backfill(ctx, 2, nil))
	same(added, promoted)
	require.NoError(t, promoted.Rewrap(ctx, nil))
	same(added, promoted)
	require.NoError(t, promoted.Rewrap(ctx, nil), "added has sealed with the old version")
	require.NoError(t, promoted.Retire(ctx, keyring.SealKey, 1, nil))
	require.NoError(t, promoted.Retire(ctx, keyring.FingerprintKey, 1, nil))
	same(promoted, done)
}

// Whoever is too early or too late in a rotation gets an error, and no value gets a
// second token.
func TestRotationRefusesMistakes(t *testing.T) {
	ctx := t.Context()
	ada, bob := of("persons", "name", "Ada"), of("persons", "name", "Bob")
	t.Run("a version that nobody else has, without the old one", func(t *testing.T) {
		r := newRig(t, vault.Options{})
		insert(t, r.Service, ada)
		s := r.with(t, 2)
		for _, err := range everyCall(t, s, ada) {
			require.ErrorIs(t, err, keyring.ErrUnknownKey)
		}
		require.ErrorIs(t, s.CheckKeys(ctx), keyring.ErrUnknownKey)
	})
	t.Run("promoted before it was backfilled", func(t *testing.T) {
		r := newRig(t, vault.Options{})
		token := insert(t, r.Service, ada)
		require.Equal(t, token, insert(t, r.with(t, 2, 1), ada))
		require.Equal(t, token, tokenize(t, r.with(t, 2, 1), ada))
	})
	t.Run("not loaded when others backfill", func(t *testing.T) {
		r := newRig(t, vault.Options{})
		token := insert(t, r.Service, ada)
		require.NoError(t, r.with(t, 1, 2).Backfill(ctx, 2, nil))
		_, err := r.Insert(ctx, "acme", "ops", "v1", bob)
		require.ErrorIs(t, err, keyring.ErrUnknownKey)
		require.ErrorContains(t, err, "fingerprint key of version 2")
		err = r.Import(ctx, "acme", "ops", "v1", []vault.ImportItem{{Item: bob[0], Token: "2f1c1d5e-8f0a-4c3e-9a55-0c6f2a7b9d10"}})
		require.ErrorIs(t, err, keyring.ErrUnknownKey)
		require.ErrorContains(t, err, "fingerprint key of version 2")
		require.Equal(t, token, tokenize(t, r.Service, ada), "what is there is found")
		_, err = r.Tokenize(ctx, "acme", "v1", bob)
		require.ErrorIs(t, err, keyring.ErrUnknownKey, "what is not found may be there")
		require.NotErrorIs(t, err, vault.ErrValueNotFound)
	})
	t.Run("retired too early", func(t *testing.T) {
		r := newRig(t, vault.Options{})
		insert(t, r.Service, ada)
		both, promoted := r.with(t, 1, 2), r.with(t, 2, 1)
		for _, p := range []keyring.Purpose{keyring.FingerprintKey, keyring.SealKey} {
			require.ErrorIs(t, both.Retire(ctx, p, 1, nil), keyring.ErrInUse, "it is primary")
			require.ErrorIs(t, promoted.Retire(ctx, p, 1, nil), keyring.ErrInUse)
		}
		require.NoError(t, both.Backfill(ctx, 2, nil))
		require.ErrorIs(t, both.Retire(ctx, keyring.FingerprintKey, 1, nil), keyring.ErrInUse)
		require.ErrorIs(t, promoted.Retire(ctx, keyring.SealKey, 1, nil), keyring.ErrInUse, "not yet rewrapped")
		require.NoError(t, promoted.Retire(ctx, keyring.FingerprintKey, 1, nil))
		require.ErrorIs(t, promoted.Retire(ctx, keyring.FingerprintKey, 9, nil), keyring.ErrUnknownKey)
		require.Error(t, promoted.Retire(ctx, "other", 1, nil))
	})
	t.Run("the old one after it was retired", func(t *testing.T) {
		r := newRig(t, vault.Options{})
		insert(t, r.Service, ada)
		added := r.with(t, 1, 2) // has seen the keys before
		require.NoError(t, added.Backfill(ctx, 2, nil))
		rotate(t, r, 1, 2)
		for _, err := range everyCall(t, r.with(t, 1, 2), ada) {
			require.ErrorIs(t, err, keyring.ErrRetired)
		}
		_, err := added.Insert(ctx, "acme", "ops", "v1", bob)
		require.ErrorIs(t, err, keyring.ErrRetired)
		require.ErrorIs(t, added.Backfill(ctx, 1, nil), keyring.ErrRetired)
		_, err = r.Tokenize(ctx, "acme", "v1", ada)
		require.ErrorIs(t, err, keyring.ErrUnknownKey)
		require.NotErrorIs(t, err, vault.ErrValueNotFound)
	})
	t.Run("backfill of a version that is not loaded", func(t *testing.T) {
		r := newRig(t, vault.Options{})
		require.ErrorIs(t, r.Backfill(ctx, 2, nil), keyring.ErrUnknownKey)
	})
}

// everyCall returns the errors of the calls that need the keys.
func everyCall(t *testing.T, s *vault.Service, items []vault.Item) []error {
	ctx := t.Context()
	_, tokenized := s.Tokenize(ctx, "acme", "v1", items)
	_, inserted := s.Insert(ctx, "acme", "ops", "v1", items)
	_, shown := s.Detokenize(ctx, "acme", "ops", "v1", asked("x"), everything)
	return []error{tokenized, inserted, shown, s.Rewrap(ctx, nil), s.Ping(ctx), s.CheckKeys(ctx)}
}

// otherKey is a keyring whose version 1 is another key.
type otherKey struct{ keyring.Keyring }

func (o otherKey) Fingerprint(ctx context.Context, _ int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	return o.Keyring.Fingerprint(ctx, 2, items, dst)
}

// With another key under the same number nothing would be found, and everything would get
// a second token.
func TestWrongKey(t *testing.T) {
	r := newRig(t, vault.Options{})
	ada := of("persons", "name", "Ada")
	insert(t, r.Service, ada)
	s, err := vault.New(vault.Backend{Store: r.store}, otherKey{newKeyring(t, 1, 2)}, nil)
	require.NoError(t, err)
	for _, err := range everyCall(t, s, ada) {
		require.ErrorIs(t, err, keyring.ErrWrongKey)
	}
}

// A step that is cut off goes on where it was, and says how far it is.
func TestRotationResumes(t *testing.T) {
	r := newRig(t, vault.Options{})
	items := values(600)
	tokens := insertAll(t, r.Service, items)
	added, promoted := r.with(t, 1, 2), r.with(t, 2, 1)
	steps := []struct {
		name  string
		total int
		do    func(ctx context.Context, progress func(vault.Progress)) error
	}{
		{"backfill", 1200, func(ctx context.Context, p func(vault.Progress)) error { return added.Backfill(ctx, 2, p) }},
		{"rewrap", 1200, func(ctx context.Context, p func(vault.Progress)) error { return promoted.Rewrap(ctx, p) }},
		{"retire the seals", 0, func(ctx context.Context, p func(vault.Progress)) error {
			return promoted.Retire(ctx, keyring.SealKey, 1, p)
		}},
		{"retire the fingerprints", 1200, func(ctx context.Context, p func(vault.Progress)) error {
			return promoted.Retire(ctx, keyring.FingerprintKey, 1, p)
		}},
	}
	for _, step := range steps {
		ctx, cancel := context.WithCancel(t.Context())
		var before []vault.Progress
		err := step.do(ctx, func(p vault.Progress) {
			if before = append(before, p); p.Done > 0 {
				cancel()
			}
		})
		if step.total > 0 {
			require.ErrorIs(t, err, context.Canceled, step.name)
			require.Equal(t, []vault.Progress{{Done: 0, Total: step.total}, {Done: 500, Total: step.total}}, before, step.name)
		}
		cancel()
		require.Equal(t, tokens[:1000], tokenize(t, promoted, items[:1000]))
		var after []vault.Progress
		require.NoError(t, step.do(t.Context(), func(p vault.Progress) { after = append(after, p) }), step.name)
		if step.total > 0 {
			last := after[len(after)-1]
			require.Equal(t, last.Total, last.Done, step.name)
			require.Len(t, after, 3, step.name)
		}
	}
	require.Equal(t, tokens[200:], tokenize(t, r.with(t, 2), items[200:]))
}

// sparse is a store that returns an empty page before each page of a scan.
type sparse struct {
	vault.Store
	empty int
}

func (s *sparse) page(after mortise.Cursor, scan func(after mortise.Cursor) (mortise.Page[vault.Row], error)) (mortise.Page[vault.Row], error) {
	if from, ok := strings.CutPrefix(string(after), "from "); ok {
		return scan(mortise.Cursor(from))
	}
	s.empty++
	return mortise.Page[vault.Row]{Next: "from " + after}, nil
}

func (s *sparse) RowsWithoutFingerprint(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	return s.page(after, func(after mortise.Cursor) (mortise.Page[vault.Row], error) {
		return s.Store.RowsWithoutFingerprint(ctx, version, after, limit)
	})
}

func (s *sparse) RowsNotSealedUnder(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	return s.page(after, func(after mortise.Cursor) (mortise.Page[vault.Row], error) {
		return s.Store.RowsNotSealedUnder(ctx, version, after, limit)
	})
}

// A rotation goes on over pages that are empty, and takes none of them for the end of
// what lacks a key.
func TestRotationOverEmptyPages(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	items := values(600)
	tokens := insertAll(t, r.Service, items)
	store := &sparse{Store: r.store}
	service := func(primary, other int) *vault.Service {
		s, err := vault.New(vault.Backend{Store: store}, newKeyring(t, primary, other), nil)
		require.NoError(t, err)
		return s
	}
	added, promoted := service(1, 2), service(2, 1)
	require.NoError(t, r.store.RequireKey(ctx, 1))
	require.NoError(t, added.CheckKeys(ctx))
	require.NoError(t, store.RequireKey(ctx, 2))
	require.ErrorIs(t, promoted.Retire(ctx, keyring.FingerprintKey, 1, nil), keyring.ErrInUse, "nothing has a fingerprint of version 2")
	require.NoError(t, added.Backfill(ctx, 2, nil))
	require.NoError(t, promoted.Rewrap(ctx, nil))
	require.NotZero(t, store.empty)
	require.NoError(t, promoted.Retire(ctx, keyring.SealKey, 1, nil))
	require.NoError(t, promoted.Retire(ctx, keyring.FingerprintKey, 1, nil))
	require.Equal(t, tokens[200:], tokenize(t, r.with(t, 2), items[200:]))
}

// Whoever drops a key too early is told to load it, and not to delete what it would open.
func TestRewrapWithoutTheOldKey(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	token := insert(t, r.Service, of("persons", "name", "Ada"))
	require.NoError(t, r.with(t, 1, 2).Backfill(ctx, 2, nil))
	require.NoError(t, r.with(t, 2, 1).Retire(ctx, keyring.FingerprintKey, 1, nil))

	err := r.with(t, 2).Rewrap(ctx, nil)
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
	require.ErrorContains(t, err, "1 values need a version of the key that is not loaded; load it")
	require.ErrorContains(t, err, token[0])
	require.NotContains(t, err.Error(), "delete")
	require.NotContains(t, err.Error(), "\n", "a message is one line")
	require.NoError(t, r.with(t, 2, 1).Rewrap(ctx, nil))
}

// Rows that cannot be read hold up no others. The error names them, and the old version
// stays until they are gone.
func TestRotationWithBrokenRows(t *testing.T) {
	ctx := t.Context()
	r := newRig(t, vault.Options{})
	items := values(3)
	tokens := insertAll(t, r.Service, items)
	rows, err := r.store.Rows(ctx, "acme", "v1", tokens[:1])
	require.NoError(t, err)
	bad := keyring.Sealed{Version: 1, Ciphertext: []byte("not a ciphertext of anything that anybody has sealed")}
	_, err = r.store.Reseal(ctx, []vault.Resealed{{Row: rows[0].ID(), From: rows[0].Sealed, To: bad}})
	require.NoError(t, err)

	added, promoted := r.with(t, 1, 2), r.with(t, 2, 1)
	for _, step := range []func() error{func() error { return added.Backfill(ctx, 2, nil) }, func() error { return promoted.Rewrap(ctx, nil) }} {
		err := step()
		require.ErrorIs(t, err, keyring.ErrCorrupt)
		var of *vault.TokenError
		require.ErrorAs(t, err, &of)
		require.Equal(t, tokens[0], of.Token)
		require.ErrorContains(t, err, "1 values")
	}
	require.ErrorIs(t, promoted.Retire(ctx, keyring.FingerprintKey, 1, nil), keyring.ErrInUse)
	require.ErrorIs(t, promoted.Retire(ctx, keyring.SealKey, 1, nil), keyring.ErrInUse)
	require.NoError(t, promoted.Delete(ctx, "acme", "ops", "v1", tokens[0]))
	require.NoError(t, promoted.Retire(ctx, keyring.FingerprintKey, 1, nil))
	require.NoError(t, promoted.Retire(ctx, keyring.SealKey, 1, nil))
	require.Equal(t, tokens[1:], tokenize(t, r.with(t, 2), items[1:]))
}

// Keys are changed while values are inserted: everybody always gets the same token.
func TestRotationUnderLoad(t *testing.T) {
	r := newRig(t, vault.Options{})
	var mu sync.Mutex
	known := make(map[string]string)
	stop := make(chan struct{})
	var all sync.WaitGroup
	services := []*vault.Service{r.with(t, 1, 2), r.with(t, 2, 1)}
	for g := range 4 {
		all.Go(func() {
			for i := g; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				value := fmt.Sprint("value ", i%500)
				tokens, err := services[i%2].Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", value))
				if errors.Is(err, keyring.ErrRetired) && i%2 == 0 {
					continue // this one still seals with the old version
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				before, ok := known[value]
				known[value] = tokens[0]
				mu.Unlock()
				if ok && before != tokens[0] {
					t.Errorf("%s had %s, and has %s", value, before, tokens[0])
				}
			}
		})
	}
	err := func() error {
		if err := services[0].Backfill(t.Context(), 2, nil); err != nil {
			return err
		}
		for {
			if err := services[1].Rewrap(t.Context(), nil); err != nil {
				return err
			}
			if err := services[1].Retire(t.Context(), keyring.SealKey, 1, nil); !errors.Is(err, keyring.ErrInUse) {
				return errors.Join(err, services[1].Retire(t.Context(), keyring.FingerprintKey, 1, nil))
			}
		}
	}()
	close(stop)
	all.Wait()
	require.NoError(t, err)
	for value, token := range known {
		require.Equal(t, []string{token}, tokenize(t, r.with(t, 2), of("persons", "name", value)))
	}
}

// replaced is a keyring whose keys are replaced by others in the middle of an operation.
type replaced struct {
	keyring.Keyring
	next  keyring.Keyring
	calls int // until it happens
}

func (r *replaced) count(s keyring.Scope) {
	if r.calls--; r.calls == 0 && s.Organization != "" {
		r.Keyring = r.next
	}
}

func (r *replaced) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	r.count(items[0].Scope)
	return r.Keyring.Fingerprint(ctx, version, items, dst)
}

func (r *replaced) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	r.count(items[0].Scope)
	return r.Keyring.Open(ctx, items)
}

// A host may give a service that runs other keys: what is under way is repeated with
// them.
func TestKeysAreReplacedUnderWay(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	ada, bob := of("persons", "name", "Ada"), of("persons", "name", "Bob")
	token := insert(t, r.Service, ada)
	rotate(t, r, 1, 2)
	for name, do := range map[string]func(s *vault.Service) error{
		"Tokenize": func(s *vault.Service) error { _, err := s.Tokenize(ctx, "acme", "v1", ada); return err },
		"Insert": func(s *vault.Service) error {
			_, err := s.Insert(ctx, "acme", "ops", "v1", append(bob, ada...))
			return err
		},
	} {
		// The keyring has version 3 first, as nobody else does.
		keys := &replaced{newKeyring(t, 3, 2), newKeyring(t, 2), 3}
		s, err := vault.New(vault.Backend{Store: r.store}, keys, nil)
		require.NoError(t, err)
		require.NoError(t, do(s), name)
		require.Less(t, keys.calls, 1, "the keys were replaced")
	}
	require.Equal(t, token, tokenize(t, r.with(t, 2), ada))

	// The other way round, the row's key is gone when it is opened.
	keys := &replaced{newKeyring(t, 2), newKeyring(t, 3), 2}
	s, err := vault.New(vault.Backend{Store: r.store}, keys, nil)
	require.NoError(t, err)
	_, err = s.Detokenize(ctx, "acme", "ops", "v1", asked(token...), everything)
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
}

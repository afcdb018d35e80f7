package vault_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// busy is a store where something happens before each ImportTokens: what the service
// has read is of yesterday then.
type busy struct {
	vault.Store
	happens func(call int)
	calls   int
}

func (m *busy) ImportTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
	m.calls++
	m.happens(m.calls)
	return m.Store.ImportTokens(ctx, org, id, revision, rows, a)
}

// importWhile imports "there" under uuidA, which is there, and "new" under uuidB, while
// something happens, once.
func importWhile(t *testing.T, happens func(r *rig, other *vault.Service)) (r *rig, calls int, err error) {
	t.Helper()
	r = newRig(t, vault.Options{})
	other := r.with(t, 2, 1)
	require.NoError(t, imports(t, r.Service, withToken("persons", "name", "there", uuidA)))
	m := &busy{Store: r.store, happens: func(call int) {
		if call == 1 {
			happens(r, other)
		}
	}}
	s, err := vault.New(vault.Backend{Store: m}, newKeyring(t, 1, 2), nil)
	require.NoError(t, err)
	err = imports(t, s, withToken("persons", "name", "there", uuidA), withToken("persons", "name", "new", uuidB))
	return r, m.calls, err
}

// Whatever others do between the look and the step that stores: the import is done as if
// it had come before or after, or is refused.
func TestImportBesideOthers(t *testing.T) {
	for what, c := range map[string]struct {
		happens   func(r *rig, other *vault.Service)
		calls     int
		conflicts []int // nil: it is done
	}{
		"nothing": {func(*rig, *vault.Service) {}, 1, nil},
		"the same import": {func(_ *rig, other *vault.Service) {
			require.NoError(t, imports(t, other, withToken("persons", "name", "new", uuidB), withToken("persons", "name", "there", uuidA)))
		}, 2, nil},
		"the value gets another token": {func(_ *rig, other *vault.Service) { insert(t, other, of("persons", "name", "new")) }, 1, []int{1}},
		"the value gets another token by an import": {func(_ *rig, other *vault.Service) {
			require.NoError(t, imports(t, other, withToken("persons", "name", "new", uuidC)))
		}, 1, []int{1}},
		"the token goes to another value": {func(_ *rig, other *vault.Service) {
			require.NoError(t, imports(t, other, withToken("persons", "name", "Eve", uuidB)))
		}, 2, []int{1}},
		"the token goes to another column": {func(_ *rig, other *vault.Service) {
			require.NoError(t, imports(t, other, withToken("persons", "diary", "new", uuidB)))
		}, 2, []int{1}},
		"what is there is deleted": {func(_ *rig, other *vault.Service) {
			require.NoError(t, other.Delete(t.Context(), "acme", "ops", "v1", uuidA))
		}, 2, []int{0}},
		"what is there gets another key": {func(_ *rig, other *vault.Service) {
			require.NoError(t, other.Backfill(t.Context(), 2, nil))
			require.NoError(t, other.Rewrap(t.Context(), nil))
		}, 2, nil},
		"the schema changes": {func(_ *rig, other *vault.Service) {
			_, err := other.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error {
				s.Tables[1].Columns = s.Tables[1].Columns[:1]
				return nil
			})
			require.NoError(t, err)
		}, 2, nil},
	} {
		t.Run(what, func(t *testing.T) {
			r, calls, err := importWhile(t, c.happens)
			require.Equal(t, c.calls, calls, "calls of the store")
			s := r.with(t, 1, 2)
			if c.conflicts == nil {
				require.NoError(t, err)
				require.Equal(t, []string{uuidA, uuidB}, tokenize(t, s, of("persons", "name", "there", "new")))
				require.Equal(t, []string{"there", "new"}, reveal(t, s, uuidA, uuidB))
				return
			}
			require.Equal(t, c.conflicts, indexes(t, err, vault.ErrTokenConflict))
			for _, e := range imported(t, s) {
				require.Len(t, e.Tokens, 1, "the event of an import that was refused")
			}
			tokens, err := s.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "new"))
			if err == nil {
				require.NotEqual(t, uuidB, tokens[0])
			}
		})
	}
}

// A service does not try without end, however busy others are with the same tokens.
func TestImportGivesUp(t *testing.T) {
	r := newRig(t, vault.Options{})
	require.NoError(t, imports(t, r.Service, withToken("persons", "name", "there", uuidA)))
	m := &busy{Store: r.store, happens: func(call int) { // as a rotation without end
		rows, err := r.store.Rows(t.Context(), "acme", "v1", []string{uuidA})
		require.NoError(t, err)
		again, err := newKeyring(t, 1).Seal(t.Context(), []keyring.SealItem{{
			Scope: keyring.Scope{Organization: "acme", Vault: "v1", Name: "persons.name"}, Token: uuidA, Value: vault.NewValue("there"),
		}})
		require.NoError(t, err)
		n, err := r.store.Reseal(t.Context(), []vault.Resealed{{Row: rows[0].ID(), From: rows[0].Sealed, To: again[0].Sealed}})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}}
	s, err := vault.New(vault.Backend{Store: m}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	err = imports(t, s, withToken("persons", "name", "there", uuidA), withToken("persons", "name", "new", uuidB))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Equal(t, 10, m.calls)
	require.Len(t, imported(t, r.Service), 1)
	_, err = r.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "new"))
	require.ErrorIs(t, err, vault.ErrValueNotFound)
}

// vague is a store that refuses an import and does not say why.
type vague struct{ vault.Store }

func (vague) ImportTokens(context.Context, string, string, int64, []vault.Row, vault.AuditEvent) error {
	return &vault.TakenError{}
}

// A refusal without rows is no success.
func TestImportRefusedWithoutRows(t *testing.T) {
	r := newRig(t, vault.Options{})
	s, err := vault.New(vault.Backend{Store: vague{r.store}}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	require.ErrorIs(t, imports(t, s, withToken("persons", "name", "Ada", uuidA)), mortise.ErrUnavailable)
}

// A call whose answer was lost is repeated, and is done then.
func TestImportRepeated(t *testing.T) {
	r := newRig(t, vault.Options{})
	var items []vault.ImportItem
	for i := range 5 {
		items = append(items, withToken("orders", "number", fmt.Sprint(i), "ord_"+token26(i)))
	}
	s, err := vault.New(vault.Backend{Store: &lost{Store: r.store}}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	require.ErrorIs(t, imports(t, s, items...), mortise.ErrUnavailable)
	require.NoError(t, imports(t, s, items...))
	require.Len(t, imported(t, s), 2)
	require.Equal(t, []string{items[3].Token}, tokenize(t, s, []vault.Item{items[3].Item}))
}

// lost is a store whose first answer to ImportTokens is lost.
type lost struct {
	vault.Store
	calls int
}

func (l *lost) ImportTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
	err := l.Store.ImportTokens(ctx, org, id, revision, rows, a)
	if l.calls++; l.calls == 1 && err == nil {
		return errDown
	}
	return err
}

// What was there under a key that is retired by now is there under another one.
func TestImportWhileAKeyRetires(t *testing.T) {
	ctx := t.Context()
	r := newRig(t, vault.Options{})
	require.NoError(t, imports(t, r.Service, withToken("persons", "name", "there", uuidA)))
	old, other := r.with(t, 1, 2), r.with(t, 2, 1)
	tokenize(t, old, of("persons", "name", "there"))
	require.NoError(t, other.Backfill(ctx, 2, nil))
	m := &busy{Store: r.store, happens: func(call int) {
		if call == 1 {
			require.NoError(t, other.Rewrap(ctx, nil))
			require.NoError(t, other.Retire(ctx, keyring.SealKey, 1, nil))
		}
	}}
	s, err := vault.New(vault.Backend{Store: m}, newKeyring(t, 2, 1), nil)
	require.NoError(t, err)
	items := []vault.ImportItem{withToken("persons", "name", "there", uuidA), withToken("persons", "name", "new", uuidB)}
	require.NoError(t, imports(t, s, items...))
	require.Equal(t, 2, m.calls)
	require.Equal(t, []string{"there", "new"}, reveal(t, s, uuidA, uuidB))
	require.ErrorIs(t, imports(t, old, withToken("persons", "name", "Eve", uuidC)), keyring.ErrRetired)
}

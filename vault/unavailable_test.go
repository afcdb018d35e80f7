package vault_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

var errDown = errors.New("the disk is gone")

// failing is a store of which one method fails.
type failing struct {
	vault.Store
	method string
}

func (f *failing) err(method string) error {
	if f.method == method {
		return errDown
	}
	return nil
}

func (f *failing) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	if err := f.err("Vault"); err != nil {
		return vault.Vault{}, err
	}
	return f.Store.Vault(ctx, org, id)
}

func (f *failing) PutVault(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
	if err := f.err("PutVault"); err != nil {
		return err
	}
	return f.Store.PutVault(ctx, v, left, a)
}

func (f *failing) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	if err := f.err("FindTokens"); err != nil {
		return nil, err
	}
	return f.Store.FindTokens(ctx, org, id, revision, lookups)
}

func (f *failing) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	if err := f.err("InsertTokens"); err != nil {
		return nil, err
	}
	return f.Store.InsertTokens(ctx, org, id, revision, rows)
}

func (f *failing) ImportTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
	if err := f.err("ImportTokens"); err != nil {
		return err
	}
	return f.Store.ImportTokens(ctx, org, id, revision, rows, a)
}

func (f *failing) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	if err := f.err("Rows"); err != nil {
		return nil, err
	}
	return f.Store.Rows(ctx, org, id, tokens)
}

func (f *failing) ListRows(ctx context.Context, org, id string, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	if err := f.err("ListRows"); err != nil {
		return mortise.Page[vault.Row]{}, err
	}
	return f.Store.ListRows(ctx, org, id, after, limit)
}

func (f *failing) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	if err := f.err("DeleteToken"); err != nil {
		return err
	}
	return f.Store.DeleteToken(ctx, org, id, token, a)
}

func (f *failing) Keys(ctx context.Context) ([]keyring.Key, error) {
	keys, err := f.Store.Keys(ctx)
	return keys, errors.Join(f.err("Keys"), err)
}

func (f *failing) RegisterKey(ctx context.Context, k keyring.Key) (keyring.Key, error) {
	if err := f.err("RegisterKey"); err != nil {
		return keyring.Key{}, err
	}
	if err := f.err("RegisterSeal"); err != nil && k.Purpose == keyring.SealKey {
		return keyring.Key{}, err
	}
	return f.Store.RegisterKey(ctx, k)
}

func (f *failing) RequireKey(ctx context.Context, version int) error {
	return errors.Join(f.err("RequireKey"), f.Store.RequireKey(ctx, version))
}

func (f *failing) RetireKey(ctx context.Context, p keyring.Purpose, version, successor int) error {
	if err := f.err("RetireKey"); err != nil {
		return err
	}
	return f.Store.RetireKey(ctx, p, version, successor)
}

func (f *failing) KeyUsage(ctx context.Context) (keyring.Usage, error) {
	usage, err := f.Store.KeyUsage(ctx)
	return usage, errors.Join(f.err("KeyUsage"), err)
}

func (f *failing) RowsWithoutFingerprint(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	if err := f.err("RowsWithoutFingerprint"); err != nil {
		return mortise.Page[vault.Row]{}, err
	}
	return f.Store.RowsWithoutFingerprint(ctx, version, after, limit)
}

func (f *failing) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
	if err := f.err("AddFingerprints"); err != nil {
		return nil, err
	}
	return f.Store.AddFingerprints(ctx, version, of)
}

func (f *failing) RowsNotSealedUnder(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	if err := f.err("RowsNotSealedUnder"); err != nil {
		return mortise.Page[vault.Row]{}, err
	}
	return f.Store.RowsNotSealedUnder(ctx, version, after, limit)
}

func (f *failing) Reseal(ctx context.Context, rows []vault.Resealed) (int, error) {
	if err := f.err("Reseal"); err != nil {
		return 0, err
	}
	return f.Store.Reseal(ctx, rows)
}

func (f *failing) RemoveFingerprints(ctx context.Context, version, limit int) (int, bool, error) {
	if err := f.err("RemoveFingerprints"); err != nil {
		return 0, false, err
	}
	return f.Store.RemoveFingerprints(ctx, version, limit)
}

func (f *failing) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	return errors.Join(f.err("AddAuditEvent"), f.Store.AddAuditEvent(ctx, e))
}

func (f *failing) ListAuditEvents(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
	page, err := f.Store.ListAuditEvents(ctx, org, q)
	return page, errors.Join(f.err("AuditEvents"), err)
}

func (f *failing) PruneAudit(ctx context.Context, before time.Time, limit int) (int, bool, error) {
	return 0, false, errors.Join(f.err("PruneAudit"), ctx.Err())
}

// A store that fails is "unavailable", whatever the call and wherever in it: never a
// wrong answer, and never an error that means something else.
func TestUnavailableStore(t *testing.T) {
	const keys = "RegisterKey RegisterSeal Keys "
	ada, bob := of("persons", "name", "Ada"), of("persons", "name", "Bob")
	type call struct {
		methods string // that the call needs
		do      func(ctx context.Context, s *vault.Service, token string) error
	}
	export := func(ctx context.Context, s *vault.Service, _ string) error {
		for _, err := range s.Export(ctx, "acme", "ops", "v1", everything) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for name, c := range map[string]call{
		"CreateVault": {"PutVault", func(ctx context.Context, s *vault.Service, _ string) error {
			_, err := s.CreateVault(ctx, "acme", "ops", "v2", schema)
			return err
		}},
		"ChangeSchema": {"Vault PutVault", func(ctx context.Context, s *vault.Service, _ string) error {
			_, err := s.ChangeSchema(ctx, "acme", "ops", "v1", func(*vault.Schema) error { return nil })
			return err
		}},
		"Tokenize": {keys + "Vault FindTokens", func(ctx context.Context, s *vault.Service, _ string) error {
			_, err := s.Tokenize(ctx, "acme", "v1", ada)
			return err
		}},
		"Insert": {keys + "Vault FindTokens InsertTokens", func(ctx context.Context, s *vault.Service, _ string) error {
			_, err := s.Insert(ctx, "acme", "ops", "v1", bob)
			return err
		}},
		"Import": {keys + "Vault Rows ImportTokens", func(ctx context.Context, s *vault.Service, _ string) error {
			return s.Import(ctx, "acme", "ops", "v1", []vault.ImportItem{{Item: bob[0], Token: uuidA}})
		}},
		"Detokenize": {keys + "Vault Rows AddAuditEvent", func(ctx context.Context, s *vault.Service, token string) error {
			_, err := s.Detokenize(ctx, "acme", "ops", "v1", asked(token), everything)
			return err
		}},
		"Delete": {"Rows DeleteToken", func(ctx context.Context, s *vault.Service, token string) error {
			return s.Delete(ctx, "acme", "ops", "v1", token)
		}},
		"Export": {keys + "Vault ListRows AddAuditEvent", export},
		"Backfill": {keys + "RequireKey KeyUsage RowsWithoutFingerprint AddFingerprints", func(ctx context.Context, s *vault.Service, _ string) error {
			return s.Backfill(ctx, 2, nil)
		}},
		"Rewrap": {keys + "KeyUsage RowsNotSealedUnder Reseal", func(ctx context.Context, s *vault.Service, _ string) error { return s.Rewrap(ctx, nil) }},
		"Retire": {keys + "RowsWithoutFingerprint RetireKey KeyUsage RemoveFingerprints", func(ctx context.Context, s *vault.Service, _ string) error {
			if err := s.Backfill(context.Background(), 2, nil); err != nil {
				return err
			}
			return s.Retire(ctx, keyring.FingerprintKey, 1, nil)
		}},
		"KeyUsage":  {"KeyUsage", func(ctx context.Context, s *vault.Service, _ string) error { _, err := s.KeyUsage(ctx); return err }},
		"Ping":      {keys + "Vault", func(ctx context.Context, s *vault.Service, _ string) error { return s.Ping(ctx) }},
		"CheckKeys": {keys, func(ctx context.Context, s *vault.Service, _ string) error { return s.CheckKeys(ctx) }},
		"Prune":     {"PruneAudit", func(ctx context.Context, s *vault.Service, _ string) error { _, err := s.Prune(ctx, begin); return err }},
		"AuditEvents": {"AuditEvents", func(ctx context.Context, s *vault.Service, _ string) error {
			_, err := s.ListAuditEvents(ctx, "acme", vault.AuditQuery{})
			return err
		}},
		"AllAuditEvents": {"AuditEvents", func(ctx context.Context, s *vault.Service, _ string) error {
			for _, err := range s.AuditEvents(ctx, "acme", vault.AuditQuery{}) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		const every = "Vault PutVault FindTokens InsertTokens ImportTokens Rows ListRows DeleteToken Keys RegisterKey RegisterSeal RequireKey RetireKey KeyUsage " +
			"RowsWithoutFingerprint AddFingerprints RowsNotSealedUnder Reseal RemoveFingerprints AddAuditEvent AuditEvents PruneAudit"
		needed := words(c.methods)
		for method := range words(every) {
			if name == "Retire" && words("RequireKey AddFingerprints")[method] {
				continue // of the steps before it
			}
			t.Run(name+" without "+method, func(t *testing.T) {
				r := newRig(t, vault.Options{})
				token := insert(t, r.Service, ada)[0]
				primary, other := 1, 2
				if name == "Retire" || name == "Rewrap" {
					primary, other = 2, 1
				}
				s, err := vault.New(vault.Backend{Store: &failing{r.store, method}}, newKeyring(t, primary, other), nil)
				require.NoError(t, err)
				err = c.do(t.Context(), s, token)
				if !needed[method] {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, mortise.ErrUnavailable)
				require.ErrorIs(t, err, errDown)
				for _, sentinel := range []error{mortise.ErrNotFound, vault.ErrValueNotFound, vault.ErrTokenNotFound, keyring.ErrCorrupt, keyring.ErrUnknownKey, keyring.ErrWrongKey} {
					require.NotErrorIs(t, err, sentinel)
				}
			})
		}
	}
}

func words(text string) map[string]bool {
	set := make(map[string]bool)
	word := ""
	for _, r := range text + " " {
		if r != ' ' {
			word += string(r)
		} else if word != "" {
			set[word], word = true, ""
		}
	}
	return set
}

// brokenKeys is a keyring of which one method fails, as a KMS that does not answer.
type brokenKeys struct {
	keyring.Keyring
	method string
}

func (b *brokenKeys) err(method string) error { return (&failing{method: b.method}).err(method) }

func (b *brokenKeys) Versions(ctx context.Context) (keyring.Versions, error) {
	v, err := b.Keyring.Versions(ctx)
	return v, errors.Join(b.err("Versions"), err)
}

func (b *brokenKeys) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	if org := items[0].Scope.Organization; org != "" && b.method == "Fingerprint" || org == "" && b.method == "Check" {
		return errDown
	}
	return b.Keyring.Fingerprint(ctx, version, items, dst)
}

func (b *brokenKeys) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	sealed, err := b.Keyring.Seal(ctx, items)
	return sealed, errors.Join(b.err("Seal"), err)
}

func (b *brokenKeys) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	opened, err := b.Keyring.Open(ctx, items)
	return opened, errors.Join(b.err("Open"), err)
}

func TestUnavailableKeyring(t *testing.T) {
	for method, fails := range map[string]string{
		"":            "",
		"Versions":    "Tokenize Insert Import Detokenize Backfill Rewrap",
		"Check":       "Tokenize Insert Import Detokenize Backfill Rewrap",
		"Fingerprint": "Tokenize Insert Import Backfill",
		"Seal":        "Insert Import Rewrap",
		"Open":        "Import Detokenize Backfill Rewrap",
	} {
		r := newRig(t, vault.Options{})
		token := insert(t, r.Service, of("persons", "name", "Ada"))
		s, err := vault.New(vault.Backend{Store: r.store}, &brokenKeys{newKeyring(t, 2, 1), method}, nil)
		require.NoError(t, err)
		ctx := t.Context()
		errs := make(map[string]error)
		_, errs["Tokenize"] = s.Tokenize(ctx, "acme", "v1", of("persons", "name", "Ada"))
		_, errs["Insert"] = s.Insert(ctx, "acme", "ops", "v1", of("persons", "name", "Bob"))
		errs["Import"] = imports(t, s, vault.ImportItem{Item: of("persons", "name", "Ada")[0], Token: token[0]}, withToken("persons", "name", "Eve", uuidA))
		_, errs["Detokenize"] = s.Detokenize(ctx, "acme", "ops", "v1", asked(token...), everything)
		errs["Backfill"] = s.Backfill(ctx, 2, nil)
		errs["Rewrap"] = s.Rewrap(ctx, nil)
		for call, err := range errs {
			if !words(fails)[call] {
				require.NoError(t, err, "%s without %s", call, method)
				continue
			}
			require.ErrorIs(t, err, mortise.ErrUnavailable, "%s without %s", call, method)
			require.ErrorIs(t, err, errDown)
		}
	}
}

// noRandomness is a source that has run dry.
type noRandomness struct{}

func (noRandomness) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Without randomness for its audit event nothing is changed and nothing shown.
func TestNoRandomness(t *testing.T) {
	r := newRig(t, vault.Options{})
	token := insert(t, r.Service, of("persons", "name", "Ada"))
	s, err := vault.New(vault.Backend{Store: r.store}, newKeyring(t, 1), &vault.Options{Env: mortise.Env{Rand: noRandomness{}}})
	require.NoError(t, err)
	ctx := t.Context()
	_, created := s.CreateVault(ctx, "acme", "ops", "v2", schema)
	_, shown := s.Detokenize(ctx, "acme", "ops", "v1", asked(token...), everything)
	for _, err := range []error{created, shown, imports(t, s, withToken("persons", "name", "Eve", uuidA)), s.Delete(ctx, "acme", "ops", "v1", token[0])} {
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
	require.Equal(t, []string{"Ada"}, reveal(t, r.Service, token...))
	_, err = r.Vault(ctx, "acme", "v2")
	require.ErrorIs(t, err, mortise.ErrNotFound)
}

func TestNew(t *testing.T) {
	r := newRig(t, vault.Options{})
	_, err := vault.New(vault.Backend{Store: nil}, newKeyring(t, 1), nil)
	require.Error(t, err)
	_, err = vault.New(vault.Backend{Store: r.store}, nil, nil)
	require.Error(t, err)
	require.Equal(t, 1000, r.Limits().Items)
	require.Equal(t, 64<<10, r.Limits().Value)
	require.NoError(t, r.Ping(t.Context()))
	require.NoError(t, r.CheckKeys(t.Context()))
}

// The observer hears of every call, with what came of it.
func TestObserver(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	r.observed = nil
	token := insert(t, r.Service, of("persons", "name", "Ada", "Bob"))
	tokenize(t, r.Service, of("persons", "name", "Ada"))
	_, notFound := r.Tokenize(ctx, "acme", "nope", of("persons", "name", "Ada"))
	reveal(t, r.Service, token...)
	for _, err := range r.Export(ctx, "acme", "ops", "v1", nil) {
		require.NoError(t, err)
	}
	require.NoError(t, r.Delete(ctx, "acme", "ops", "v1", token[0]))
	_, err := r.ChangeSchema(ctx, "acme", "ops", "v1", func(*vault.Schema) error { return nil })
	require.NoError(t, err)
	require.NoError(t, r.Backfill(ctx, 1, nil))
	require.NoError(t, r.Rewrap(ctx, nil))
	inUse := r.Retire(ctx, keyring.SealKey, 1, nil)
	require.Equal(t, []mortise.Observation{
		{Kind: mortise.KindInserted, Organization: "acme", Object: "v1", Actor: "ops", Items: 2},
		{Kind: mortise.KindTokenized, Organization: "acme", Object: "v1", Items: 1},
		{Kind: mortise.KindTokenized, Organization: "acme", Object: "nope", Items: 1, Err: notFound},
		{Kind: mortise.KindDetokenized, Organization: "acme", Object: "v1", Actor: "ops", Items: 2},
		{Kind: mortise.KindExported, Organization: "acme", Object: "v1", Actor: "ops", Items: 2},
		{Kind: mortise.KindDeleted, Organization: "acme", Object: "v1", Actor: "ops", Items: 1},
		{Kind: mortise.KindSchemaChanged, Organization: "acme", Object: "v1", Actor: "ops", Items: 1},
		{Kind: mortise.KindBackfilling, Detail: vault.Progress{Done: 1, Total: 1}},
		{Kind: mortise.KindBackfilled, Detail: vault.Progress{Done: 1, Total: 1}},
		{Kind: mortise.KindRewrapping, Detail: vault.Progress{Done: 1, Total: 1}},
		{Kind: mortise.KindRewrapped, Detail: vault.Progress{Done: 1, Total: 1}},
		{Kind: mortise.KindKeyRetired, Err: inUse, Detail: vault.Progress{}},
	}, r.observed)
}

// short is a store that answers for less than it was asked.
type short struct{ vault.Store }

func (s short) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	found, err := s.Store.FindTokens(ctx, org, id, revision, lookups)
	for i := range found {
		found[i] = found[i][1:]
	}
	return found, err
}

func (s short) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	tokens, err := s.Store.InsertTokens(ctx, org, id, revision, rows)
	return tokens[1:], err
}

func (s short) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	rows, err := s.Store.Rows(ctx, org, id, tokens)
	return rows[1:], err
}

// A backend with a mistake makes no panic.
func TestStoreThatAnswersTooLittle(t *testing.T) {
	r := newRig(t, vault.Options{})
	token := insert(t, r.Service, of("persons", "name", "Ada"))
	s, err := vault.New(vault.Backend{Store: short{r.store}}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	ctx := t.Context()
	_, tokenized := s.Tokenize(ctx, "acme", "v1", of("persons", "name", "Ada"))
	_, inserted := s.Insert(ctx, "acme", "ops", "v1", of("persons", "diary", "dear"))
	_, shown := s.Detokenize(ctx, "acme", "ops", "v1", asked(token...), everything)
	for _, err := range []error{tokenized, inserted, shown, s.Delete(ctx, "acme", "ops", "v1", token[0])} {
		require.ErrorIs(t, err, mortise.ErrUnavailable)
	}
}

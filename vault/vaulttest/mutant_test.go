package vaulttest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// mutant is the memory backend, whose methods can be replaced: each of these is what the
// method calls.
type mutant struct {
	db      *memory.Vault
	broken  atomic.Bool // makes every method fail
	failure error       // what broken methods return

	vault                  func(ctx context.Context, org, id string) (vault.Vault, error)
	listVaults             func(ctx context.Context, org, after string, limit int) ([]vault.Vault, error)
	putVault               func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error
	findTokens             func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error)
	insertTokens           func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error)
	rows                   func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error)
	listRows               func(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error)
	deleteToken            func(ctx context.Context, org, id, token string, a vault.AuditEvent) error
	importTokens           func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error
	keys                   func(ctx context.Context) ([]keyring.Key, error)
	registerKey            func(ctx context.Context, k keyring.Key) (keyring.Key, error)
	requireKey             func(ctx context.Context, version int) error
	retireKey              func(ctx context.Context, p keyring.Purpose, version, successor int) error
	keyUsage               func(ctx context.Context) (keyring.Usage, error)
	rowsWithoutFingerprint func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error)
	addFingerprints        func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error)
	rowsNotSealedUnder     func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error)
	reseal                 func(ctx context.Context, rows []vault.Resealed) (int, error)
	removeFingerprints     func(ctx context.Context, version, limit int) (int, error)
	addAuditEvent          func(ctx context.Context, e vault.AuditEvent) error
	auditEvents            func(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error)
	pruneAudit             func(ctx context.Context, before time.Time, limit int) (int, error)
	stats                  func(ctx context.Context, org string, most int) (vault.Stats, error)
	vaultStats             func(ctx context.Context, org, id string, most int) (vault.Stats, error)
	statsAll               func(ctx context.Context, seal, most int) (vault.AllStats, error)
	markDeleted            func(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error)
	removeDeleted          func(ctx context.Context, org string, limit int) (bool, error)
	markVaultDeleted       func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error)
	removeDeletedVault     func(ctx context.Context, org, id string, limit int) (bool, error)
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	s := db.Vault().Store.(*memory.Vault)
	return &mutant{
		db: s, failure: errBroken,

		vault:                  s.Vault,
		listVaults:             s.ListVaults,
		putVault:               s.PutVault,
		findTokens:             s.FindTokens,
		insertTokens:           s.InsertTokens,
		rows:                   s.Rows,
		listRows:               s.ListRows,
		deleteToken:            s.DeleteToken,
		importTokens:           s.ImportTokens,
		keys:                   s.Keys,
		registerKey:            s.RegisterKey,
		requireKey:             s.RequireKey,
		retireKey:              s.RetireKey,
		keyUsage:               s.KeyUsage,
		rowsWithoutFingerprint: s.RowsWithoutFingerprint,
		addFingerprints:        s.AddFingerprints,
		rowsNotSealedUnder:     s.RowsNotSealedUnder,
		reseal:                 s.Reseal,
		removeFingerprints:     s.RemoveFingerprints,
		addAuditEvent:          s.AddAuditEvent,
		auditEvents:            s.ListAuditEvents,
		pruneAudit:             s.PruneAudit,
		stats:                  s.Stats,
		vaultStats:             s.VaultStats,
		statsAll:               s.StatsAll,
		markDeleted:            s.MarkDeleted,
		removeDeleted:          s.RemoveDeleted,
		markVaultDeleted:       s.MarkVaultDeleted,
		removeDeletedVault:     s.RemoveDeletedVault,
	}
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() vault.Backend { return vault.Backend{Store: m} }

func (m *mutant) fail() error {
	if m.broken.Load() {
		return m.failure
	}
	return nil
}

func (m *mutant) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	if err := m.fail(); err != nil {
		return vault.Vault{}, err
	}
	return m.vault(ctx, org, id)
}

func (m *mutant) PutVault(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.putVault(ctx, v, left, a)
}

func (m *mutant) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.findTokens(ctx, org, id, revision, lookups)
}

func (m *mutant) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.insertTokens(ctx, org, id, revision, rows)
}

func (m *mutant) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.rows(ctx, org, id, tokens)
}

func (m *mutant) ListRows(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.listRows(ctx, org, id, after, limit)
}

func (m *mutant) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.deleteToken(ctx, org, id, token, a)
}

func (m *mutant) ImportTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.importTokens(ctx, org, id, revision, rows, a)
}

func (m *mutant) Keys(ctx context.Context) ([]keyring.Key, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.keys(ctx)
}

func (m *mutant) RegisterKey(ctx context.Context, k keyring.Key) (keyring.Key, error) {
	if err := m.fail(); err != nil {
		return keyring.Key{}, err
	}
	return m.registerKey(ctx, k)
}

func (m *mutant) RequireKey(ctx context.Context, version int) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.requireKey(ctx, version)
}

func (m *mutant) RetireKey(ctx context.Context, p keyring.Purpose, version, successor int) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.retireKey(ctx, p, version, successor)
}

func (m *mutant) KeyUsage(ctx context.Context) (keyring.Usage, error) {
	if err := m.fail(); err != nil {
		return keyring.Usage{}, err
	}
	return m.keyUsage(ctx)
}

func (m *mutant) RowsWithoutFingerprint(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	if err := m.fail(); err != nil {
		return vault.RowPage{}, err
	}
	return m.rowsWithoutFingerprint(ctx, version, after, limit)
}

func (m *mutant) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.addFingerprints(ctx, version, of)
}

func (m *mutant) RowsNotSealedUnder(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	if err := m.fail(); err != nil {
		return vault.RowPage{}, err
	}
	return m.rowsNotSealedUnder(ctx, version, after, limit)
}

func (m *mutant) Reseal(ctx context.Context, rows []vault.Resealed) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	return m.reseal(ctx, rows)
}

func (m *mutant) RemoveFingerprints(ctx context.Context, version, limit int) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	return m.removeFingerprints(ctx, version, limit)
}

func (m *mutant) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.addAuditEvent(ctx, e)
}

func (m *mutant) ListAuditEvents(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
	if err := m.fail(); err != nil {
		return mortise.Page[vault.AuditEvent]{}, err
	}
	return m.auditEvents(ctx, org, q)
}

func (m *mutant) PruneAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	return m.pruneAudit(ctx, before, limit)
}

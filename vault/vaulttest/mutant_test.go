package vaulttest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// mutant is the memory backend, whose methods can be replaced: each calls the one in on.
type mutant struct {
	db      *memory.Vault // which stays faithful
	on      methods
	broken  atomic.Bool // makes every method fail
	failure error       // what broken methods return
}

// methods are those of the backend.
type methods struct {
	Vault                  func(ctx context.Context, org, id string) (vault.Vault, error)
	ListVaults             func(ctx context.Context, org, after string, limit int) ([]vault.Vault, error)
	PutVault               func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error
	FindTokens             func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error)
	InsertTokens           func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error)
	Rows                   func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error)
	ListRows               func(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error)
	DeleteToken            func(ctx context.Context, org, id, token string, a vault.AuditEvent) error
	ImportTokens           func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error
	Keys                   func(ctx context.Context) ([]keyring.Key, error)
	RegisterKey            func(ctx context.Context, k keyring.Key) (keyring.Key, error)
	RequireKey             func(ctx context.Context, version int) error
	RetireKey              func(ctx context.Context, p keyring.Purpose, version, successor int) error
	KeyUsage               func(ctx context.Context) (keyring.Usage, error)
	RowsWithoutFingerprint func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error)
	AddFingerprints        func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error)
	RowsNotSealedUnder     func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error)
	Reseal                 func(ctx context.Context, rows []vault.Resealed) (int, error)
	RemoveFingerprints     func(ctx context.Context, version, limit int) (int, error)
	AddAuditEvent          func(ctx context.Context, e vault.AuditEvent) error
	ListAuditEvents        func(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error)
	PruneAudit             func(ctx context.Context, before time.Time, limit int) (int, error)
	Stats                  func(ctx context.Context, org string, most int) (vault.Stats, error)
	VaultStats             func(ctx context.Context, org, id string, most int) (vault.Stats, error)
	StatsAll               func(ctx context.Context, seal, most int) (vault.AllStats, error)
	MarkDeleted            func(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error)
	RemoveDeleted          func(ctx context.Context, org string, limit int) (bool, error)
	MarkVaultDeleted       func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error)
	RemoveDeletedVault     func(ctx context.Context, org, id string, limit int) (bool, error)
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	m := &mutant{db: db.Vault().Store.(*memory.Vault), failure: errBroken}
	mutate.Fill(&m.on, m.db)
	return m
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() vault.Backend {
	mutate.Around(&m.on, func(c *mutate.Call) {
		if m.broken.Load() {
			*c.Err() = m.failure
			return
		}
		c.Go()
	})
	return vault.Backend{Store: m}
}

func (m *mutant) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	return m.on.Vault(ctx, org, id)
}

func (m *mutant) ListVaults(ctx context.Context, org, after string, limit int) ([]vault.Vault, error) {
	return m.on.ListVaults(ctx, org, after, limit)
}

func (m *mutant) PutVault(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
	return m.on.PutVault(ctx, v, left, a)
}

func (m *mutant) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	return m.on.FindTokens(ctx, org, id, revision, lookups)
}

func (m *mutant) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	return m.on.InsertTokens(ctx, org, id, revision, rows)
}

func (m *mutant) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	return m.on.Rows(ctx, org, id, tokens)
}

func (m *mutant) ListRows(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
	return m.on.ListRows(ctx, org, id, after, limit)
}

func (m *mutant) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	return m.on.DeleteToken(ctx, org, id, token, a)
}

func (m *mutant) ImportTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
	return m.on.ImportTokens(ctx, org, id, revision, rows, a)
}

func (m *mutant) Keys(ctx context.Context) ([]keyring.Key, error) {
	return m.on.Keys(ctx)
}

func (m *mutant) RegisterKey(ctx context.Context, k keyring.Key) (keyring.Key, error) {
	return m.on.RegisterKey(ctx, k)
}

func (m *mutant) RequireKey(ctx context.Context, version int) error {
	return m.on.RequireKey(ctx, version)
}

func (m *mutant) RetireKey(ctx context.Context, p keyring.Purpose, version, successor int) error {
	return m.on.RetireKey(ctx, p, version, successor)
}

func (m *mutant) KeyUsage(ctx context.Context) (keyring.Usage, error) {
	return m.on.KeyUsage(ctx)
}

func (m *mutant) RowsWithoutFingerprint(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	return m.on.RowsWithoutFingerprint(ctx, version, after, limit)
}

func (m *mutant) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
	return m.on.AddFingerprints(ctx, version, of)
}

func (m *mutant) RowsNotSealedUnder(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	return m.on.RowsNotSealedUnder(ctx, version, after, limit)
}

func (m *mutant) Reseal(ctx context.Context, rows []vault.Resealed) (int, error) {
	return m.on.Reseal(ctx, rows)
}

func (m *mutant) RemoveFingerprints(ctx context.Context, version, limit int) (int, error) {
	return m.on.RemoveFingerprints(ctx, version, limit)
}

func (m *mutant) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	return m.on.AddAuditEvent(ctx, e)
}

func (m *mutant) ListAuditEvents(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
	return m.on.ListAuditEvents(ctx, org, q)
}

func (m *mutant) PruneAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	return m.on.PruneAudit(ctx, before, limit)
}

func (m *mutant) Stats(ctx context.Context, org string, most int) (vault.Stats, error) {
	return m.on.Stats(ctx, org, most)
}

func (m *mutant) VaultStats(ctx context.Context, org, id string, most int) (vault.Stats, error) {
	return m.on.VaultStats(ctx, org, id, most)
}

func (m *mutant) StatsAll(ctx context.Context, seal, most int) (vault.AllStats, error) {
	return m.on.StatsAll(ctx, seal, most)
}

func (m *mutant) MarkDeleted(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error) {
	return m.on.MarkDeleted(ctx, org, at, a)
}

func (m *mutant) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return m.on.RemoveDeleted(ctx, org, limit)
}

func (m *mutant) MarkVaultDeleted(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
	return m.on.MarkVaultDeleted(ctx, org, id, at, a)
}

func (m *mutant) RemoveDeletedVault(ctx context.Context, org, id string, limit int) (bool, error) {
	return m.on.RemoveDeletedVault(ctx, org, id, limit)
}

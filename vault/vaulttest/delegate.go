package vaulttest

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// methods are those of a backend.
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

// delegate is a backend of functions: each method calls the one with its name. [Faults]
// stands in between there, and so do the mistakes of the mutants that prove the suite.
type delegate struct{ On methods }

func (w *delegate) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	return w.On.Vault(ctx, org, id)
}

func (w *delegate) ListVaults(ctx context.Context, org, after string, limit int) ([]vault.Vault, error) {
	return w.On.ListVaults(ctx, org, after, limit)
}

func (w *delegate) PutVault(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
	return w.On.PutVault(ctx, v, left, a)
}

func (w *delegate) FindTokens(
	ctx context.Context, org, id string, revision int64, lookups []vault.Lookup,
) ([][]string, error) {
	return w.On.FindTokens(ctx, org, id, revision, lookups)
}

func (w *delegate) InsertTokens(
	ctx context.Context, org, id string, revision int64, rows []vault.Row,
) ([]string, error) {
	return w.On.InsertTokens(ctx, org, id, revision, rows)
}

func (w *delegate) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	return w.On.Rows(ctx, org, id, tokens)
}

func (w *delegate) ListRows(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
	return w.On.ListRows(ctx, org, id, after, limit)
}

func (w *delegate) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	return w.On.DeleteToken(ctx, org, id, token, a)
}

func (w *delegate) ImportTokens(
	ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent,
) error {
	return w.On.ImportTokens(ctx, org, id, revision, rows, a)
}

func (w *delegate) Keys(ctx context.Context) ([]keyring.Key, error) { return w.On.Keys(ctx) }

func (w *delegate) RegisterKey(ctx context.Context, k keyring.Key) (keyring.Key, error) {
	return w.On.RegisterKey(ctx, k)
}

func (w *delegate) RequireKey(ctx context.Context, version int) error {
	return w.On.RequireKey(ctx, version)
}

func (w *delegate) RetireKey(ctx context.Context, p keyring.Purpose, version, successor int) error {
	return w.On.RetireKey(ctx, p, version, successor)
}

func (w *delegate) KeyUsage(ctx context.Context) (keyring.Usage, error) { return w.On.KeyUsage(ctx) }

func (w *delegate) RowsWithoutFingerprint(
	ctx context.Context, version int, after vault.ScanPosition, limit int,
) (vault.RowPage, error) {
	return w.On.RowsWithoutFingerprint(ctx, version, after, limit)
}

func (w *delegate) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
	return w.On.AddFingerprints(ctx, version, of)
}

func (w *delegate) RowsNotSealedUnder(
	ctx context.Context, version int, after vault.ScanPosition, limit int,
) (vault.RowPage, error) {
	return w.On.RowsNotSealedUnder(ctx, version, after, limit)
}

func (w *delegate) Reseal(ctx context.Context, rows []vault.Resealed) (int, error) {
	return w.On.Reseal(ctx, rows)
}

func (w *delegate) RemoveFingerprints(ctx context.Context, version, limit int) (int, error) {
	return w.On.RemoveFingerprints(ctx, version, limit)
}

func (w *delegate) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	return w.On.AddAuditEvent(ctx, e)
}

func (w *delegate) ListAuditEvents(
	ctx context.Context, org string, q vault.AuditQuery,
) (mortise.Page[vault.AuditEvent], error) {
	return w.On.ListAuditEvents(ctx, org, q)
}

func (w *delegate) PruneAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	return w.On.PruneAudit(ctx, before, limit)
}

func (w *delegate) Stats(ctx context.Context, org string, most int) (vault.Stats, error) {
	return w.On.Stats(ctx, org, most)
}

func (w *delegate) VaultStats(ctx context.Context, org, id string, most int) (vault.Stats, error) {
	return w.On.VaultStats(ctx, org, id, most)
}

func (w *delegate) StatsAll(ctx context.Context, seal, most int) (vault.AllStats, error) {
	return w.On.StatsAll(ctx, seal, most)
}

func (w *delegate) MarkDeleted(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error) {
	return w.On.MarkDeleted(ctx, org, at, a)
}

func (w *delegate) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return w.On.RemoveDeleted(ctx, org, limit)
}

func (w *delegate) MarkVaultDeleted(
	ctx context.Context, org, id string, at time.Time, a vault.AuditEvent,
) (time.Time, error) {
	return w.On.MarkVaultDeleted(ctx, org, id, at, a)
}

func (w *delegate) RemoveDeletedVault(ctx context.Context, org, id string, limit int) (bool, error) {
	return w.On.RemoveDeletedVault(ctx, org, id, limit)
}

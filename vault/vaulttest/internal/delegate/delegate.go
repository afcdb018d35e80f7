// Package delegate has a backend of functions, for what stands between a backend and those
// who call it: the faults of hosts' tests, and the mistakes of the mutants that prove the
// suite.
package delegate

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Methods are what the methods of a [Backend] call.
type Methods struct {
	Vault                  func(ctx context.Context, org, id string) (vault.Vault, error)
	ListVaults             func(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[vault.Vault], error)
	PutVault               func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error
	FindTokens             func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error)
	InsertTokens           func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error)
	Rows                   func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error)
	ListRows               func(ctx context.Context, org, id string, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error)
	DeleteToken            func(ctx context.Context, org, id, token string, a vault.AuditEvent) error
	ImportTokens           func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error
	Keys                   func(ctx context.Context) ([]keyring.Key, error)
	RegisterKey            func(ctx context.Context, k keyring.Key) (keyring.Key, error)
	RequireKey             func(ctx context.Context, version int) error
	RetireKey              func(ctx context.Context, p keyring.Purpose, version, successor int) error
	KeyUsage               func(ctx context.Context) (keyring.Usage, error)
	RowsWithoutFingerprint func(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error)
	AddFingerprints        func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error)
	RowsNotSealedUnder     func(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error)
	Reseal                 func(ctx context.Context, rows []vault.Resealed) (int, error)
	RemoveFingerprints     func(ctx context.Context, version, limit int) (int, bool, error)
	AddAuditEvent          func(ctx context.Context, e vault.AuditEvent) error
	ListAuditEvents        func(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error)
	PruneAudit             func(ctx context.Context, before time.Time, limit int) (int, bool, error)
	MarkDeleted            func(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error)
	RemoveDeleted          func(ctx context.Context, org string, limit int) (int, bool, error)
	MarkVaultDeleted       func(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error)
	RemoveDeletedVault     func(ctx context.Context, org, id string, limit int) (int, bool, error)
	Revocations            func(ctx context.Context) (mortise.Revocations, error)
	RaiseRevocations       func(ctx context.Context, n int64) error
}

// Backend has all methods of the backends of vault. Each calls the function with its name.
type Backend struct{ On Methods }

func (w *Backend) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	return w.On.Vault(ctx, org, id)
}

func (w *Backend) ListVaults(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[vault.Vault], error) {
	return w.On.ListVaults(ctx, org, after, limit)
}

func (w *Backend) PutVault(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
	return w.On.PutVault(ctx, v, left, a)
}

func (w *Backend) FindTokens(
	ctx context.Context, org, id string, revision int64, lookups []vault.Lookup,
) ([][]string, error) {
	return w.On.FindTokens(ctx, org, id, revision, lookups)
}

func (w *Backend) InsertTokens(
	ctx context.Context, org, id string, revision int64, rows []vault.Row,
) ([]string, error) {
	return w.On.InsertTokens(ctx, org, id, revision, rows)
}

func (w *Backend) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	return w.On.Rows(ctx, org, id, tokens)
}

func (w *Backend) ListRows(ctx context.Context, org, id string, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	return w.On.ListRows(ctx, org, id, after, limit)
}

func (w *Backend) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	return w.On.DeleteToken(ctx, org, id, token, a)
}

func (w *Backend) ImportTokens(
	ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent,
) error {
	return w.On.ImportTokens(ctx, org, id, revision, rows, a)
}

func (w *Backend) Keys(ctx context.Context) ([]keyring.Key, error) { return w.On.Keys(ctx) }

func (w *Backend) RegisterKey(ctx context.Context, k keyring.Key) (keyring.Key, error) {
	return w.On.RegisterKey(ctx, k)
}

func (w *Backend) RequireKey(ctx context.Context, version int) error {
	return w.On.RequireKey(ctx, version)
}

func (w *Backend) RetireKey(ctx context.Context, p keyring.Purpose, version, successor int) error {
	return w.On.RetireKey(ctx, p, version, successor)
}

func (w *Backend) KeyUsage(ctx context.Context) (keyring.Usage, error) { return w.On.KeyUsage(ctx) }

func (w *Backend) RowsWithoutFingerprint(
	ctx context.Context, version int, after mortise.Cursor, limit int,
) (mortise.Page[vault.Row], error) {
	return w.On.RowsWithoutFingerprint(ctx, version, after, limit)
}

func (w *Backend) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
	return w.On.AddFingerprints(ctx, version, of)
}

func (w *Backend) RowsNotSealedUnder(
	ctx context.Context, version int, after mortise.Cursor, limit int,
) (mortise.Page[vault.Row], error) {
	return w.On.RowsNotSealedUnder(ctx, version, after, limit)
}

func (w *Backend) Reseal(ctx context.Context, rows []vault.Resealed) (int, error) {
	return w.On.Reseal(ctx, rows)
}

func (w *Backend) RemoveFingerprints(ctx context.Context, version, limit int) (int, bool, error) {
	return w.On.RemoveFingerprints(ctx, version, limit)
}

func (w *Backend) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	return w.On.AddAuditEvent(ctx, e)
}

func (w *Backend) ListAuditEvents(
	ctx context.Context, org string, q vault.AuditQuery,
) (mortise.Page[vault.AuditEvent], error) {
	return w.On.ListAuditEvents(ctx, org, q)
}

func (w *Backend) PruneAudit(ctx context.Context, before time.Time, limit int) (int, bool, error) {
	return w.On.PruneAudit(ctx, before, limit)
}

func (w *Backend) MarkDeleted(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error) {
	return w.On.MarkDeleted(ctx, org, at, a)
}

func (w *Backend) RemoveDeleted(ctx context.Context, org string, limit int) (int, bool, error) {
	return w.On.RemoveDeleted(ctx, org, limit)
}

func (w *Backend) MarkVaultDeleted(
	ctx context.Context, org, id string, at time.Time, a vault.AuditEvent,
) (time.Time, error) {
	return w.On.MarkVaultDeleted(ctx, org, id, at, a)
}

func (w *Backend) RemoveDeletedVault(ctx context.Context, org, id string, limit int) (int, bool, error) {
	return w.On.RemoveDeletedVault(ctx, org, id, limit)
}

func (w *Backend) Revocations(ctx context.Context) (mortise.Revocations, error) {
	return w.On.Revocations(ctx)
}

func (w *Backend) RaiseRevocations(ctx context.Context, n int64) error {
	return w.On.RaiseRevocations(ctx, n)
}

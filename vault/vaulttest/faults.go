package vaulttest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/fault"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Faults makes the backends that it wraps fail as its hooks say, so that you can see what
// your own program does then. The zero value injects nothing. Set the hooks before the
// first call; they must be safe for concurrent use if the wrappers are used concurrently.
//
// An op is the interface and the method, as in "Vaults.PutVault", "Tokens.InsertTokens",
// "KeyRotation.Reseal", "Audit.AddAuditEvent" or "Keyring.Fingerprint". [Outage], [Nth]
// and [Sometimes] make hooks, and [On] bounds one to some ops. A hook may also panic,
// block or call other parts of the program: whatever can happen while a backend is being
// called.
type Faults struct {
	// Before runs before the backend is called. If it returns an error, that is the
	// answer, and the backend is not called.
	Before func(op string) error

	// After runs when the backend has done what was asked without error. If it returns an
	// error, that is the answer: the call took effect and the caller does not know it, as
	// when a connection breaks before the reply.
	After func(op string) error
}

func (f *Faults) call(op string, do func() error) error {
	return fault.HooksAt(&f.Before, &f.After).Call(op, do)
}

func callFor[T any](f *Faults, op string, do func() (T, error)) (T, error) {
	return fault.CallFor(fault.HooksAt(&f.Before, &f.After), op, do)
}

// Store wraps a store. The ops are the methods of "Vaults", "Deletion", "Tokens",
// "Imports", "Keys", "KeyRotation", "Audit" and "Counter".
func (f *Faults) Store(s vault.Store) vault.Store { return &faultyStore{s, f} }

type faultyStore struct {
	inner  vault.Store
	faults *Faults
}

func (s *faultyStore) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	return callFor(s.faults, "Vaults.Vault", func() (vault.Vault, error) { return s.inner.Vault(ctx, org, id) })
}

func (s *faultyStore) ListVaults(ctx context.Context, org, after string, limit int) ([]vault.Vault, error) {
	return callFor(s.faults, "Vaults.ListVaults", func() ([]vault.Vault, error) { return s.inner.ListVaults(ctx, org, after, limit) })
}

func (s *faultyStore) PutVault(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
	return s.faults.call("Vaults.PutVault", func() error { return s.inner.PutVault(ctx, v, left, a) })
}

func (s *faultyStore) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	return callFor(s.faults, "Tokens.FindTokens", func() ([][]string, error) { return s.inner.FindTokens(ctx, org, id, revision, lookups) })
}

func (s *faultyStore) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	return callFor(s.faults, "Tokens.InsertTokens", func() ([]string, error) { return s.inner.InsertTokens(ctx, org, id, revision, rows) })
}

func (s *faultyStore) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	return callFor(s.faults, "Tokens.Rows", func() ([]vault.Row, error) { return s.inner.Rows(ctx, org, id, tokens) })
}

func (s *faultyStore) ListRows(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
	return callFor(s.faults, "Tokens.ListRows", func() ([]vault.Row, error) { return s.inner.ListRows(ctx, org, id, after, limit) })
}

func (s *faultyStore) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	return s.faults.call("Tokens.DeleteToken", func() error { return s.inner.DeleteToken(ctx, org, id, token, a) })
}

func (s *faultyStore) ImportTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
	return s.faults.call("Imports.ImportTokens", func() error { return s.inner.ImportTokens(ctx, org, id, revision, rows, a) })
}

func (s *faultyStore) Keys(ctx context.Context) ([]keyring.Key, error) {
	return callFor(s.faults, "Keys.Keys", func() ([]keyring.Key, error) { return s.inner.Keys(ctx) })
}

func (s *faultyStore) RegisterKey(ctx context.Context, k keyring.Key) (keyring.Key, error) {
	return callFor(s.faults, "Keys.RegisterKey", func() (keyring.Key, error) { return s.inner.RegisterKey(ctx, k) })
}

func (s *faultyStore) RequireKey(ctx context.Context, version int) error {
	return s.faults.call("Keys.RequireKey", func() error { return s.inner.RequireKey(ctx, version) })
}

func (s *faultyStore) RetireKey(ctx context.Context, p keyring.Purpose, version, successor int) error {
	return s.faults.call("Keys.RetireKey", func() error { return s.inner.RetireKey(ctx, p, version, successor) })
}

func (s *faultyStore) KeyUsage(ctx context.Context) (keyring.Usage, error) {
	return callFor(s.faults, "Keys.KeyUsage", func() (keyring.Usage, error) { return s.inner.KeyUsage(ctx) })
}

func (s *faultyStore) RowsWithoutFingerprint(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	return callFor(s.faults, "KeyRotation.RowsWithoutFingerprint", func() (vault.RowPage, error) {
		return s.inner.RowsWithoutFingerprint(ctx, version, after, limit)
	})
}

func (s *faultyStore) AddFingerprints(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
	return callFor(s.faults, "KeyRotation.AddFingerprints", func() ([]vault.RowID, error) { return s.inner.AddFingerprints(ctx, version, of) })
}

func (s *faultyStore) RowsNotSealedUnder(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
	return callFor(s.faults, "KeyRotation.RowsNotSealedUnder", func() (vault.RowPage, error) {
		return s.inner.RowsNotSealedUnder(ctx, version, after, limit)
	})
}

func (s *faultyStore) Reseal(ctx context.Context, rows []vault.Resealed) (int, error) {
	return callFor(s.faults, "KeyRotation.Reseal", func() (int, error) { return s.inner.Reseal(ctx, rows) })
}

func (s *faultyStore) RemoveFingerprints(ctx context.Context, version, limit int) (int, error) {
	return callFor(s.faults, "KeyRotation.RemoveFingerprints", func() (int, error) { return s.inner.RemoveFingerprints(ctx, version, limit) })
}

func (s *faultyStore) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	return s.faults.call("Audit.AddAuditEvent", func() error { return s.inner.AddAuditEvent(ctx, e) })
}

func (s *faultyStore) ListAuditEvents(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
	return callFor(s.faults, "Audit.ListAuditEvents", func() (mortise.Page[vault.AuditEvent], error) { return s.inner.ListAuditEvents(ctx, org, q) })
}

func (s *faultyStore) PruneAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	return callFor(s.faults, "Audit.PruneAudit", func() (int, error) { return s.inner.PruneAudit(ctx, before, limit) })
}

func (s *faultyStore) MarkDeleted(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (time.Time, error) {
	return callFor(s.faults, "Deletion.MarkDeleted", func() (time.Time, error) { return s.inner.MarkDeleted(ctx, org, at, a) })
}

func (s *faultyStore) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return callFor(s.faults, "Deletion.RemoveDeleted", func() (bool, error) { return s.inner.RemoveDeleted(ctx, org, limit) })
}

func (s *faultyStore) MarkVaultDeleted(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (time.Time, error) {
	return callFor(s.faults, "Deletion.MarkVaultDeleted", func() (time.Time, error) {
		return s.inner.MarkVaultDeleted(ctx, org, id, at, a)
	})
}

func (s *faultyStore) RemoveDeletedVault(ctx context.Context, org, id string, limit int) (bool, error) {
	return callFor(s.faults, "Deletion.RemoveDeletedVault", func() (bool, error) {
		return s.inner.RemoveDeletedVault(ctx, org, id, limit)
	})
}

func (s *faultyStore) Stats(ctx context.Context, org string, most int) (vault.Stats, error) {
	return callFor(s.faults, "Counter.Stats", func() (vault.Stats, error) { return s.inner.Stats(ctx, org, most) })
}

func (s *faultyStore) VaultStats(ctx context.Context, org, id string, most int) (vault.Stats, error) {
	return callFor(s.faults, "Counter.VaultStats", func() (vault.Stats, error) { return s.inner.VaultStats(ctx, org, id, most) })
}

func (s *faultyStore) StatsAll(ctx context.Context, seal, most int) (vault.AllStats, error) {
	return callFor(s.faults, "Counter.StatsAll", func() (vault.AllStats, error) { return s.inner.StatsAll(ctx, seal, most) })
}

// Keyring wraps a keyring, as when a key management service is away. The ops are the
// methods of "Keyring" but for Limits, which cannot fail.
func (f *Faults) Keyring(k keyring.Keyring) keyring.Keyring { return &faultyKeyring{k, f} }

type faultyKeyring struct {
	inner  keyring.Keyring
	faults *Faults
}

func (k *faultyKeyring) Versions(ctx context.Context) (keyring.Versions, error) {
	return callFor(k.faults, "Keyring.Versions", func() (keyring.Versions, error) { return k.inner.Versions(ctx) })
}

func (k *faultyKeyring) Limits() keyring.Limits { return k.inner.Limits() }

func (k *faultyKeyring) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	return k.faults.call("Keyring.Fingerprint", func() error { return k.inner.Fingerprint(ctx, version, items, dst) })
}

func (k *faultyKeyring) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	return callFor(k.faults, "Keyring.Seal", func() ([]keyring.SealResult, error) { return k.inner.Seal(ctx, items) })
}

func (k *faultyKeyring) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	return callFor(k.faults, "Keyring.Open", func() ([]keyring.OpenResult, error) { return k.inner.Open(ctx, items) })
}

const redacted = "[redacted]"

// Format, MarshalText and LogValue keep the keys out of messages, JSON and logs, whatever
// the wrapped keyring does.
func (*faultyKeyring) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (*faultyKeyring) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (*faultyKeyring) LogValue() slog.Value         { return slog.StringValue(redacted) }

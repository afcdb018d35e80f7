package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// BenchmarkMaintenanceStall measures the time of an organization's lists and submissions
// while the keys of a vault with 10^5 values in the same file are rotated, and while the
// tables of the file are checked behind; beside the same with nothing else, in turns.
//
//	go test ./storage/sqlite -run '^$' -bench MaintenanceStall -benchtime 3x
func BenchmarkMaintenanceStall(b *testing.B) {
	db := openAt(b, filepath.Join(b.TempDir(), "test.db"), nil)
	readyStall(b, db)
	service, err := stallService(db)
	require.NoError(b, err)
	withKeys := func(versions ...int) *vault.Service {
		var keys []localkeys.Key
		for _, version := range versions {
			root, err := localkeys.NewRoot(fmt.Appendf(nil, "%032d", version))
			require.NoError(b, err)
			keys = append(keys, localkeys.Key{Version: version, Root: root})
		}
		keyring, err := localkeys.New(keys[0], keys[1:]...)
		require.NoError(b, err)
		s, err := vault.New(db.Vault(), keyring, nil)
		require.NoError(b, err)
		return s
	}
	fillStallVault(b, withKeys(1))
	ctx := b.Context()
	steps := []struct {
		name   string
		do     func(round int) error
		beside stallTimes
	}{
		{name: "nothing"},
		{name: "check", do: func(int) error {
			return db.File().Probe().Check("vault_tokens", "vault_fingerprints", "trigger_events", "mortise_jobs")
		}},
		{name: "backfill", do: func(round int) error { return withKeys(round, round+1).Backfill(ctx, round+1, nil) }},
		{name: "rewrap", do: func(round int) error { return withKeys(round+1, round).Rewrap(ctx, nil) }},
		{name: "retire", do: func(round int) error {
			s := withKeys(round+1, round)
			return errors.Join(s.Retire(ctx, keyring.SealKey, round, nil), s.Retire(ctx, keyring.FingerprintKey, round, nil))
		}},
	}
	for round := range b.N {
		for i := range steps {
			step := &steps[i]
			if step.do == nil {
				step.beside.second(b, service)
				continue
			}
			busy, done := context.WithCancel(ctx)
			failed := make(chan error, 1)
			go func() {
				defer done()
				failed <- step.do(round + 1)
			}()
			step.beside.measure(busy, b, service)
			require.NoError(b, <-failed)
		}
	}
	for i := range steps {
		ms := func(l *latencies, part float64) float64 { return float64(l.at(part).Microseconds()) / 1000 }
		name, of := steps[i].name, &steps[i].beside
		b.ReportMetric(ms(&of.submits, 0.5), name+"-submit-ms")
		b.ReportMetric(ms(&of.submits, 0.99), name+"-submit-p99-ms")
		b.ReportMetric(ms(&of.lists, 0.5), name+"-list-ms")
		b.ReportMetric(ms(&of.lists, 0.99), name+"-list-p99-ms")
	}
	b.ReportMetric(0, "ns/op")
}

// fillStallVault stores 10^5 values.
func fillStallVault(b *testing.B, s *vault.Service) {
	_, err := s.CreateVault(b.Context(), "acme", "bench", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic},
	}}}})
	require.NoError(b, err)
	items := make([]vault.Item, 1000)
	for from := 0; from < 100_000; from += len(items) {
		for i := range items {
			items[i] = vault.Item{Place: vault.InColumn("persons", "email"), Value: vault.NewValue(fmt.Sprintf("person%d@example.com", from+i))}
		}
		_, err := s.Insert(b.Context(), "acme", "bench", "v1", items)
		require.NoError(b, err)
	}
}

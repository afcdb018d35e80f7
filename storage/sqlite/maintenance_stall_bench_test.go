package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// BenchmarkMaintenanceStall measures what lists and submissions of an organization take
// while the keys of a vault with 10^5 values in the same file are rotated, and while the
// tables of the file are checked behind; beside the same with nothing else, in turns.
//
//	go test ./storage/sqlite -run '^$' -bench MaintenanceStall -benchtime 3x
func BenchmarkMaintenanceStall(b *testing.B) {
	v := newVaultBench(b, 100_000)
	readyStall(b, v.db)
	service, err := trigger.New(trigger.Backend{Store: v.db.Trigger().Store, Queue: v.db.Queue(nil), Directory: v.db.Trigger().Store.(trigger.Organizations)}, nil)
	require.NoError(b, err)
	ctx := b.Context()
	steps := []struct {
		name   string
		do     func(round int) error
		beside stallTimes
	}{
		{name: "nothing"},
		{name: "check", do: func(int) error {
			names := []string{"vault_tokens", "vault_fingerprints", "trigger_events", "mortise_jobs"}
			behind, err := newChecker(v.db.checker.path, names, false, checks{table: checkTable})
			if err == nil && !behind.checkAll(names) {
				err = errors.New("not checked")
			}
			return err
		}},
		{name: "backfill", do: func(round int) error { return v.withKeys(b, round, round+1).Backfill(ctx, round+1, nil) }},
		{name: "rewrap", do: func(round int) error { return v.withKeys(b, round+1, round).Rewrap(ctx, nil) }},
		{name: "retire", do: func(round int) error {
			s := v.withKeys(b, round+1, round)
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

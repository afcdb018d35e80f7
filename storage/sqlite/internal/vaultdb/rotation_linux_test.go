package vaultdb

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// benchKeyring has versions of the keys, the first one primary.
func benchKeyring(b *testing.B, versions ...int) *localkeys.Keyring {
	var keys []localkeys.Key
	for _, version := range versions {
		bytes := []byte("not random, for benchmarks only.")
		bytes[len(bytes)-1] += byte(version - 1)
		root, err := localkeys.NewRoot(bytes)
		require.NoError(b, err)
		keys = append(keys, localkeys.Key{Version: version, Root: root})
	}
	keyring, err := localkeys.New(keys[0], keys[1:]...)
	require.NoError(b, err)
	return keyring
}

// withKeys returns a service on the bench's rows that has versions of the keys, the first
// one primary. The rows are sealed under version 1.
func (v *vaultBench) withKeys(b *testing.B, versions ...int) *vault.Service {
	s, err := vault.New(vault.Backend{Store: v.db.vault}, benchKeyring(b, versions...), nil)
	require.NoError(b, err)
	return s
}

// BenchmarkVaultRotation takes the steps of a rotation over the rows of one vault, some
// of them twice: the second time nothing is left to do. Each reports its time, the
// processor's time and how often it read from a file, most of all pages of the database
// and of its log.
func BenchmarkVaultRotation(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			for range b.N {
				v, ctx := newVaultBench(b, n), context.Background()
				added, promoted := v.withKeys(b, 1, 2), v.withKeys(b, 2, 1)
				var total, busy time.Duration
				for _, step := range []struct {
					name string
					do   func() error
				}{
					{"backfill", func() error { return added.Backfill(ctx, 2, nil) }},
					{"backfill-again", func() error { return added.Backfill(ctx, 2, nil) }},
					{"rewrap", func() error { return promoted.Rewrap(ctx, nil) }},
					{"rewrap-again", func() error { return promoted.Rewrap(ctx, nil) }},
					{"retire", func() error { return promoted.Retire(ctx, keyring.FingerprintKey, 1, nil) }},
				} {
					begun, cpu, reads := time.Now(), processorTime(b), readsSoFar(b)
					require.NoError(b, step.do())
					took := time.Since(begun)
					cpu, reads = processorTime(b)-cpu, readsSoFar(b)-reads
					total, busy = total+took, busy+cpu
					b.ReportMetric(took.Seconds(), step.name+"-s")
					b.ReportMetric(cpu.Seconds(), step.name+"-cpu-s")
					b.ReportMetric(float64(reads)/float64(n), step.name+"-reads/row")
				}
				b.ReportMetric(float64(total.Nanoseconds())/float64(n), "ns/row")
				b.ReportMetric(float64(busy.Nanoseconds())/float64(n), "cpu-ns/row")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// processorTime returns what this process has used.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// readsSoFar returns how often this process has read from any file.
func readsSoFar(b testing.TB) int {
	text, err := os.ReadFile("/proc/self/io")
	require.NoError(b, err)
	_, after, _ := strings.Cut(string(text), "syscr: ")
	count, _, _ := strings.Cut(after, "\n")
	n, err := strconv.Atoi(count)
	require.NoError(b, err)
	return n
}

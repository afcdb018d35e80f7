package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// BenchmarkVaultRotation takes all steps of a rotation. The time for a row is the same
// however many there are.
func BenchmarkVaultRotation(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			ctx := context.Background()
			var took, retired time.Duration
			for range b.N {
				db, err := memory.Open(ctx, nil)
				require.NoError(b, err)
				service := func(versions ...int) *vault.Service {
					var keys []localkeys.Key
					for _, version := range versions {
						root, err := localkeys.NewRoot(fmt.Appendf(nil, "not random, for benchmarks only%d", version))
						require.NoError(b, err)
						keys = append(keys, localkeys.Key{Version: version, Root: root})
					}
					keyring, err := localkeys.New(keys[0], keys[1:]...)
					require.NoError(b, err)
					s, err := vault.New(db.Vault(), keyring, nil)
					require.NoError(b, err)
					return s
				}
				s := service(1)
				_, err = s.CreateVault(ctx, "acme", "bench", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
					{Name: "email", Tokenization: vault.Deterministic},
				}}}})
				require.NoError(b, err)
				items := make([]vault.Item, 1000)
				for first := 0; first < n; first += len(items) {
					for i := range items {
						items[i] = vault.Item{Place: vault.InColumn("persons", "email"), Value: vault.NewValue(fmt.Sprintf("person%d@example.com", first+i))}
					}
					_, err := s.Insert(ctx, "acme", "bench", "v1", items)
					require.NoError(b, err)
				}
				begun := time.Now()
				require.NoError(b, service(1, 2).Backfill(ctx, 2, nil))
				promoted := service(2, 1)
				require.NoError(b, promoted.Rewrap(ctx, nil))
				took += time.Since(begun)
				begun = time.Now()
				require.NoError(b, promoted.Retire(ctx, keyring.FingerprintKey, 1, nil))
				retired += time.Since(begun)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*n), "rotation-ns/row")
			b.ReportMetric(float64(retired.Nanoseconds())/float64(b.N*n), "retire-ns/row")
			b.ReportMetric(0, "ns/op")
		})
	}
}

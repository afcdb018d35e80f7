package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// BenchmarkVaultFind looks for 1000 of 100,000 values, in turns with a bare = ANY that knows
// the number of the scope and reads tokens only. of-bare is the speed as a part of the bare
// one's.
func BenchmarkVaultFind(b *testing.B) {
	const stored, size = 100_000, 1000
	ctx := b.Context()
	m := openToMeasure(b)
	store, pool := m.Vault().Store, m.pool
	newVault(b, store)
	for from := 0; from < stored; from += size {
		rows := make([]vault.Row, size)
		for i := range rows {
			rows[i] = vaultRow(fmt.Sprintf("tok_%016d", from+i), from+i)
		}
		_, err := store.InsertTokens(ctx, "acme", "v1", 1, rows)
		require.NoError(b, err)
	}
	_, err := pool.Exec(ctx, "ANALYZE mortise.vault_fingerprints, mortise.vault_scopes, mortise.vault_vaults")
	require.NoError(b, err)
	const bare = "SELECT token FROM mortise.vault_fingerprints WHERE fingerprint = ANY($1::bytea[]) AND scope = 1 AND version = 1"
	set := func(n int) (of []keyring.Fingerprint, raw [][]byte) {
		of, raw = make([]keyring.Fingerprint, size), make([][]byte, size)
		for i := range of {
			of[i] = valueOf((n*7919 + i*97) % stored)
			raw[i] = of[i][:]
		}
		return of, raw
	}
	var took [2]time.Duration
	round := func(n int) {
		of, raw := set(n)
		contenders := [2]func(){
			func() {
				found, err := store.FindTokens(ctx, "acme", "v1", 1, []vault.Lookup{{Scope: vaultScope, Version: 1, Fingerprints: of}})
				if err != nil || found[0][size-1] == "" {
					b.Fatal(err)
				}
			},
			func() {
				rows, err := pool.Query(ctx, bare, raw)
				require.NoError(b, err)
				found := 0
				for rows.Next() {
					var token string
					var text []byte
					require.NoError(b, rows.Scan(&text))
					if token = string(text); token != "" {
						found++
					}
				}
				if err := rows.Err(); err != nil || found != size {
					b.Fatal(found, err)
				}
			},
		}
		for k := range contenders {
			i := (n + k) % len(contenders)
			began := time.Now()
			contenders[i]()
			took[i] += time.Since(began)
		}
	}
	for n := range 10 { // they fill the caches, and do not count
		round(n)
	}
	took = [2]time.Duration{}
	for n := 0; b.Loop(); n++ {
		round(n)
	}
	b.ReportMetric(took[0].Seconds()*1e9/float64(b.N*size), "find-ns/value")
	b.ReportMetric(took[1].Seconds()*1e9/float64(b.N*size), "bare-ns/value")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-bare")
	b.ReportMetric(0, "ns/op")
}

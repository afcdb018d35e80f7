package vaultdb

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// vaultBench is a vault with 100,000 values, and a keyring.
type vaultBench struct {
	db      *DB
	service *vault.Service
	keyring *localkeys.Keyring
	stored  int
}

var benchScope = keyring.Scope{Organization: "acme", Vault: "v1", Name: "persons.email"}

func newVaultBench(b *testing.B, stored int) *vaultBench {
	db, err := Open(b.Context(), filepath.Join(b.TempDir(), "vault.db"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	root, err := localkeys.NewRoot([]byte("not random, for benchmarks only."))
	require.NoError(b, err)
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(b, err)
	s, err := vault.New(vault.Backend{Store: db.vault}, keyring, nil)
	require.NoError(b, err)
	_, err = s.CreateVault(b.Context(), "acme", "bench", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic},
	}}}})
	require.NoError(b, err)
	v := &vaultBench{db: db, service: s, keyring: keyring}
	for v.stored < stored {
		_, err := s.Insert(b.Context(), "acme", "bench", "v1", benchItems(v.stored, 1000, 1))
		require.NoError(b, err)
		v.stored += 1000
	}
	return v
}

// benchItems returns n values, the first of a number and each further one so many later.
func benchItems(first, n, stride int) []vault.Item {
	items := make([]vault.Item, n)
	for i := range items {
		items[i] = vault.Item{Place: vault.InColumn("persons", "email"), Value: vault.NewValue(fmt.Sprintf("person%d@example.com", first+i*stride))}
	}
	return items
}

// fingerprints returns what a lookup of items is made of, one behind the other.
func (v *vaultBench) fingerprints(b *testing.B, items []vault.Item) (of []keyring.Fingerprint, all []byte) {
	values := make([]keyring.FingerprintItem, len(items))
	for i := range items {
		values[i] = keyring.FingerprintItem{Scope: benchScope, Value: items[i].Value}
	}
	of = make([]keyring.Fingerprint, len(items))
	require.NoError(b, v.keyring.Fingerprint(b.Context(), 1, values, of))
	for i := range of {
		all = append(all, of[i][:]...)
	}
	return of, all
}

const (
	bareLookup = "SELECT n, token FROM vault_numbers CROSS JOIN vault_fingerprints" +
		" ON fingerprint = substr(?, n * 32 + 1, 32) AND scope = ? AND version = ? WHERE n < ?"
	bareLookupOfOne = "SELECT token FROM vault_fingerprints WHERE fingerprint = ? AND scope = ? AND version = ?"
)

// BenchmarkVaultTokenize compares Service.Tokenize with the HMACs of the same values, by
// hand, and one bare lookup of them on a connection of its own: by the fastest statement
// that was found, with the numbers of scope and version known.
func BenchmarkVaultTokenize(b *testing.B) {
	v := newVaultBench(b, 100_000)
	raw, err := v.db.Probe().Connect(nil)
	require.NoError(b, err)
	defer func() { _ = raw.Close() }()
	mac := hmac.New(sha256.New, []byte("not random, for benchmarks only."))
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			sets := max(50, 1000/size)
			items, fingerprints := make([][]vault.Item, sets), make([][]keyring.Fingerprint, sets)
			concatenated := make([][]byte, sets)
			for i := range sets {
				items[i] = benchItems(i*7, size, v.stored/size-1)
				fingerprints[i], concatenated[i] = v.fingerprints(b, items[i])
			}
			contenders := []struct {
				name string
				do   func(set int) ([]string, error)
				took []time.Duration
			}{
				{name: "tokenize", do: func(set int) ([]string, error) {
					return v.service.Tokenize(context.Background(), "acme", "v1", items[set])
				}},
				{name: "find", do: func(set int) ([]string, error) {
					found, err := v.db.vault.FindTokens(context.Background(), "acme", "v1", 1, []vault.Lookup{{Scope: benchScope.Name, Version: 1, Fingerprints: fingerprints[set]}})
					return found[0], err
				}},
				{name: "bare", do: func(set int) ([]string, error) {
					tokens, sum := make([]string, size), [sha256.Size]byte{}
					for i := range items[set] { // by another key: what they are of ours is known
						mac.Reset()
						mac.Write([]byte(items[set][i].Value.Reveal()))
						mac.Sum(sum[:0])
					}
					if size == 1 {
						return tokens, raw.Query(context.Background(), bareLookupOfOne, []any{concatenated[set], 1, 1}, func(r *file.Row) error {
							tokens[0] = r.Text(0)
							return nil
						})
					}
					return tokens, raw.Query(context.Background(), bareLookup, []any{concatenated[set], 1, 1, size}, func(r *file.Row) error {
						tokens[r.Number(0)] = r.Text(1)
						return nil
					})
				}},
			}
			repeat := max(1, 100/size)
			round := func(n int) {
				for i := range contenders {
					c := &contenders[(n+i)%len(contenders)]
					begun := time.Now()
					for k := range repeat {
						tokens, err := c.do(((n*3+i)*repeat + k) % sets)
						if err != nil || tokens[size-1] == "" {
							b.Fatal(c.name, err)
						}
					}
					c.took = append(c.took, time.Since(begun))
				}
			}
			for n := range 10 { // they fill the caches, and do not count
				round(n)
			}
			for i := range contenders {
				contenders[i].took = nil
			}
			for n := 0; b.Loop(); n++ {
				round(n)
			}
			var median [3]time.Duration
			for i, c := range contenders {
				median[i] = medianOf(c.took)
				b.ReportMetric(float64(median[i].Nanoseconds())/float64(repeat*size), c.name+"-ns/value")
			}
			b.ReportMetric(median[2].Seconds()/median[0].Seconds(), "tokenize-of-bare")
			b.ReportMetric(median[2].Seconds()/median[1].Seconds(), "find-of-bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// medianOf is what a round takes that nobody else on the machine disturbs, and no less.
func medianOf(rounds []time.Duration) time.Duration {
	slices.Sort(rounds)
	return rounds[len(rounds)/2]
}

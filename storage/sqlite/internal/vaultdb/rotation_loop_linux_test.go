package vaultdb

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// BenchmarkVaultRotationLoop compares Backfill and Rewrap with loops as one would write
// them by hand, on files of their own that begin as copies. The two take turns, pass by
// pass: each round rotates all values of both to the next version of the keys. Ratios over
// 1 are in our favour. MORTISE_SOAK=1 does it with 10^6 values too, which takes minutes.
//
//	go test ./storage/sqlite/internal/vaultdb -run '^$' -bench VaultRotationLoop -benchtime 3x
func BenchmarkVaultRotationLoop(b *testing.B) {
	sizes := []int{10_000, 100_000}
	if os.Getenv("MORTISE_SOAK") == "1" {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			ours := newVaultBench(b, n)
			theirs := &vaultBench{db: copied(b, ours), keyring: ours.keyring, stored: n}
			loop := newBareRotation(b, theirs)
			var took [4]spent
			for round := range b.N {
				was, next := round+1, round+2
				added, promoted := ours.withKeys(b, was, next), ours.withKeys(b, next, was)
				addedKeys, promotedKeys := benchKeyring(b, was, next), benchKeyring(b, next, was)
				theirAdded, theirPromoted := theirs.withKeys(b, was, next), theirs.withKeys(b, next, was)
				ctx := b.Context()
				require.NoError(b, theirAdded.CheckKeys(ctx))
				require.NoError(b, theirs.db.vault.RequireKey(ctx, next))
				require.NoError(b, theirPromoted.CheckKeys(ctx))
				inTurns(b, round, &took[0], &took[1],
					func() error { return added.Backfill(ctx, next, nil) },
					func() error { return loop.backfill(addedKeys, next) })
				inTurns(b, round, &took[2], &took[3],
					func() error { return promoted.Rewrap(ctx, nil) },
					func() error { return loop.rewrap(promotedKeys, next) })
				if round == b.N-1 {
					break
				}
				require.NoError(b, promoted.Retire(ctx, keyring.SealKey, was, nil), "all of ours are sealed anew")
				require.NoError(b, promoted.Retire(ctx, keyring.FingerprintKey, was, nil), "all of ours have the fingerprint")
				require.NoError(b, theirPromoted.Retire(ctx, keyring.SealKey, was, nil), "all of the loop's are sealed anew")
				require.NoError(b, theirPromoted.Retire(ctx, keyring.FingerprintKey, was, nil), "all of the loop's have the fingerprint")
			}
			for i, name := range []string{"backfill", "rewrap"} {
				mine, bare := took[2*i], took[2*i+1]
				values := float64(b.N * n)
				b.ReportMetric(values/mine.time.Seconds(), name+"/s")
				b.ReportMetric(values/bare.time.Seconds(), "loop-"+name+"/s")
				b.ReportMetric(bare.time.Seconds()/mine.time.Seconds(), name+"-of-loop")
				b.ReportMetric(float64(mine.cpu.Nanoseconds())/values, name+"-cpu-ns/value")
				b.ReportMetric(float64(bare.cpu.Nanoseconds())/values, "loop-"+name+"-cpu-ns/value")
				b.ReportMetric(float64(mine.allocations)/values, name+"-allocs/value")
				b.ReportMetric(float64(bare.allocations)/values, "loop-"+name+"-allocs/value")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// spent is what passes have taken.
type spent struct {
	time, cpu   time.Duration
	allocations uint64
}

// inTurns runs two contenders, the first one first in even rounds.
func inTurns(b *testing.B, round int, first, second *spent, one, other func() error) {
	turns := []func(){
		func() { first.add(b, one) },
		func() { second.add(b, other) },
	}
	turns[round%2]()
	turns[1-round%2]()
}

func (s *spent) add(b *testing.B, do func() error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun, cpu := time.Now(), processorTime(b)
	require.NoError(b, do())
	s.time += time.Since(begun)
	s.cpu += processorTime(b) - cpu
	runtime.ReadMemStats(&after)
	s.allocations += after.Mallocs - before.Mallocs
}

// copied opens a copy of a database as it is.
func copied(b *testing.B, v *vaultBench) *DB {
	path := filepath.Join(b.TempDir(), "copy.db")
	require.NoError(b, v.db.Backup(b.Context(), path))
	db, err := Open(b.Context(), path, &file.Options{SkipCheck: true})
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	return db
}

// bareRotation is a connection that rotates the keys of a file which nobody else uses,
// where there is one vault with one scope.
type bareRotation struct{ conn *file.Conn }

func newBareRotation(b *testing.B, v *vaultBench) *bareRotation {
	c, err := v.db.Probe().Connect(url.Values{"_journal": {"WAL"}, "_sync": {"FULL"}, "_fk": {"1"}})
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close() })
	return &bareRotation{c}
}

// bareRow is a row as the loops read it.
type bareRow struct {
	seq    int
	token  string
	sealed keyring.Sealed
}

const (
	bareUnsealed = "SELECT seq, token, sealed, ciphertext FROM vault_tokens WHERE seq > ? AND sealed <> ? ORDER BY seq LIMIT ?"
	bareLacking  = "SELECT seq, token, sealed, ciphertext FROM vault_tokens t WHERE seq > ? AND deterministic = 1 AND sealed IS NOT NULL" +
		" AND NOT EXISTS (SELECT 1 FROM vault_fingerprints f WHERE f.version = ? AND f.row = t.seq) ORDER BY seq LIMIT ?"
)

// each reads rows by their numbers and opens them. compute returns what writes one of them.
func (s *bareRotation) each(
	keys keyring.Keyring, statement string, version int, resealed bool, compute func([]bareRow, []keyring.OpenResult) (write func(i int) error, err error),
) error {
	last := 0
	for {
		var rows []bareRow
		err := s.conn.Query(context.Background(), statement, []any{last, version, 500}, func(r *file.Row) error {
			rows = append(rows, bareRow{r.Number(0), r.Text(1), keyring.Sealed{Version: r.Number(2), Ciphertext: file.Cell[[]byte](r, 3)}})
			return nil
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		last = rows[len(rows)-1].seq
		items := make([]keyring.OpenItem, len(rows))
		for i := range rows {
			items[i] = keyring.OpenItem{Scope: benchScope, Token: rows[i].token, Sealed: rows[i].sealed}
		}
		opened, err := keys.Open(context.Background(), items)
		if err != nil {
			return err
		}
		write, err := compute(rows, opened)
		if err != nil {
			return err
		}
		if _, err := s.conn.Exec(context.Background(), "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		for i := range rows {
			if err := write(i); err != nil {
				return err
			}
		}
		if resealed {
			changes := &sealCounts{map[sealCount]int{{1, true, rows[0].sealed.Version}: -len(rows), {1, true, version}: len(rows)}}
			if err := changes.Settle(s.conn); err != nil {
				return err
			}
		}
		if _, err := s.conn.Exec(context.Background(), "COMMIT"); err != nil {
			return err
		}
	}
}

func (s *bareRotation) rewrap(keys keyring.Keyring, version int) error {
	return s.each(keys, bareUnsealed, version, true, func(rows []bareRow, opened []keyring.OpenResult) (func(i int) error, error) {
		items := make([]keyring.SealItem, len(rows))
		for i := range rows {
			items[i] = keyring.SealItem{Scope: benchScope, Token: rows[i].token, Value: opened[i].Value}
		}
		sealed, err := keys.Seal(context.Background(), items)
		return func(i int) error {
			_, err := s.conn.Exec(context.Background(), "UPDATE vault_tokens SET sealed = ?, ciphertext = ? WHERE seq = ? AND sealed = ?",
				sealed[i].Sealed.Version, sealed[i].Sealed.Ciphertext, rows[i].seq, rows[i].sealed.Version)
			return err
		}, err
	})
}

func (s *bareRotation) backfill(keys keyring.Keyring, version int) error {
	return s.each(keys, bareLacking, version, false, func(rows []bareRow, opened []keyring.OpenResult) (func(i int) error, error) {
		items := make([]keyring.FingerprintItem, len(rows))
		for i := range rows {
			items[i] = keyring.FingerprintItem{Scope: benchScope, Value: opened[i].Value}
		}
		of := make([]keyring.Fingerprint, len(rows))
		err := keys.Fingerprint(context.Background(), version, items, of)
		return func(i int) error {
			_, err := s.conn.Exec(context.Background(), "INSERT INTO vault_fingerprints (fingerprint, scope, version, row, token) VALUES (?,?,?,?,?)",
				of[i][:], 1, version, rows[i].seq, rows[i].token)
			return err
		}, err
	})
}

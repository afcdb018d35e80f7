package vaultdb

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// BenchmarkVaultInsertGrown compares Service.Insert of 1000 values that are new with a
// transaction that one would write by hand, as the vault grows: fingerprint, token and seal
// are computed there too, and written to one table in which tokens and fingerprints are
// unique. The two files have the same number of values. MORTISE_SOAK=1 does it with 10^6
// too, which takes minutes.
//
//	go test ./storage/sqlite/internal/vaultdb -run '^$' -bench VaultInsertGrown -benchtime 20x
//
// Of the b-trees that an insertion writes, the table of tokens and the index of the
// fingerprints by row grow at their ends. Two are met at random places: the tokens of a
// vault, and the fingerprints. They are the two unique keys of the table by hand.
func BenchmarkVaultInsertGrown(b *testing.B) {
	sizes := []int{100_000}
	if os.Getenv("MORTISE_SOAK") == "1" {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			const size = 1000
			ours := newVaultBench(b, n)
			theirs := &vaultBench{keyring: ours.keyring}
			hand := newHandInsertion(b)
			for ; theirs.stored < n; theirs.stored += size {
				require.NoError(b, hand.insert(b, theirs, theirs.stored, size))
			}
			var took [2]spent
			for round := range b.N {
				first := n + round*size
				inTurns(b, round, &took[0], &took[1],
					func() error {
						_, err := ours.service.Insert(b.Context(), "acme", "bench", "v1", benchItems(first, size, 1))
						return err
					},
					func() error { return hand.insert(b, theirs, first, size) })
			}
			values := float64(b.N * size)
			for i, name := range []string{"insert", "by-hand"} {
				b.ReportMetric(values/took[i].time.Seconds(), name+"/s")
				b.ReportMetric(float64(took[i].cpu.Nanoseconds())/values, name+"-cpu-ns/value")
			}
			b.ReportMetric(took[1].time.Seconds()/took[0].time.Seconds(), "of-by-hand")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// handInsertion is a connection to a file that nobody else has open, with a table of its own
// beside the empty ones of this package.
type handInsertion struct{ conn *file.Conn }

func newHandInsertion(b *testing.B) *handInsertion {
	db, err := Open(b.Context(), filepath.Join(b.TempDir(), "hand.db"), nil)
	require.NoError(b, err)
	c, err := db.Probe().Connect(url.Values{"_journal": {"WAL"}, "_sync": {"FULL"}})
	require.NoError(b, err)
	require.NoError(b, db.Close())
	b.Cleanup(func() { _ = c.Close() })
	_, err = c.Exec(context.Background(), "CREATE TABLE hand (seq INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, fingerprint BLOB NOT NULL UNIQUE,"+
		" created_at INTEGER NOT NULL, sealed INTEGER NOT NULL, ciphertext BLOB NOT NULL)")
	require.NoError(b, err)
	return &handInsertion{c}
}

// insert inserts so many values from a number on.
func (s *handInsertion) insert(b *testing.B, v *vaultBench, first, size int) error {
	rows := v.rows(b, benchItems(first, size, 1))
	if _, err := s.conn.Exec(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if _, err := s.conn.Exec(context.Background(), "INSERT INTO hand (token, fingerprint, created_at, sealed, ciphertext) VALUES (?,?,?,?,?)",
			r.Token, r.Fingerprints[0].Fingerprint[:], r.CreatedAt.UnixMicro(), r.Sealed.Version, r.Sealed.Ciphertext); err != nil {
			return err
		}
	}
	_, err := s.conn.Exec(context.Background(), "COMMIT")
	return err
}

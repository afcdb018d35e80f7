package vaultdb

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// BenchmarkVaultInsert compares Service.Insert of values that are new with a bare
// transaction that writes the same rows, made before, to the same tables in another file:
// without a look at what is there, on a connection of its own.
func BenchmarkVaultInsert(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			const stored = 20_000
			ours, theirs := newVaultBench(b, stored), newVaultBench(b, stored)
			bare := newBareInsertion(b, theirs)
			var insertTime, bareTime []time.Duration
			for n := 0; b.Loop(); n++ {
				items := benchItems(stored+n*size, size, 1)
				rows := theirs.rows(b, items)
				turns := []func(){
					func() {
						begun := time.Now()
						_, err := ours.service.Insert(context.Background(), "acme", "bench", "v1", items)
						insertTime = append(insertTime, time.Since(begun))
						require.NoError(b, err)
					},
					func() {
						begun := time.Now()
						err := bare.insert(rows)
						bareTime = append(bareTime, time.Since(begun))
						require.NoError(b, err)
					},
				}
				turns[n%2]()
				turns[1-n%2]()
			}
			insert, single := medianOf(insertTime), medianOf(bareTime)
			b.ReportMetric(float64(insert.Nanoseconds())/float64(size), "insert-ns/value")
			b.ReportMetric(float64(single.Nanoseconds())/float64(size), "bare-ns/value")
			b.ReportMetric(single.Seconds()/insert.Seconds(), "insert-of-bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// rows returns what the service would store of values that are new.
func (v *vaultBench) rows(b *testing.B, items []vault.Item) []vault.Row {
	fingerprints, _ := v.fingerprints(b, items)
	rows := make([]vault.Row, len(items))
	seals := make([]keyring.SealItem, len(items))
	for i := range items {
		r := &rows[i]
		r.Token, r.CreatedAt = uuid.NewString(), time.Now()
		r.Fingerprints = []vault.VersionedFingerprint{{Version: 1, Fingerprint: fingerprints[i]}}
		seals[i] = keyring.SealItem{Scope: benchScope, Token: r.Token, Value: items[i].Value}
	}
	sealed, err := v.keyring.Seal(b.Context(), seals)
	require.NoError(b, err)
	for i := range rows {
		require.NoError(b, sealed[i].Err)
		rows[i].Sealed = sealed[i].Sealed
	}
	return rows
}

// bareInsertion is a connection that writes to the file of a database which does nothing
// meanwhile.
type bareInsertion struct {
	conn *file.Conn
	last int
}

func newBareInsertion(b *testing.B, v *vaultBench) *bareInsertion {
	c, err := v.db.Probe().Connect(url.Values{"_journal": {"WAL"}, "_sync": {"FULL"}, "_fk": {"1"}})
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close() })
	return &bareInsertion{c, v.stored}
}

func (s *bareInsertion) insert(rows []vault.Row) error {
	if _, err := s.conn.Exec(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		s.last++
		if _, err := s.conn.Exec(context.Background(), "INSERT INTO vault_tokens (seq, vault, token, scope, deterministic, created_at, sealed, ciphertext) VALUES (?,?,?,?,?,?,?,?)",
			s.last, 1, r.Token, 1, 1, r.CreatedAt.UnixMicro(), r.Sealed.Version, r.Sealed.Ciphertext); err != nil {
			return err
		}
		if _, err := s.conn.Exec(context.Background(), "INSERT INTO vault_fingerprints (fingerprint, scope, version, row, token) VALUES (?,?,?,?,?)",
			r.Fingerprints[0].Fingerprint[:], 1, 1, s.last, r.Token); err != nil {
			return err
		}
	}
	if _, err := s.conn.Exec(context.Background(), countSealed, 1, 1, 1, len(rows)); err != nil {
		return err
	}
	_, err := s.conn.Exec(context.Background(), "COMMIT")
	return err
}

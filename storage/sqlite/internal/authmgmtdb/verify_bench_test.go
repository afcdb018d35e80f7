package authmgmtdb

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// benchAuthMgmt opens a database with a service, and with a hundred clients of one role
// each.
func benchAuthMgmt(b *testing.B, name string) (*DB, *authmgmt.Service) {
	db, err := Open(b.Context(), filepath.Join(b.TempDir(), name), nil)
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	s, err := authmgmt.New(authmgmt.Backend{Store: db.authmgmt}, nil)
	require.NoError(b, err)
	return db, s
}

var benchCaller = authmgmt.Caller{Actor: "bench", Access: access.Full()}

// benchTokens makes access tokens of clients that have one role each, among 100,000
// others, and a table of as many rows that a point read can be made of: 32 bytes of key,
// 100 of value.
func benchTokens(b *testing.B, db *DB, s *authmgmt.Service) (texts []string) {
	const clients, each, all = 100, 10, 100_000
	texts = make([]string, clients*each)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			c, secret, err := s.CreateClient(b.Context(), "acme", benchCaller, authmgmt.NewClient{
				ID: fmt.Sprint("robot", i), Name: "Robot", Roles: []access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}},
			})
			if err != nil {
				b.Error(err)
				return
			}
			for j := range each {
				_, token, err := s.Login(b.Context(), c.ID, secret.Reveal())
				if err != nil {
					b.Error(err)
				}
				texts[i*each+j] = token.Reveal()
			}
		})
	}
	wg.Wait()
	require.NoError(b, db.Write(b.Context(), func(tx *file.Tx) error {
		const rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
		if _, err := tx.Exec(rows+"INSERT INTO authmgmt_tokens SELECT randomblob(32), randomblob(16), organization, subject, client, secret, NULL,"+
			" created_at, expires_at, NULL FROM n, (SELECT * FROM authmgmt_tokens LIMIT 1)", all-len(texts)); err != nil {
			return err
		}
		if _, err := tx.Exec("CREATE TABLE point (key BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO point SELECT digest, randomblob(100) FROM authmgmt_tokens")
		return err
	}))
	return texts
}

// BenchmarkAuthMgmtVerify compares Service.VerifyToken for a client's token with one
// point read of a table of the same size, through the file's own pool and on a
// connection of its own.
func BenchmarkAuthMgmtVerify(b *testing.B) {
	db, s := benchAuthMgmt(b, "verify.db")
	texts := benchTokens(b, db, s)
	digests := make([][32]byte, len(texts))
	for i, text := range texts {
		digests[i] = sha256.Sum256([]byte(text))
	}
	raw, err := db.Probe().Connect(nil)
	require.NoError(b, err)
	defer func() { _ = raw.Close() }()
	const point = "SELECT value FROM point WHERE key = ?"
	one := func(query func(args []any, each func(*file.Row) error) error) func(i int) error {
		return func(i int) error {
			var value [100]byte
			return query([]any{digests[i][:]}, func(r *file.Row) error {
				r.Blob(0, value[:])
				return nil
			})
		}
	}
	contenders := []struct {
		name string
		do   func(i int) error
		took time.Duration
	}{
		{name: "verify", do: func(i int) error { _, err := s.VerifyToken(b.Context(), texts[i]); return err }},
		{name: "token", do: func(i int) error { _, err := db.authmgmt.TokenByDigest(b.Context(), digests[i]); return err }},
		{name: "own-point", do: one(func(args []any, each func(*file.Row) error) error {
			return db.Find(b.Context(), file.NoOrg, point, args, each)
		})},
		{name: "raw-point", do: one(func(args []any, each func(*file.Row) error) error {
			return raw.Query(context.Background(), point, args, each)
		})},
	}
	round := func(first int) {
		for i := range contenders {
			c := &contenders[(first+i)%len(contenders)]
			begun := time.Now()
			for n := range texts {
				require.NoError(b, c.do(n))
			}
			c.took += time.Since(begun)
		}
	}
	round(0) // the first one fills the caches, and does not count
	for i := range contenders {
		contenders[i].took = 0
	}
	for n := 0; b.Loop(); n++ {
		round(n)
	}
	for _, c := range contenders {
		b.ReportMetric(float64(c.took.Nanoseconds())/float64(b.N*len(texts)), c.name+"-ns")
	}
	b.ReportMetric(contenders[0].took.Seconds()/contenders[2].took.Seconds(), "of-own-point")
	b.ReportMetric(contenders[0].took.Seconds()/contenders[3].took.Seconds(), "of-raw-point")
	b.ReportMetric(0, "ns/op")
}

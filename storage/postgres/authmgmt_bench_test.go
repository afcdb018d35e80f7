package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// BenchmarkUpdateClient renames clients, with an audit event each, on a server that syncs to
// the disk, by 1, 16 and 64 callers at a time, in turns with a bare transaction of the
// UPDATE and the INSERT. of-bare is the speed as a part of the bare one's.
func BenchmarkUpdateClient(b *testing.B) {
	const clients = 512
	db, pool := databaseToMeasure(b)
	store := db.AuthMgmt().Store
	ctx := context.Background()
	for i := range clients {
		c := authmgmt.Client{Organization: "acme", ID: fmt.Sprint(i), Name: "new", CreatedAt: time.Now()}
		require.NoError(b, store.CreateClient(ctx, c, authmgmt.AuditEvent{}))
	}
	const (
		bareUpdate = "UPDATE mortise.authmgmt_clients SET name = $3, updated_at = $4 WHERE organization = $1 AND id = $2"
		bareAudit  = "INSERT INTO mortise.authmgmt_audit (id, organization, at, kind, actor, target) VALUES ($1, $2, $3, $4, $5, $6)"
	)
	var n atomic.Int64
	next := func() (id, name string) {
		k := n.Add(1)
		return fmt.Sprint(k % clients), fmt.Sprint("name ", k)
	}
	contenders := [2]func() error{
		func() error {
			id, name := next()
			return store.UpdateClient(ctx, "acme", id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				c.Name, c.UpdatedAt = name, time.Now()
				return authmgmt.AuditEvent{ID: uuid.Must(uuid.NewV7()), At: c.UpdatedAt, Kind: "client.updated", Actor: "ada", Target: id}, nil
			})
		},
		func() error {
			id, name := next()
			return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				now := time.Now()
				if _, err := tx.Exec(ctx, bareUpdate, []byte("acme"), []byte(id), []byte(name), now); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, bareAudit, uuid.Must(uuid.NewV7()), []byte("acme"), now, []byte("client.updated"), []byte("ada"), []byte(id))
				return err
			})
		},
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var took [2]time.Duration
			for b.Loop() {
				for i, do := range contenders {
					took[i] += byMany(b, callers, 20, do)
				}
			}
			b.ReportMetric(float64(b.N*callers*20)/took[0].Seconds(), "updates/s")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-bare")
		})
	}
}

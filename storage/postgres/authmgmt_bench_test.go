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

// BenchmarkUpdateClient renames clients, with an audit event each, in turns with a bare
// transaction of the UPDATE and the INSERT.
func BenchmarkUpdateClient(b *testing.B) {
	const clients = 512
	m, ctx := openToMeasure(b), context.Background()
	store := m.AuthMgmt().Store
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
	m.besideBare(b, func() error {
		id, name := next()
		return store.UpdateClient(ctx, "acme", id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
			c.Name, c.UpdatedAt = name, time.Now()
			return authmgmt.AuditEvent{ID: uuid.Must(uuid.NewV7()), At: c.UpdatedAt, Kind: "client.updated", Actor: "ada", Target: id}, nil
		})
	}, func() error {
		id, name := next()
		return pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
			now := time.Now()
			if _, err := tx.Exec(ctx, bareUpdate, "acme", id, name, now); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, bareAudit, uuid.Must(uuid.NewV7()), "acme", now, "client.updated", "ada", id)
			return err
		})
	})
}

package postgres_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// TestAuthMgmtProcesses: of two processes that accept one invitation, or invite one address,
// one succeeds.
func TestAuthMgmtProcesses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	var stores []authmgmt.Store
	for range 2 {
		stores = append(stores, d.open(t, nil).AuthMgmt().Store)
	}
	taken := errors.New("it is accepted already")
	now := time.Now().UTC().Truncate(time.Microsecond)
	for round := range 20 {
		var created, accepted atomic.Int32
		id := fmt.Sprint("i", round)
		atOnce(6, func(n int) {
			store := stores[n%2]
			i := authmgmt.Invitation{
				Organization: "acme", ID: fmt.Sprint(id, "-", n), Email: fmt.Sprint(round, "@example.com"), CreatedAt: now, ExpiresAt: now.Add(time.Hour),
			}
			if n == 0 {
				i.ID = id
			}
			err := store.CreateInvitation(ctx, i, true, authmgmt.AuditEvent{})
			if err == nil {
				created.Add(1)
			} else {
				assert.ErrorIs(t, err, authmgmt.ErrPendingInvitation)
			}
		})
		require.EqualValues(t, 1, created.Load())
		page, err := stores[0].ListInvitations(ctx, "acme", now, "", "", 1)
		require.NoError(t, err)
		atOnce(6, func(n int) {
			store := stores[n%2]
			err := store.UpdateInvitation(ctx, "acme", page.Items[0].ID, func(i *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
				if !i.AcceptedAt.IsZero() {
					return authmgmt.AuditEvent{}, taken
				}
				i.AcceptedAt, i.AcceptedBy = now, fmt.Sprint(n)
				return authmgmt.AuditEvent{ID: uuid.New(), At: now, Kind: "accepted", Target: id}, nil
			})
			if err == nil {
				accepted.Add(1)
			} else {
				assert.ErrorIs(t, err, taken)
			}
		})
		require.EqualValues(t, 1, accepted.Load())
		trail, err := stores[1].ListAuditEvents(ctx, "acme", authmgmt.AuditQuery{Target: id, Limit: 10})
		require.NoError(t, err)
		require.Len(t, trail.Items, 1)
	}
}

// TestAuthMgmtInTx: a client stands and falls with the host's transaction, and what fails
// within it leaves the rest alive.
func TestAuthMgmtInTx(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	pool, store := d.pool(t), d.open(t, nil).AuthMgmt().Store
	undone := errors.New("undone")
	client := authmgmt.Client{Organization: "acme", ID: "ci", CreatedAt: time.Now().UTC().Truncate(time.Microsecond)}
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		client.ID = fmt.Sprint("ci ", level)
		for _, end := range []error{undone, nil} {
			require.ErrorIs(t, pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
				within := postgres.InTx(ctx, tx)
				e := authmgmt.AuditEvent{ID: uuid.New(), Organization: "acme", At: client.CreatedAt, Kind: "created", Target: client.ID}
				require.NoError(t, store.CreateClient(within, client, e))
				require.ErrorIs(t, store.CreateClient(within, client, authmgmt.AuditEvent{}), mortise.ErrExists)
				_, err := store.Client(within, "acme", client.ID)
				require.NoError(t, err, "the transaction does not see its own rows")
				_, err = store.Client(ctx, "acme", client.ID)
				require.ErrorIs(t, err, mortise.ErrNotFound)
				return end
			}), end)
			_, err := store.Client(ctx, "acme", client.ID)
			if end == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, mortise.ErrNotFound)
			}
		}
	}
}

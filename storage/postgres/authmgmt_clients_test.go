package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// addClients stores clients without a name: "0", "1" and so on.
func addClients(t *testing.T, store authmgmt.Store, n int) {
	t.Helper()
	for i := range n {
		c := authmgmt.Client{Organization: "acme", ID: fmt.Sprint(i), CreatedAt: time.Now()}
		require.NoError(t, store.CreateClient(t.Context(), c, authmgmt.AuditEvent{}))
	}
}

// letter adds one to a client's name, with an event.
func letter(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
	c.Name += "."
	return authmgmt.AuditEvent{ID: uuid.New(), At: time.Now(), Kind: "updated", Actor: "ada", Target: c.ID}, nil
}

// TestUpdateClientProcesses: no update is lost that two processes make of the same clients,
// in transactions that many share, and each has its event. One that is refused, or panics,
// is nobody else's business.
func TestUpdateClientProcesses(t *testing.T) {
	t.Parallel()
	const clients, callers, times = 3, 24, 10
	ctx, d := t.Context(), newDatabase(t)
	stores := []authmgmt.Store{d.open(t, nil).AuthMgmt().Store, d.open(t, nil).AuthMgmt().Store}
	addClients(t, stores[0], clients)
	refused := errors.New("refused")
	atOnce(callers, func(n int) {
		store, id := stores[n%2], fmt.Sprint(n%clients)
		for i := range times {
			switch {
			case n >= clients && i%5 == 1:
				assert.ErrorIs(t, store.UpdateClient(ctx, "acme", id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
					c.Name = "no"
					return authmgmt.AuditEvent{}, refused
				}), refused)
			case n >= clients && i%5 == 2:
				assert.PanicsWithError(t, refused.Error(), func() {
					_ = store.UpdateClient(ctx, "acme", id, func(*authmgmt.Client) (authmgmt.AuditEvent, error) { panic(refused) })
				})
			case n >= clients && i%5 == 3: // the secrets alone
				assert.NoError(t, store.UpdateClient(ctx, "acme", id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
					c.Secrets = append(c.Secrets, authmgmt.ClientSecret{ID: uuid.New(), Digest: [32]byte{byte(n), byte(i)}})
					return authmgmt.AuditEvent{}, nil
				}))
			default:
				assert.NoError(t, store.UpdateClient(ctx, "acme", id, letter))
			}
		}
	})
	for i := range clients {
		c, err := stores[0].Client(ctx, "acme", fmt.Sprint(i))
		require.NoError(t, err)
		others := callers/clients - 1
		require.Len(t, c.Name, times+others*times*2/5)
		require.Len(t, c.Secrets, others*times/5)
		trail, err := stores[0].ListAuditEvents(ctx, "acme", authmgmt.AuditQuery{Target: c.ID, Limit: 1000})
		require.NoError(t, err)
		require.Len(t, trail.Items, len(c.Name))
	}
}

// TestUpdateClientMeanwhile: an update function whose client is changed while it runs, be it
// in its secrets only, is called again with what is there then.
func TestUpdateClientMeanwhile(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	store, other := d.open(t, nil).AuthMgmt().Store, d.open(t, nil).AuthMgmt().Store
	addClients(t, store, 1)
	for i, change := range []func(*authmgmt.Client) (authmgmt.AuditEvent, error){
		letter,
		func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
			c.Secrets = append(c.Secrets, authmgmt.ClientSecret{ID: uuid.New(), Digest: [32]byte{1}})
			return authmgmt.AuditEvent{}, nil
		},
		func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
			c.Secrets[0].ExpiresAt = time.Now()
			return authmgmt.AuditEvent{}, nil
		},
		func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
			c.Secrets = nil
			return authmgmt.AuditEvent{}, nil
		},
	} {
		var seen []authmgmt.Client
		require.NoError(t, store.UpdateClient(ctx, "acme", "0", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
			if seen = append(seen, c.Clone()); len(seen) == 1 {
				require.NoError(t, other.UpdateClient(ctx, "acme", "0", change))
			}
			return letter(c)
		}))
		require.Len(t, seen, 2, i)
		require.NotEqual(t, seen[0], seen[1], i)
	}
	require.ErrorIs(t, store.UpdateClient(ctx, "acme", "0", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
		_, err := other.MarkDeleted(ctx, "acme", time.Now(), authmgmt.AuditEvent{})
		require.NoError(t, err)
		return letter(c)
	}), mortise.ErrNotFound)
	trail, err := store.ListAuditEvents(ctx, "acme", authmgmt.AuditQuery{Limit: 1})
	require.NoError(t, err)
	require.Empty(t, trail.Items)
}

// TestUpdateClientBetween: an update function that refuses a client because its secrets were
// changed between the reading of its name and of them is called again with what is there.
func TestUpdateClientBetween(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	store, pool := d.open(t, nil).AuthMgmt().Store, d.pool(t)
	other := d.open(t, nil).AuthMgmt().Store
	addClients(t, store, 1)
	require.NoError(t, store.UpdateClient(ctx, "acme", "0", letter), "its connection has prepared what it sends")
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	_, err = tx.Exec(ctx, "LOCK TABLE mortise.authmgmt_secrets")
	require.NoError(t, err)
	var seen []string
	updated := make(chan error, 1)
	go func() {
		updated <- store.UpdateClient(ctx, "acme", "0", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
			seen = append(seen, fmt.Sprint(c.Name, len(c.Secrets)))
			if len(c.Name) != len(c.Secrets)+1 {
				return authmgmt.AuditEvent{}, errors.New("never stored")
			}
			return letter(c)
		})
	}()
	d.awaitLock(t)
	require.NoError(t, other.UpdateClient(postgres.InTx(ctx, tx), "acme", "0", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
		c.Secrets = append(c.Secrets, authmgmt.ClientSecret{ID: uuid.New(), Digest: [32]byte{1}})
		return letter(c)
	}))
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-updated)
	require.Equal(t, []string{".1", "..1"}, seen)
}

// TestUpdateClientOrder: a transaction of many updates locks the clients in one order, so
// that two of two processes never wait for each other.
func TestUpdateClientOrder(t *testing.T) {
	t.Parallel()
	const clients, times = 30, 10
	ctx, d := t.Context(), newDatabase(t)
	store, pool := d.open(t, &postgres.Options{Timeout: time.Minute}).AuthMgmt().Store, d.pool(t)
	addClients(t, store, clients)
	_, err := pool.Exec(ctx, `
CREATE TABLE updates (seq int GENERATED ALWAYS AS IDENTITY, tx xid8 DEFAULT pg_current_xact_id(), id text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO public.updates (id) VALUES (NEW.id); RETURN NEW; END $$;
CREATE TRIGGER note BEFORE UPDATE ON mortise.authmgmt_clients FOR EACH ROW EXECUTE FUNCTION note()`)
	require.NoError(t, err)
	t.Cleanup(func() { // the database is given to others
		_, err := pool.Exec(context.WithoutCancel(ctx), "DROP TRIGGER note ON mortise.authmgmt_clients; DROP FUNCTION note")
		require.NoError(t, err)
	})
	atOnce(clients, func(n int) {
		for range times {
			assert.NoError(t, store.UpdateClient(ctx, "acme", fmt.Sprint((n*7)%clients), letter))
		}
	})
	var updates, most, disorder int
	require.NoError(t, pool.QueryRow(ctx, `
SELECT sum(of), max(of), sum(disorder) FROM (
	SELECT count(*) AS of, count(*) FILTER (WHERE id COLLATE "C" < before COLLATE "C") AS disorder
	FROM (SELECT tx, id, lag(id) OVER (PARTITION BY tx ORDER BY seq) AS before FROM updates) u GROUP BY tx
) t`).Scan(&updates, &most, &disorder))
	require.Equal(t, clients*times, updates)
	require.Greater(t, most, 1, "no two updates have shared a transaction")
	require.Zero(t, disorder)
}

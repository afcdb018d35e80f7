package file

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

// defaults are the settings of sqlite.Open, of a program without workers.
var defaults = settingsOf(Options{})

// settingsOf puts defaults in place of the settings that are missing.
func settingsOf(o Options) *Options {
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 3 * time.Second
	}
	if o.TxTime == 0 {
		o.TxTime = 2 * time.Second
	}
	if o.Working == nil {
		o.Working = func() bool { return false }
	}
	if o.Forgets == nil {
		o.Forgets = func(string) bool { return false }
	}
	return &o
}

// item is what a test stores: a job of the organization acme, whose trace is any text.
type item struct{ id, text string }

func newItem() item { return item{uuid.NewString(), "Document it."} }

// longItem is an item with so many bytes of text.
func longItem(bytes int) item { return item{uuid.NewString(), strings.Repeat("x", bytes)} }

const insertItem = "INSERT INTO mortise_jobs (id, kind, organization, claimable_at, ready, deliveries, dead, trace)" +
	" VALUES (?, 'test', 'acme', 0, 1, 0, 0, ?) ON CONFLICT DO NOTHING"

// storeItem fails with mortise.ErrExists if the item is there.
func storeItem(ctx context.Context, db *File, i item) error {
	return db.Write(ctx, func(tx *Tx) error { return tx.Insert(insertItem, i.id, i.text) })
}

// findItem fails with mortise.ErrNotFound if the item is not there.
func findItem(ctx context.Context, db *File, id string) (found item, err error) {
	err = mortise.ErrNotFound
	findErr := db.Find(ctx, "acme", "SELECT id, trace FROM mortise_jobs WHERE id = ?", []any{id}, func(r *Row) error {
		found, err = item{r.Text(0), r.Text(1)}, nil
		return nil
	})
	if findErr != nil {
		err = findErr
	}
	return found, err
}

// listItems is a list of an organization's. It finds all items before it returns the first, as
// lists do.
func listItems(ctx context.Context, db *File, org string, limit int) (found []item, err error) {
	const page = "WITH page AS MATERIALIZED" +
		" (SELECT id, trace FROM mortise_jobs WHERE organization = ? ORDER BY id LIMIT 0 + ?) SELECT * FROM page"
	err = db.List(ctx, org, page, []any{org, limit}, func(r *Row) error {
		found = append(found, item{r.Text(0), r.Text(1)})
		return nil
	})
	return found, err
}

// numbers returns the first column of a query's rows.
func numbers(t testing.TB, db *File, query string) (found []int) {
	t.Helper()
	require.NoError(t, db.Find(t.Context(), NoOrg, query, nil, func(r *Row) error {
		found = append(found, r.Number(0))
		return nil
	}))
	return found
}

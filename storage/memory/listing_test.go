package memory_test

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// between is a context that calls do at each call of Err.
type between struct {
	context.Context
	do func()
}

func (c between) Err() error {
	c.do()
	return c.Context.Err()
}

// TestListingsHoldUpNobody: while a listing passes over many rows, other organizations
// write, and what comes or goes meanwhile neither repeats a row nor hides one.
func TestListingsHoldUpNobody(t *testing.T) {
	const rows = 20_000
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	id := func(i int) (id uuid.UUID) {
		binary.BigEndian.PutUint64(id[:], uint64(i+1))
		return id
	}
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	events, clients, vaults := db.Trigger().Store.(*memory.Trigger), db.AuthMgmt().Store.(*memory.AuthMgmt), db.Vault().Store.(*memory.Vault)
	var want []uuid.UUID
	for i := range rows {
		// Every tenth event will go, among them the one at which a step ends.
		e := trigger.Event{ID: id(i), Organization: "acme", Status: trigger.StatusFailed, SubmittedAt: at.Add(time.Duration(i)), FinishedAt: at}
		if i%10 != 0 {
			e.Status, e.FinishedAt = trigger.StatusReceived, time.Time{}
		}
		if i%1000 == 1 {
			e.Source = "rare"
			want = append([]uuid.UUID{e.ID}, want...)
		}
		_, _, err := events.CreateEvent(t.Context(), e, time.Time{})
		require.NoError(t, err)
		kind := mortise.KindClientCreated
		if i == 0 {
			kind = mortise.KindClientDeleted
		}
		audit := authmgmt.AuditEvent{ID: id(i), Organization: "acme", At: at.Add(time.Duration(i)), Kind: kind}
		require.NoError(t, clients.UpdateOrganization(t.Context(), "acme", func(*authmgmt.Organization) (authmgmt.AuditEvent, error) {
			return audit, nil
		}))
		seen := vault.AuditEvent{ID: id(i), Organization: "acme", At: at.Add(time.Duration(i)), Kind: mortise.Kind(kind)}
		require.NoError(t, vaults.AddAuditEvent(t.Context(), seen))
	}
	steps, others, pruned := 0, 0, 0
	ctx := between{t.Context(), func() { // would wait for ever, if the listing had the lock
		steps++
		others++
		e := trigger.Event{ID: id(rows + others), Organization: "other", Status: trigger.StatusReceived, SubmittedAt: at}
		_, created, err := events.CreateEvent(t.Context(), e, time.Time{})
		require.NoError(t, err)
		require.True(t, created)
		n, _, err := events.Prune(t.Context(), trigger.StatusFailed, at.Add(1), at.Add(1), 500)
		require.NoError(t, err)
		pruned += n
	}}

	page, err := events.ListEvents(ctx, "acme", trigger.EventQuery{Source: "rare", Limit: 100})
	require.NoError(t, err)
	var got []uuid.UUID
	for _, e := range page.Items {
		got = append(got, e.ID)
	}
	require.Equal(t, want, got)
	require.Positive(t, pruned)
	require.Greater(t, steps, 3)

	steps = 0
	trail, err := clients.ListAuditEvents(ctx, "acme", authmgmt.AuditQuery{Kind: mortise.KindClientDeleted, Limit: 1})
	require.NoError(t, err)
	require.Len(t, trail.Items, 1)
	require.Greater(t, steps, 3)

	steps = 0
	shown, err := vaults.ListAuditEvents(ctx, "acme", vault.AuditQuery{Kind: mortise.Kind(mortise.KindClientDeleted), Limit: 1})
	require.NoError(t, err)
	require.Len(t, shown.Items, 1)
	require.Greater(t, steps, 3)
}

// TestListOfRunsHoldsUpNobody: the same for runs.
func TestListOfRunsHoldsUpNobody(t *testing.T) {
	const rows = 20_000
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	runs := db.AudioSearch().Store.(*memory.AudioSearch)
	var want []int64
	for i := range rows {
		// Every tenth run will go, among them the one at which a step ends.
		r := audiosearch.Run{
			Organization: "acme", ID: int64(i + 1), State: audiosearch.StateTerminated,
			CreatedAt: at.Add(time.Duration(i)), FinishedAt: at,
		}
		if i%10 != 0 {
			r.FinishedAt = at.Add(time.Hour)
		}
		if i%1000 == 1 {
			r.Actor = "ada"
			want = append([]int64{r.ID}, want...)
		}
		require.NoError(t, runs.CreateRun(t.Context(), r, rows))
	}
	steps, others, pruned := 0, int64(0), 0
	ctx := between{t.Context(), func() { // would wait for ever, if the listing had the lock
		steps++
		others++
		r := audiosearch.Run{Organization: "other", ID: rows + others, CreatedAt: at}
		require.NoError(t, runs.CreateRun(t.Context(), r, rows))
		n, _, err := runs.PruneRuns(t.Context(), at.Add(1), 500)
		require.NoError(t, err)
		pruned += n
	}}
	found, err := runs.ListRuns(ctx, "acme", audiosearch.RunQuery{Actor: "ada", Limit: 100})
	require.NoError(t, err)
	var got []int64
	for _, r := range found.Items {
		got = append(got, r.ID)
	}
	require.Equal(t, want, got)
	require.Positive(t, pruned)
	require.Greater(t, steps, 3)
}

package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// TestPagesByTexts: who keeps no more than the text of a position goes on where they
// were.
func TestPagesByTexts(t *testing.T) {
	f := triggertest.New(t, nil)
	ctx := t.Context()
	const n = 7
	var keys, events []uuid.UUID // in the orders of the listings
	for i := range n {
		k, _, err := f.IssueKey(ctx, "acme", "", "build")
		require.NoError(t, err)
		e, err := f.Submit(ctx, "acme", "", trigger.Submission{Instructions: "Document the --json flag."})
		require.NoError(t, err)
		keys, events = append(keys, k.ID), append([]uuid.UUID{e.ID}, events...)
		f.Advance(time.Duration(i) * time.Microsecond)
	}
	var got []uuid.UUID
	listed := func(next mortise.Cursor) (text string) {
		text = string(next)
		assert.Equal(t, len(got) == n, text == "", "the last page has no next one")
		return text
	}
	for text := "start"; text != ""; {
		page, err := f.ListKeys(ctx, "acme", mortise.Cursor(strings.TrimPrefix(text, "start")), 2)
		require.NoError(t, err)
		for _, k := range page.Items {
			got = append(got, k.ID)
		}
		text = listed(page.Next)
	}
	assert.Equal(t, keys, got)
	got = nil
	for text := "start"; text != ""; {
		page, err := f.ListEvents(ctx, "acme", trigger.EventQuery{After: mortise.Cursor(strings.TrimPrefix(text, "start")), Limit: 2})
		require.NoError(t, err)
		for _, e := range page.Items {
			got = append(got, e.ID)
		}
		text = listed(page.Next)
	}
	assert.Equal(t, events, got)
}

func TestListsRefuse(t *testing.T) {
	f := triggertest.New(t, nil)
	for _, c := range []struct {
		after mortise.Cursor
		limit int
		field string
	}{
		{"", -1, "limit"}, {"", mortise.MaxPageSize + 1, "limit"}, {"a b", 1, "after"}, {"x", 1, "after"},
		{mortise.Cursor(strings.Repeat("A", 513)), 1, "after"},
	} {
		_, keys := f.ListKeys(t.Context(), "acme", c.after, c.limit)
		_, events := f.ListEvents(t.Context(), "acme", trigger.EventQuery{After: c.after, Limit: c.limit})
		for _, err := range []error{keys, events} {
			var invalid *mortise.ValidationError
			require.ErrorAs(t, err, &invalid, "%+v", c)
			require.Equal(t, c.field, invalid.Problems[0].Path.String())
		}
	}
}

// TestKeysIterator: it gives each key once, over more pages than one, also while others
// come; it ends with the first error, and when its caller has had enough.
func TestKeysIterator(t *testing.T) {
	f := triggertest.New(t, nil)
	const n = 250 // more than two pages
	issue := func(org, name string) {
		_, _, err := f.IssueKey(t.Context(), org, "", name)
		require.NoError(t, err)
	}
	var want, got []string
	for i := range n {
		issue("acme", fmt.Sprint("key", i))
		issue("globex", "another")
		want = append(want, fmt.Sprint("key", i))
		f.Advance(time.Second)
	}
	for k, err := range f.Keys(t.Context(), "acme") {
		require.NoError(t, err)
		got = append(got, k.Name)
		if len(got) == 150 {
			issue("acme", "late")
		}
	}
	assert.Equal(t, append(want, "late"), got)

	page, err := f.ListKeys(t.Context(), "acme", "", 0)
	require.NoError(t, err)
	assert.Len(t, page.Items, 50)

	read := 0
	for k, err := range f.Keys(t.Context(), "acme") {
		if read++; read == 1 {
			f.Break(triggertest.APIKeysPart) // the next page cannot be read
		}
		if read > 50 {
			require.ErrorIs(t, err, mortise.ErrUnavailable)
			assert.Zero(t, k)
		}
	}
	assert.Equal(t, 51, read)
}

// standingKeys are keys whose pages all begin at the start, and say that others follow.
type standingKeys struct{ trigger.APIKeys }

func (s standingKeys) ListKeys(ctx context.Context, org string, _ mortise.Cursor, limit int) (mortise.Page[trigger.APIKey], error) {
	page, err := s.APIKeys.ListKeys(ctx, org, "", limit)
	page.Next = page.Items[0].Position().Cursor()
	return page, err
}

func TestKeysOfAStoreThatStandsStill(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil), Keys: standingKeys{db.Trigger().Store.(*memory.Trigger)}}, nil)
	require.NoError(t, err)
	_, _, err = s.IssueKey(t.Context(), "acme", "", "build")
	require.NoError(t, err)
	var errs []error
	for _, err := range s.Keys(t.Context(), "acme") {
		errs = append(errs, err)
	}
	require.Len(t, errs, 2)
	require.ErrorIs(t, errs[1], mortise.ErrUnavailable)
}

// standingHistory begins each page at the start.
type standingHistory struct{ trigger.Store }

func (s standingHistory) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	q.After = ""
	return s.Store.ListEvents(ctx, org, q)
}

func TestHistoryOfAStoreThatStandsStill(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: standingHistory{db.Trigger().Store}, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	for range 5 {
		_, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "Document the --json flag."})
		require.NoError(t, err)
	}
	var errs []error
	for _, err := range s.Events(t.Context(), "acme", trigger.EventQuery{Limit: 2}) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 3, "a page and an error")
	require.NoError(t, errors.Join(errs[:2]...))
	require.ErrorIs(t, errs[2], mortise.ErrUnavailable)
}

func TestKeysIteratorWithoutAStore(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	var errs []error
	for _, err := range s.Keys(t.Context(), "acme") {
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	assert.True(t, errors.Is(errs[0], errors.ErrUnsupported))
}

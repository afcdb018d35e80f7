package authmgmt_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// TestListsRefuse: a list refuses a limit and a cursor that no page can have.
func TestListsRefuse(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	for name, list := range map[string]func(mortise.Cursor, int) error{
		"clients": func(after mortise.Cursor, limit int) error {
			_, err := r.ListClients(t.Context(), "acme", after, limit)
			return err
		},
		"tokens": func(after mortise.Cursor, limit int) error {
			_, err := r.ListTokens(t.Context(), "acme", after, limit)
			return err
		},
		"invitations": func(after mortise.Cursor, limit int) error {
			_, err := r.ListInvitations(t.Context(), "acme", "", after, limit)
			return err
		},
		"all invitations": func(after mortise.Cursor, limit int) error {
			_, err := r.ListAllInvitations(t.Context(), "acme", "", after, limit)
			return err
		},
		"audit events": func(after mortise.Cursor, limit int) error {
			_, err := r.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{After: after, Limit: limit})
			return err
		},
	} {
		require.NoError(t, list("", mortise.MaxPageSize), name)
		require.NoError(t, list("", 0), name)
		assert.Equal(t, []string{"limit", "after"}, fieldsOf(t, list("a b", -1)), name)
		assert.Equal(t, []string{"limit"}, fieldsOf(t, list("", mortise.MaxPageSize+1)), name)
		assert.Equal(t, []string{"after"}, fieldsOf(t, list("x", 1)), name)
		assert.Equal(t, []string{"after"}, fieldsOf(t, list(mortise.Cursor(strings.Repeat("A", 513)), 1)), name)
	}
}

// iterated reads an iterator to its end.
func iterated[T any](t *testing.T, all iter.Seq2[T, error], name func(*T) string) []string {
	t.Helper()
	names := []string{}
	for item, err := range all {
		require.NoError(t, err)
		names = append(names, name(&item))
	}
	return names
}

// TestIterators: each gives what the pages give, over more pages than one. It ends with the
// first error, and when its caller has had enough.
func TestIterators(t *testing.T) {
	const n = 250 // more than two pages
	r := newRig(t, authmgmt.Options{})
	store := &listingStore{Store: r.store}
	listing, err := authmgmt.New(authmgmt.Backend{Store: store}, &authmgmt.Options{Env: mortise.Env{Now: r.now}})
	require.NoError(t, err)
	ctx := t.Context()
	var clients, tokens, pending, all []string
	for i := range n {
		for _, org := range []string{"acme", "globex"} {
			id := fmt.Sprintf("%s-%03d", org, i)
			_, _, err := r.CreateClient(ctx, org, full, authmgmt.NewClient{ID: id, Name: id, FullAccess: true})
			require.NoError(t, err)
			_, _, err = r.IssueToken(ctx, org, full, authmgmt.NewToken{Subject: id, FullAccess: true})
			require.NoError(t, err)
			invitation := authmgmt.NewInvitation{ID: id, Email: id + "@example.com", Name: id, FullAccess: true}
			_, err = r.ImportInvitation(ctx, org, full, invitation)
			require.NoError(t, err)
			if i%3 == 0 {
				require.NoError(t, r.CancelInvitation(ctx, org, full, id))
			}
			if org == "globex" {
				continue
			}
			clients, tokens, all = append(clients, id), append([]string{id}, tokens...), append([]string{id}, all...)
			if i%3 != 0 {
				pending = append([]string{id}, pending...)
			}
		}
		r.advance(time.Second * time.Duration(i%2)) // some have the same time
	}
	clientID := func(c *authmgmt.Client) string { return c.ID }
	subject := func(k *authmgmt.Token) string { return k.Subject }
	invitationID := func(i *authmgmt.Invitation) string { return i.ID }
	assert.Equal(t, clients, iterated(t, listing.Clients(ctx, "acme"), clientID))
	assert.ElementsMatch(t, tokens, iterated(t, listing.Tokens(ctx, "acme"), subject))
	assert.Equal(t, pending, iterated(t, listing.Invitations(ctx, "acme"), invitationID))
	assert.Equal(t, all, iterated(t, listing.AllInvitations(ctx, "acme"), invitationID))
	assert.Empty(t, iterated(t, listing.Clients(ctx, "initech"), clientID))
	assert.Equal(t, 5+5+4+5+1, store.pages)

	read := 0
	for c, err := range listing.Clients(ctx, "acme") {
		if read++; read <= 50 {
			require.NoError(t, err)
			store.broken = true // the next page cannot be read
			continue
		}
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		assert.Equal(t, authmgmt.Client{}, c)
	}
	assert.Equal(t, 51, read)
	store.broken, store.pages = false, 0
	for range listing.Tokens(ctx, "acme") {
		break
	}
	assert.Equal(t, 1, store.pages, "a caller that leaves asks for no further page")
}

// TestIteratorWhileOthersComeAndGo: what is there all the time comes once.
func TestIteratorWhileOthersComeAndGo(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	ctx := t.Context()
	add := func(id string) {
		_, _, err := r.CreateClient(ctx, "acme", full, authmgmt.NewClient{ID: id, Name: id, FullAccess: true})
		require.NoError(t, err)
		r.advance(time.Second)
	}
	const n = 250
	var want []string
	for i := range n {
		add(fmt.Sprint("c", i))
		want = append(want, fmt.Sprint("c", i))
	}
	var got []string
	for c, err := range r.Clients(ctx, "acme") {
		require.NoError(t, err)
		got = append(got, c.ID)
		if len(got) == n {
			continue
		}
		require.NoError(t, r.DeleteClient(ctx, "acme", full, c.ID))
	}
	assert.Equal(t, want, got)
}

// listingStore counts the pages that were asked for.
type listingStore struct {
	authmgmt.Store
	broken bool
	pages  int
}

func listed[T any](s *listingStore, list func() (mortise.Page[T], error)) (mortise.Page[T], error) {
	if s.pages++; s.broken {
		return mortise.Page[T]{}, errors.New("disk on fire")
	}
	return list()
}

func (s *listingStore) ListClients(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Client], error) {
	return listed(s, func() (mortise.Page[authmgmt.Client], error) { return s.Store.ListClients(ctx, org, after, limit) })
}

func (s *listingStore) ListTokens(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Token], error) {
	return listed(s, func() (mortise.Page[authmgmt.Token], error) { return s.Store.ListTokens(ctx, org, after, limit) })
}

func (s *listingStore) ListInvitations(
	ctx context.Context, org string, at time.Time, inviter string, after mortise.Cursor, limit int,
) (mortise.Page[authmgmt.Invitation], error) {
	return listed(s, func() (mortise.Page[authmgmt.Invitation], error) {
		return s.Store.ListInvitations(ctx, org, at, inviter, after, limit)
	})
}

// standingStore returns each page anew from the start, and says that others follow.
type standingStore struct{ authmgmt.Store }

func (s standingStore) ListClients(ctx context.Context, org string, _ mortise.Cursor, limit int) (mortise.Page[authmgmt.Client], error) {
	page, err := s.Store.ListClients(ctx, org, "", limit)
	page.Next = page.Items[0].Position().Cursor()
	return page, err
}

// TestIteratorOfAStoreThatStandsStill: it ends.
func TestIteratorOfAStoreThatStandsStill(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	_, _, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "build", FullAccess: true})
	require.NoError(t, err)
	s, err := authmgmt.New(authmgmt.Backend{Store: standingStore{r.store}}, nil)
	require.NoError(t, err)
	read := 0
	for _, err := range s.Clients(t.Context(), "acme") {
		if read++; read == 2 {
			require.ErrorIs(t, err, mortise.ErrUnavailable)
		} else {
			require.NoError(t, err)
		}
	}
	assert.Equal(t, 2, read)
}

func (s standingStore) ListAuditEvents(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
	q.After = ""
	return s.Store.ListAuditEvents(ctx, org, q)
}

func TestTrailOfAStoreThatStandsStill(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	for i := range 5 {
		_, _, err := r.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: fmt.Sprint(i), FullAccess: true})
		require.NoError(t, err)
	}
	s, err := authmgmt.New(authmgmt.Backend{Store: standingStore{r.store}}, nil)
	require.NoError(t, err)
	read := 0
	for _, err := range s.AuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Limit: 2}) {
		if read++; read == 3 {
			require.ErrorIs(t, err, mortise.ErrUnavailable)
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 3, read, "a page and an error")
}

package authmgmt_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

func TestPositionText(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 46, 0, 123456000, time.UTC)
	for _, p := range []authmgmt.Position{
		{}, {At: at, ID: "build"}, {At: at}, {ID: "build"}, {At: at, ID: strings.Repeat("x", 255)}, {At: at, ID: "\x00\xff\u00e9/+"},
		{At: time.Unix(-1, 999_000).UTC(), ID: uuid.NewString()},
	} {
		text := p.String()
		assert.LessOrEqual(t, len(text), 351)
		assert.NotContains(t, text, "/")
		got, err := authmgmt.ParsePosition(text)
		require.NoError(t, err, text)
		assert.Equal(t, p, got)
		assert.Equal(t, text == "", p.IsZero())
	}
	good := authmgmt.Position{At: at, ID: "build"}.String()
	for _, text := range []string{
		"x", good + "=", good[:8], good[:10] + "\n" + good[10:], "+" + good[1:], " " + good, "../../etc/passwd",
		authmgmt.Position{At: at, ID: strings.Repeat("x", 256)}.String(),
		authmgmt.Position{ID: "x"}.String()[:11], // which is a way to write zero
	} {
		_, err := authmgmt.ParsePosition(text)
		assert.Error(t, err, text)
	}
}

func FuzzParsePosition(f *testing.F) {
	f.Add(authmgmt.Position{At: time.Unix(1, 0), ID: "build"}.String())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := authmgmt.ParsePosition(text); err == nil && p.String() != text {
			t.Fatalf("%q is read as %+v, which is written %q", text, p, p.String())
		}
	})
}

func TestPositionCompare(t *testing.T) {
	at := time.Unix(7, 0).UTC()
	for i, p := range []authmgmt.Position{{At: at, ID: "b"}, {At: at.Add(1), ID: "a"}, {At: at, ID: "c"}} {
		other := authmgmt.Position{At: at, ID: "b"}
		assert.Equal(t, min(i, 1), p.Compare(other))
		assert.Equal(t, -min(i, 1), other.Compare(p))
	}
}

// TestPagingRefuses: what is no way to ask for a page is refused before the store is
// asked.
func TestPagingRefuses(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	at := authmgmt.Position{At: r.now().Truncate(time.Microsecond), ID: uuid.NewString()}
	lists := map[string]func(authmgmt.Paging) error{
		"clients": func(q authmgmt.Paging) error { _, err := r.ListClients(t.Context(), "acme", q); return err },
		"tokens":  func(q authmgmt.Paging) error { _, err := r.ListTokens(t.Context(), "acme", q); return err },
		"invitations": func(q authmgmt.Paging) error {
			_, err := r.ListInvitations(t.Context(), "acme", "", q)
			return err
		},
		"all invitations": func(q authmgmt.Paging) error {
			_, err := r.ListAllInvitations(t.Context(), "acme", "", q)
			return err
		},
	}
	for name, list := range lists {
		require.NoError(t, list(authmgmt.Paging{After: at, Limit: 1000, Total: true}), name)
		require.NoError(t, list(authmgmt.Paging{Offset: 1}), name)
		for _, c := range []struct {
			q    authmgmt.Paging
			want []string
		}{
			{authmgmt.Paging{Limit: -1, Offset: -1}, []string{"limit", "offset"}},
			{authmgmt.Paging{Limit: 1001}, []string{"limit"}},
			{authmgmt.Paging{Offset: 1, After: at}, []string{"offset"}},
			{authmgmt.Paging{After: authmgmt.Position{At: at.At.Add(1), ID: at.ID}}, []string{"after"}},
		} {
			assert.Equal(t, c.want, fieldsOf(t, list(c.q)), "%s %+v", name, c.q)
		}
		long := authmgmt.Paging{After: authmgmt.Position{At: at.At, ID: strings.Repeat("x", 256)}}
		assert.Contains(t, fieldsOf(t, list(long)), "after", name)
	}
	for _, id := range []string{"", "build", strings.ToUpper(at.ID), "{" + at.ID + "}", strings.ReplaceAll(at.ID, "-", "")} {
		foreign := authmgmt.Paging{After: authmgmt.Position{At: at.At, ID: id}}
		assert.Equal(t, []string{"after"}, fieldsOf(t, lists["tokens"](foreign)), id)
		assert.NoError(t, lists["clients"](foreign), "which may have such an ID")
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

// TestIterators: each gives what the pages give, over more pages than one, counts
// nothing, ends with the first error, and when its caller has had enough.
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
	assert.Zero(t, store.counts, "an iterator does not count")
	assert.Equal(t, 3+3+2+3+1, store.pages)

	read := 0
	for c, err := range listing.Clients(ctx, "acme") {
		if read++; read <= 100 {
			require.NoError(t, err)
			store.broken = true // the next page is not to be had
			continue
		}
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		assert.Equal(t, authmgmt.Client{}, c)
	}
	assert.Equal(t, 101, read)
	store.broken, store.pages = false, 0
	for range listing.Tokens(ctx, "acme") {
		break
	}
	assert.Equal(t, 1, store.pages, "who leaves asks for no further page")
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

// listingStore counts the pages that were asked for, and those with a total.
type listingStore struct {
	authmgmt.Store
	broken        bool
	pages, counts int
}

func (s *listingStore) ask(p authmgmt.Paging) error {
	s.pages++
	if p.Total {
		s.counts++
	}
	if s.broken {
		return errors.New("disk on fire")
	}
	return nil
}

func (s *listingStore) ListClients(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
	if err := s.ask(p); err != nil {
		return authmgmt.Page[authmgmt.Client]{}, err
	}
	return s.Store.ListClients(ctx, org, p)
}

func (s *listingStore) ListTokens(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
	if err := s.ask(p); err != nil {
		return authmgmt.Page[authmgmt.Token]{}, err
	}
	return s.Store.ListTokens(ctx, org, p)
}

func (s *listingStore) ListInvitations(ctx context.Context, org string, at time.Time, inviter string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
	if err := s.ask(p); err != nil {
		return authmgmt.Page[authmgmt.Invitation]{}, err
	}
	return s.Store.ListInvitations(ctx, org, at, inviter, p)
}

// standingStore returns each page anew from the start, and says that others follow.
type standingStore struct{ authmgmt.Store }

func (s standingStore) ListClients(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
	page, err := s.Store.ListClients(ctx, org, authmgmt.Paging{Limit: p.Limit})
	page.Next = page.Items[0].Position()
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
		if read++; read == 3 {
			require.ErrorIs(t, err, mortise.ErrUnavailable)
		} else {
			require.NoError(t, err)
		}
	}
	assert.Equal(t, 3, read)
}

func (s standingStore) ListAuditEvents(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
	q.After = mortise.Position{}
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
		if read++; read == 5 {
			require.ErrorIs(t, err, mortise.ErrUnavailable)
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 5, read, "two pages and an error")
}

// TestPositionsOutOfReach: stores count microseconds in 64 bits.
func TestPositionsOutOfReach(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	for _, at := range []time.Time{time.Unix(1<<45, 0), time.Unix(-1<<45, 0), time.Unix(0, 1)} {
		_, err := r.ListClients(t.Context(), "acme", authmgmt.Paging{After: authmgmt.Position{At: at, ID: "build"}})
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid, at)
	}
}

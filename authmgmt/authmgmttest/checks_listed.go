package authmgmttest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// shownPage is a page of whatever listing: the places of its items.
type shownPage struct {
	at    []authmgmt.Position
	next  authmgmt.Position
	total int
}

// listed is a listing that the rules about pages are tried on.
type listed struct {
	newest bool // first
	id     func(org string, n int) string
	add    func(t *testing.T, s *subject, org string, at authmgmt.Position)
	remove func(t *testing.T, s *subject, org string, at authmgmt.Position) // nil: nothing goes
	list   func(t *testing.T, s *subject, org string, p authmgmt.Paging) shownPage
}

func namedID(_ string, n int) string { return fmt.Sprintf("x%02d", n) }

// tokenID differs from organization to organization. Numbers are in the order of bytes.
func tokenID(org string, n int) string {
	return uuid.UUID{0: byte(2 * n), 15: org[len(org)-1]}.String()
}

// shown returns a page as the rules see it.
func shown[T any](items []T, at func(*T) authmgmt.Position, next authmgmt.Position, total int) shownPage {
	p := shownPage{at: []authmgmt.Position{}, next: next, total: total}
	for i := range items {
		p.at = append(p.at, at(&items[i]))
	}
	return p
}

var listedClients = listed{
	id: namedID,
	add: func(t *testing.T, s *subject, org string, at authmgmt.Position) {
		s.addClient(t, newClient(org, at.ID, at.At.Sub(moment(0))))
	},
	remove: func(t *testing.T, s *subject, org string, at authmgmt.Position) {
		s.deleteClient(t, authmgmt.Client{Organization: org, ID: at.ID})
	},
	list: func(t *testing.T, s *subject, org string, p authmgmt.Paging) shownPage {
		page := s.listClients(t, org, p)
		return shown(page.Items, (*authmgmt.Client).Position, page.Next, page.Total)
	},
}

// Tokens go with the secret that they were got with.
var listedTokens = listed{
	newest: true, id: tokenID,
	add: func(t *testing.T, s *subject, org string, at authmgmt.Position) {
		holder := authmgmt.Client{Organization: org, ID: "holder", CreatedAt: moment(0)}
		if _, err := s.Store.Client(t.Context(), org, holder.ID); errors.Is(err, mortise.ErrNotFound) {
			s.addClient(t, holder)
		}
		secret := authmgmt.ClientSecret{ID: uuid.New(), Digest: sha256.Sum256([]byte(at.ID)), CreatedAt: moment(0)}
		s.updateClient(t, holder, func(c *authmgmt.Client) { c.Secrets = append(c.Secrets, secret) })
		holder.Secrets = []authmgmt.ClientSecret{secret}
		k := clientToken(holder, 0, at.At.Sub(moment(0)))
		k.ID = uuid.MustParse(at.ID)
		s.addToken(t, k)
	},
	remove: func(t *testing.T, s *subject, org string, at authmgmt.Position) {
		s.updateClient(t, authmgmt.Client{Organization: org, ID: "holder"}, func(c *authmgmt.Client) {
			c.Secrets = slices.DeleteFunc(c.Secrets, func(s authmgmt.ClientSecret) bool {
				return s.Digest == sha256.Sum256([]byte(at.ID))
			})
		})
	},
	list: func(t *testing.T, s *subject, org string, p authmgmt.Paging) shownPage {
		page := s.listTokens(t, org, p)
		return shown(page.Items, (*authmgmt.Token).Position, page.Next, page.Total)
	},
}

// listedInvitations are all, or those that are pending at a time.
func listedInvitations(pendingAt time.Time, inviter string) listed {
	l := listed{
		newest: true, id: namedID,
		add: func(t *testing.T, s *subject, org string, at authmgmt.Position) {
			i := newInvitation(org, at.ID, at.At.Sub(moment(0)))
			i.ExpiresAt = moment(100 * day)
			s.addInvitation(t, i)
		},
		list: func(t *testing.T, s *subject, org string, p authmgmt.Paging) shownPage {
			page := s.listOfInviter(t, org, pendingAt, inviter, p)
			return shown(page.Items, (*authmgmt.Invitation).Position, page.Next, page.Total)
		},
	}
	if !pendingAt.IsZero() {
		l.remove = func(t *testing.T, s *subject, org string, at authmgmt.Position) {
			s.updateInvitation(t, authmgmt.Invitation{Organization: org, ID: at.ID}, func(i *authmgmt.Invitation) {
				i.CancelledAt = moment(0)
			})
		}
	}
	return l
}

// listing is a listing with what is known to be in it, in its order.
type listing struct {
	*listed
	s    *subject
	org  string
	have []authmgmt.Position
}

// place returns the place of the nth thing, created so many hours after the suite's
// first.
func (l *listing) place(hour, n int) authmgmt.Position {
	return authmgmt.Position{At: moment(time.Duration(hour) * time.Hour), ID: l.id(l.org, n)}
}

func (l *listing) add(t *testing.T, at authmgmt.Position) {
	t.Helper()
	l.listed.add(t, l.s, l.org, at)
	l.have = append(l.have, at)
	slices.SortFunc(l.have, func(a, b authmgmt.Position) int {
		if l.newest {
			a, b = b, a
		}
		return a.Compare(b)
	})
}

// remove takes a thing out of the listing, if that can be done.
func (l *listing) remove(t *testing.T, at authmgmt.Position) {
	t.Helper()
	if l.listed.remove == nil {
		return
	}
	l.listed.remove(t, l.s, l.org, at)
	l.have = slices.DeleteFunc(l.have, func(p authmgmt.Position) bool { return p == at })
}

// behind returns what the listing shows behind a position.
func (l *listing) behind(after authmgmt.Position) []authmgmt.Position {
	if after.IsZero() {
		return l.have
	}
	i := 0
	for i < len(l.have) && (after.Compare(l.have[i]) >= 0) != l.newest || i < len(l.have) && after.Compare(l.have[i]) == 0 {
		i++
	}
	return l.have[i:]
}

// shows requires that a page holds these, and that its Next is the last of them if more
// follow.
func (l *listing) shows(t *testing.T, want []authmgmt.Position, p authmgmt.Paging) shownPage {
	t.Helper()
	got := l.list(t, l.s, l.org, p)
	var next authmgmt.Position
	if len(want) > p.Limit {
		want = want[:p.Limit]
		next = want[p.Limit-1]
	}
	require.Equal(t, append([]authmgmt.Position{}, want...), got.at, "%+v", p)
	require.Equal(t, next, got.next, "Next of %+v", p)
	return got
}

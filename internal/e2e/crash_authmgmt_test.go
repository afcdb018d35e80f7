package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// TestKillUnderCredentials kills the server with SIGKILL, again and again, while clients
// are changed, log in, and invitations are made and accepted. What was answered is there
// afterwards, nothing is there by half, and the audit trail tells the same story.
//
// MORTISE_SEED=N kills at the same moments.
func TestKillUnderCredentials(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	const kills = 50
	moments := rand.New(rand.NewPCG(seeded(t), 1<<33))
	p := buildServer(t)
	dir, config := t.TempDir(), writeOrganizations(t, "")
	var all []*server
	start := func() *server {
		all = append(all, p.startIn(t, dir, nil, "-config", config))
		return all[len(all)-1]
	}
	s := start()
	l := newCredentialsLoad(s, 3)
	for kill := range kills {
		var killed atomic.Bool
		process := s.cmd.Process
		end := func() {
			killed.Store(true)
			_ = process.Kill()
		}
		// As in TestKillUnderLoad: most come as soon as an answer is there, some at any
		// time.
		last := l.answered.Load() + 1 + moments.Int64N(300)
		pause := time.Duration(moments.IntN(500)) * time.Millisecond
		byClock := moments.IntN(3) == 0 && kill > 0 // the first one finds something
		l.after = func(n int64) {
			if n == last && !byClock {
				end()
			}
		}
		wait := l.run(s.url, func(what string, err error) {
			if !killed.Load() {
				assert.NoError(t, err, "%s, kill %d", what, kill)
			}
		})
		if byClock {
			time.Sleep(pause)
			end()
		}
		wait()
		<-s.exited
		s = start()
	}
	l.check(s)
	s.stop()
	for _, s := range all {
		s.guard(l.secrets()...)
	}

	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "mortise-data", "mortise.db"), nil)
	require.NoError(t, err)
	defer db.Close()
	trail := readTrail(t, db.AuthMgmt().Store)
	for _, c := range l.changers {
		trail.checkChanges(t, c)
	}
	for _, c := range l.logins {
		trail.checkLogins(t, c)
	}
	pending := trail.checkInvitations(t, l)
	t.Logf("%d kills; %d answers; audit events: %d; invitations: %d, of which %d are pending; acceptances cut off: %d",
		kills, l.answered.Load(), len(trail.events), len(trail.invitations), pending, l.cutOff())
}

// trail is all that a storage has of one organization, with the audit events from the
// first to the last.
type trail struct {
	events      []authmgmt.AuditEvent
	clients     map[string]authmgmt.Client
	tokens      []authmgmt.Token
	invitations []authmgmt.Invitation
}

func readTrail(t *testing.T, store authmgmt.Store) *trail {
	t.Helper()
	found := &trail{clients: make(map[string]authmgmt.Client)}
	query := authmgmt.AuditQuery{Limit: mortise.MaxPageSize}
	for {
		page, err := store.ListAuditEvents(t.Context(), "acme", query)
		require.NoError(t, err)
		found.events = append(found.events, page.Items...)
		if query.After = page.Next; query.After == "" {
			break
		}
	}
	slices.Reverse(found.events)
	clients, err := store.ListClients(t.Context(), "acme", "", mortise.MaxPageSize)
	require.NoError(t, err)
	for _, c := range clients.Items {
		found.clients[c.ID] = c
	}
	found.tokens = everyPage(t, func(after mortise.Cursor) (mortise.Page[authmgmt.Token], error) {
		return store.ListTokens(t.Context(), "acme", after, mortise.MaxPageSize)
	})
	found.invitations = everyPage(t, func(after mortise.Cursor) (mortise.Page[authmgmt.Invitation], error) {
		return store.ListInvitations(t.Context(), "acme", time.Time{}, "", after, mortise.MaxPageSize)
	})
	return found
}

func everyPage[T any](t *testing.T, list func(after mortise.Cursor) (mortise.Page[T], error)) (all []T) {
	t.Helper()
	for item, err := range pages.Each("", list) {
		require.NoError(t, err)
		all = append(all, item)
	}
	return all
}

// of returns the events of a kind that are about a target.
func (r *trail) of(kind mortise.Kind, target string) (events []authmgmt.AuditEvent) {
	for _, e := range r.events {
		if e.Kind == kind && (target == "" || e.Target == target) {
			events = append(events, e)
		}
	}
	return events
}

// checkChanges: each change of a client began with what the one before had left, the last
// one left what is there, and none that was answered is missing.
func (r *trail) checkChanges(t *testing.T, c *changer) {
	t.Helper()
	created := r.of(mortise.KindClientCreated, c.id)
	require.Len(t, created, 1)
	left, at := created[0].After, -1
	seen := make(map[int]bool)
	for _, e := range r.of(mortise.KindClientUpdated, c.id) {
		require.Equal(t, left, e.Before, "a change of %s is not in the trail", c.id)
		left = e.After
		var n int
		_, err := fmt.Sscanf(left.Name, "name %d", &n)
		require.NoError(t, err, left.Name)
		require.Greater(t, n, at, "out of order")
		require.Len(t, left.Roles, 1, left.Name)
		require.Equal(t, roleOf(n), left.Roles[0].ID, "half of a change")
		at, seen[n] = n, true
	}
	stored := r.clients[c.id]
	assert.Equal(t, left.Name, stored.Name, "the client and its trail do not agree")
	assert.Equal(t, left.Roles[0].ID, stored.Roles[0].ID)
	for n := range c.sent {
		assert.True(t, seen[n] || c.lost[n], "change %d was answered and is not in the trail", n)
	}
	for n := range seen {
		assert.Less(t, n, c.sent, "nobody sent this")
	}
}

// checkLogins: the trail has each token that is there, and each token that the client was given.
func (r *trail) checkLogins(t *testing.T, c *loginLoop) {
	t.Helper()
	issued := make(map[string]bool)
	for _, e := range r.of(mortise.KindTokenIssued, "") {
		if e.Actor == mortise.Actor("client:"+c.client.ID) {
			issued[e.Target] = true
		}
	}
	stored := 0
	for _, token := range r.tokens {
		if token.Client == c.client.ID {
			stored++
			assert.True(t, issued[token.ID.String()], "a token that is not in the trail")
		}
	}
	assert.Equal(t, min(len(issued), authmgmt.MaxClientTokens), stored, "the trail has tokens that are not there")
	assert.GreaterOrEqual(t, len(issued), len(c.tokens))
	assert.LessOrEqual(t, len(issued), len(c.tokens)+c.lost)
}

// checkInvitations: what became of an invitation, its events and its tokens agree. It
// returns how many are pending.
func (r *trail) checkInvitations(t *testing.T, l *credentialsLoad) (pending int) {
	t.Helper()
	events := make(map[string]map[mortise.Kind]int)
	for _, e := range r.events {
		if events[e.Target] == nil {
			events[e.Target] = make(map[mortise.Kind]int)
		}
		events[e.Target][e.Kind]++
	}
	working := make(map[string]int) // tokens by email address
	for _, token := range r.tokens {
		assert.Equal(t, 1, events[token.ID.String()][mortise.KindTokenIssued])
		if token.RevokedAt.IsZero() && token.Client == "" {
			working[token.Subject]++
		}
	}
	byEmail := make(map[string]authmgmt.Invitation)
	for _, i := range r.invitations {
		byEmail[i.Email] = i
		want, tokens := map[mortise.Kind]int{mortise.KindInvited: 1}, 0
		if i.AcceptedAt.IsZero() {
			pending++
		} else {
			want[mortise.KindAccepted], want[mortise.KindGranted], tokens = 1, 1, 1
		}
		assert.Equal(t, i.AcceptedAt.IsZero(), i.GrantedAt.IsZero(), "%+v", i)
		assert.Equal(t, want, events[i.ID], "%+v", i)
		assert.Equal(t, tokens, working[i.Email], "tokens of %+v", i)
	}
	for _, a := range l.accepters {
		for email, state := range a.invitations {
			i, there := byEmail[email]
			assert.True(t, there || state == inviteLost, "the invitation of %s was answered and is lost", email)
			assert.True(t, state != acceptAnswered || !i.GrantedAt.IsZero(), "%+v was accepted", i)
		}
	}
	assert.LessOrEqual(t, pending, l.cutOff())
	return pending
}

// roleOf is the role that a client gets together with its n-th name.
func roleOf(n int) string { return []string{"viewer", "editor"}[n%2] }

// works asks whether a token is good for looking at clients.
func (s *server) works(token string) bool {
	s.t.Helper()
	return s.status("GET", clientsPath+"?limit=1", token) == http.StatusOK
}

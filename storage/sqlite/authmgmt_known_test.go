package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// twoOnOneFile opens a file twice, as two processes do, and makes a client that the first
// one knows.
func twoOnOneFile(t *testing.T) (first, second *AuthMgmt, db *DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	open := func() *DB {
		db, err := Open(t.Context(), path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	db = open()
	first, second = &AuthMgmt{db: db}, &AuthMgmt{db: open()}
	require.NoError(t, first.CreateClient(t.Context(), someClient("robot", 1), auditEvent()))
	rename(t, first, "known")
	_, known := db.clients.get(clientID{"acme", "robot"})
	require.True(t, known)
	return first, second, db
}

// alter updates the client, and returns the clients that the function was given.
func alter(t *testing.T, a *AuthMgmt, do func(c *authmgmt.Client) error) (given []authmgmt.Client, err error) {
	t.Helper()
	err = a.UpdateClient(t.Context(), "acme", "robot", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
		given = append(given, c.Clone())
		return auditEvent(), do(c)
	})
	return given, err
}

func rename(t *testing.T, a *AuthMgmt, name string) []authmgmt.Client {
	t.Helper()
	given, err := alter(t, a, func(c *authmgmt.Client) error { c.Name = name; return nil })
	require.NoError(t, err)
	return given
}

// TestKnownClientOfOthers: what another process has changed is never overwritten by what
// this one knew before.
func TestKnownClientOfOthers(t *testing.T) {
	for name, other := range map[string]func(c *authmgmt.Client){
		"roles":          func(c *authmgmt.Client) { c.Roles = []access.Role{{ID: "admin"}} },
		"name":           func(c *authmgmt.Client) { c.Name = "theirs" },
		"time":           func(c *authmgmt.Client) { c.UpdatedAt = someTime.Add(time.Hour) },
		"secrets":        func(c *authmgmt.Client) { c.Secrets = append(c.Secrets, someClient("", 2).Secrets...) },
		"one end":        func(c *authmgmt.Client) { c.Secrets[0].ExpiresAt = someTime.Add(time.Hour) },
		"there and back": func(c *authmgmt.Client) { c.Name = "theirs" },
	} {
		t.Run(name, func(t *testing.T) {
			first, second, _ := twoOnOneFile(t)
			_, err := alter(t, second, func(c *authmgmt.Client) error { other(c); return nil })
			require.NoError(t, err)
			if name == "there and back" {
				rename(t, second, "known")
			}
			want, err := second.Client(t.Context(), "acme", "robot")
			require.NoError(t, err)
			given := rename(t, first, "ours")
			require.Equal(t, want, given[len(given)-1], "the change was made on what is stored")
			want.Name = "ours"
			for _, a := range []*AuthMgmt{first, second} {
				got, err := a.Client(t.Context(), "acme", "robot")
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			require.Len(t, rename(t, first, "again"), 1, "now it is known")
			require.Len(t, rename(t, first, "and again"), 1)
		})
	}
}

// TestKnownClientDeletedByOthers: what another process has deleted is not there, and
// nothing is written.
func TestKnownClientDeletedByOthers(t *testing.T) {
	first, second, _ := twoOnOneFile(t)
	_, err := alter(t, second, func(c *authmgmt.Client) error { c.DeletedAt = someTime; return nil })
	require.NoError(t, err)
	before, err := second.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Limit: 100})
	require.NoError(t, err)
	_, err = alter(t, first, func(c *authmgmt.Client) error { c.Name = "ours"; return nil })
	require.Equal(t, authmgmt.ErrNotFound, err)
	after, err := second.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Limit: 100})
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestKnownClientIsNoReasonToRefuse: what an update function refuses for what was known,
// it is asked again for what is.
func TestKnownClientIsNoReasonToRefuse(t *testing.T) {
	first, second, _ := twoOnOneFile(t)
	rename(t, second, "theirs")
	refused := errors.New("not theirs")
	given, err := alter(t, first, func(c *authmgmt.Client) error {
		if c.Name != "theirs" {
			return refused
		}
		c.Name = "ours"
		return nil
	})
	require.NoError(t, err)
	require.Len(t, given, 2)
	_, err = alter(t, first, func(*authmgmt.Client) error { return refused })
	require.Equal(t, refused, err)
}

// TestKnownClientChangedByHand: an operator who takes a role away by hand, in a running
// program's database, is not undone.
func TestKnownClientChangedByHand(t *testing.T) {
	first, _, db := twoOnOneFile(t)
	script(t, db, "UPDATE authmgmt_clients SET roles = 'viewer//'")
	rename(t, first, "ours")
	got, err := first.Client(t.Context(), "acme", "robot")
	require.NoError(t, err)
	require.Equal(t, []access.Role{{ID: "viewer"}}, got.Roles)
	require.Equal(t, "ours", got.Name)
}

// TestKnownClientsLoseNoUpdate: many who change one client, from two handles on the file,
// each find what the one before has left.
func TestKnownClientsLoseNoUpdate(t *testing.T) {
	first, second, _ := twoOnOneFile(t)
	var wg sync.WaitGroup
	for i := range 200 {
		a := []*AuthMgmt{first, second}[i%2]
		wg.Go(func() {
			err := a.UpdateClient(context.Background(), "acme", "robot", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				c.Name += "x"
				return authmgmt.AuditEvent{ID: uuid.New(), Organization: "acme", At: someTime, Before: &authmgmt.Snapshot{Name: c.Name}}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := first.Client(t.Context(), "acme", "robot")
	require.NoError(t, err)
	require.Len(t, got.Name, len("known")+200)
	page, err := first.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Limit: 1000})
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, e := range page.Items {
		if e.Before != nil {
			require.False(t, names[e.Before.Name], "two events of one change")
			names[e.Before.Name] = true
		}
	}
	require.Len(t, names, 200)
}

// TestKnownClientsAreBounded: the memory does not grow with the clients, and holds
// copies.
func TestKnownClientsAreBounded(t *testing.T) {
	var known knownClients
	for i := range 2*maxKnownClients + 1 {
		c := someClient(fmt.Sprint(i), 1)
		known.put(knownClient{client: c, version: 1})
		require.LessOrEqual(t, len(known.rows), maxKnownClients)
	}
	first, _, db := twoOnOneFile(t)
	_, err := alter(t, first, func(c *authmgmt.Client) error {
		c.Roles = []access.Role{{ID: "viewer"}}
		return nil
	})
	require.NoError(t, err)
	_, err = alter(t, first, func(c *authmgmt.Client) error {
		c.Roles[0].ID = "editor" // in place
		return nil
	})
	require.NoError(t, err)
	got, err := first.Client(t.Context(), "acme", "robot")
	require.NoError(t, err)
	require.Equal(t, "editor", got.Roles[0].ID)
	kept, ok := db.clients.get(clientID{"acme", "robot"})
	require.True(t, ok)
	stored, err := first.Client(t.Context(), "acme", "robot")
	require.NoError(t, err)
	require.Equal(t, stored, kept.client, "what is known is what is stored")
}

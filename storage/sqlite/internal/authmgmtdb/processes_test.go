package authmgmtdb

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// twoOnOneFile opens a file twice, as two processes do, and makes a client that the first
// one has changed.
func twoOnOneFile(t *testing.T) (first, second *Store, db *DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	open := func() *DB {
		db, err := Open(t.Context(), path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	db = open()
	first, second = db.authmgmt, open().authmgmt
	require.NoError(t, first.CreateClient(t.Context(), someClient("robot", 1), auditEvent()))
	rename(t, first, "known")
	return first, second, db
}

// alter updates the client, and returns the clients that the function was given.
func alter(t *testing.T, a *Store, do func(c *authmgmt.Client) error) (given []authmgmt.Client, err error) {
	t.Helper()
	err = a.UpdateClient(t.Context(), "acme", "robot", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
		given = append(given, c.Clone())
		return auditEvent(), do(c)
	})
	return given, err
}

func rename(t *testing.T, a *Store, name string) []authmgmt.Client {
	t.Helper()
	given, err := alter(t, a, func(c *authmgmt.Client) error { c.Name = name; return nil })
	require.NoError(t, err)
	return given
}

// TestClientOfTwoProcesses: what another process has changed is never overwritten by
// what this one has written before.
func TestClientOfTwoProcesses(t *testing.T) {
	for name, other := range map[string]func(c *authmgmt.Client){
		"roles":          func(c *authmgmt.Client) { c.Roles = []access.Role{{ID: "admin"}} },
		"name":           func(c *authmgmt.Client) { c.Name = "theirs" },
		"time":           func(c *authmgmt.Client) { c.UpdatedAt = filetest.SomeTime.Add(time.Hour) },
		"secrets":        func(c *authmgmt.Client) { c.Secrets = append(c.Secrets, someClient("", 2).Secrets...) },
		"one end":        func(c *authmgmt.Client) { c.Secrets[0].ExpiresAt = filetest.SomeTime.Add(time.Hour) },
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
			for _, a := range []*Store{first, second} {
				got, err := a.Client(t.Context(), "acme", "robot")
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
		})
	}
}

// TestClientDeletedByOthers: what another process has deleted is not there, and
// nothing is written.
func TestClientDeletedByOthers(t *testing.T) {
	first, second, _ := twoOnOneFile(t)
	_, err := alter(t, second, func(c *authmgmt.Client) error { c.DeletedAt = filetest.SomeTime; return nil })
	require.NoError(t, err)
	before, err := second.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Limit: 100})
	require.NoError(t, err)
	_, err = alter(t, first, func(c *authmgmt.Client) error { c.Name = "ours"; return nil })
	require.Equal(t, mortise.ErrNotFound, err)
	after, err := second.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Limit: 100})
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestClientChangedByHand: an operator who takes a role away by hand, in a running
// program's database, is not undone.
func TestClientChangedByHand(t *testing.T) {
	first, _, db := twoOnOneFile(t)
	filetest.Run(t, db.File, "UPDATE authmgmt_clients SET roles = 'viewer//'")
	rename(t, first, "ours")
	got, err := first.Client(t.Context(), "acme", "robot")
	require.NoError(t, err)
	require.Equal(t, []access.Role{{ID: "viewer"}}, got.Roles)
	require.Equal(t, "ours", got.Name)
}

// TestTwoProcessesLoseNoUpdate: many who change one client, from two handles on the file,
// each find what the one before has left.
func TestTwoProcessesLoseNoUpdate(t *testing.T) {
	first, second, _ := twoOnOneFile(t)
	var wg sync.WaitGroup
	for i := range 200 {
		a := []*Store{first, second}[i%2]
		wg.Go(func() {
			err := a.UpdateClient(context.Background(), "acme", "robot", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				c.Name += "x"
				return authmgmt.AuditEvent{ID: uuid.New(), Organization: "acme", At: filetest.SomeTime, Before: &authmgmt.Snapshot{Name: c.Name}}, nil
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

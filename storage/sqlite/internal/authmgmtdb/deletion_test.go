package authmgmtdb

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

var (
	deleter = authmgmt.Caller{Actor: "root", Access: access.Full()}
	viewers = []access.Role{{ID: "viewer"}}
)

// credentials are one organization's.
type credentials struct {
	client, secret, login, token, link string
}

// newCredentials makes everything that can be made in an organization.
func newCredentials(t *testing.T, s *authmgmt.Service, org string) (c credentials) {
	t.Helper()
	require.NoError(t, s.SetRBAC(t.Context(), org, deleter, true))
	client, secret, err := s.CreateClient(t.Context(), org, deleter, authmgmt.NewClient{ID: "robot", Name: "Robot", Roles: viewers})
	require.NoError(t, err)
	c.client, c.secret = client.ID, secret.Reveal()
	_, _, err = s.CreateClient(t.Context(), org, deleter, authmgmt.NewClient{ID: "ended", Name: "Robot", FullAccess: true})
	require.NoError(t, err)
	require.NoError(t, s.DeleteClient(t.Context(), org, deleter, "ended"))
	_, login, err := s.Login(t.Context(), c.client, c.secret)
	require.NoError(t, err)
	_, token, err := s.IssueToken(t.Context(), org, deleter, authmgmt.NewToken{Subject: "ada", FullAccess: true})
	require.NoError(t, err)
	i, err := s.Invite(t.Context(), org, deleter, authmgmt.NewInvitation{Email: "ada@example.com", Name: "Ada", FullAccess: true})
	require.NoError(t, err)
	link, err := s.LinkToken(t.Context(), &i)
	require.NoError(t, err)
	c.login, c.token, c.link = login.Reveal(), token.Reveal(), link.Reveal()
	return c
}

// deletionService is a service on tables that are its directory, too. It remembers no
// tokens, which would be its host's choice.
func deletionService(t *testing.T, tables *Store) *authmgmt.Service {
	t.Helper()
	key, err := authmgmt.NewInvitationKey([]byte("not random, and nobody's key !?>"))
	require.NoError(t, err)
	s, err := authmgmt.New(authmgmt.Backend{Store: tables, Directory: tables}, &authmgmt.Options{
		AcceptURL: "https://app.example.com/join/", InvitationKey: key,
	})
	require.NoError(t, err)
	return s
}

// works makes calls with each of the credentials, so that whatever remembers something
// remembers it, and returns their errors by name.
func (c *credentials) works(t *testing.T, s *authmgmt.Service, org string) map[string]error {
	t.Helper()
	errs := make(map[string]error)
	for name, text := range map[string]string{"the token of a login": c.login, "a token": c.token} {
		_, errs[name] = s.VerifyToken(t.Context(), text)
	}
	_, _, errs["a login"] = s.Login(t.Context(), c.client, c.secret)
	_, errs["a link"] = s.InvitationByLink(t.Context(), c.link)
	roles := viewers
	for _, name := range []string{"an update", "a second update"} {
		_, errs[name] = s.UpdateClient(t.Context(), org, deleter, c.client, authmgmt.ClientUpdate{Name: &name, Roles: &roles})
	}
	_, _, errs["a new client"] = s.CreateClient(t.Context(), org, deleter, authmgmt.NewClient{Name: "x", Roles: roles})
	return errs
}

// TestDeletedForAnotherHandle: two values of DB over one file, as two processes have
// them. What the second one remembers is refused from the first one's mark on.
func TestDeletedForAnotherHandle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	var services [2]*authmgmt.Service
	var first *Store
	for i := range services {
		db, err := Open(t.Context(), path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		services[i] = deletionService(t, db.authmgmt)
		if i == 0 {
			first = db.authmgmt
		}
	}
	mine, others := newCredentials(t, services[0], "acme"), newCredentials(t, services[0], "globex")
	for _, s := range services {
		for org, c := range map[string]*credentials{"acme": &mine, "globex": &others} {
			for name, err := range c.works(t, s, org) {
				require.NoError(t, err, name)
			}
		}
	}
	// The mark alone: the rows are still there.
	_, err := first.MarkDeleted(t.Context(), "acme", filetest.SomeTime, noEvent)
	require.NoError(t, err)
	for _, s := range []*authmgmt.Service{services[1], services[0]} {
		errs := mine.works(t, s, "acme")
		require.ErrorIs(t, errs["the token of a login"], authmgmt.ErrInvalidCredentials)
		require.ErrorIs(t, errs["a token"], authmgmt.ErrInvalidCredentials)
		require.ErrorIs(t, errs["a login"], authmgmt.ErrInvalidCredentials)
		require.ErrorIs(t, errs["a link"], mortise.ErrNotFound)
		require.ErrorIs(t, errs["an update"], mortise.ErrNotFound)
		require.ErrorIs(t, errs["a new client"], mortise.ErrDeleted)
		for name, err := range others.works(t, s, "globex") {
			require.NoError(t, err, name)
		}
	}
}

// rowsOf returns all rows of the domain's tables that have a value with one of the texts,
// each as its table.
func rowsOf(t *testing.T, db *DB, texts ...string) (found []string) {
	t.Helper()
	type table struct {
		name    string
		columns int
	}
	var tables []table
	read := func(query string, each func(*file.Row) error) {
		require.NoError(t, db.List(t.Context(), file.NoOrg, query, nil, each), query)
	}
	const all = "SELECT t.name, count(*) FROM sqlite_schema AS t, pragma_table_xinfo(t.name)" +
		" WHERE t.type = 'table' AND t.name LIKE 'authmgmt%' GROUP BY t.name"
	read(all, func(r *file.Row) error {
		tables = append(tables, table{r.Text(0), r.Number(1)})
		return nil
	})
	require.Greater(t, len(tables), 7)
	for _, table := range tables {
		read("SELECT * FROM "+table.name, func(r *file.Row) error {
			for i := range table.columns {
				value := file.Cell[any](r, i)
				if b, ok := value.([]byte); ok {
					value = string(b)
				}
				for _, text := range texts {
					if s, ok := value.(string); ok && strings.Contains(s, text) {
						found = append(found, table.name)
						return nil
					}
				}
			}
			return nil
		})
	}
	return found
}

// TestTablesOfDeleted: after the last step there is the tombstone, and the event that
// says by whom, and nothing else: no name, no digest.
func TestTablesOfDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	s := deletionService(t, db.authmgmt)
	newCredentials(t, s, "acme")
	newCredentials(t, s, "acme2")
	texts := []string{"acme"}
	client, err := s.Client(t.Context(), "acme", "robot")
	require.NoError(t, err)
	for _, secret := range client.Secrets {
		texts = append(texts, string(secret.Digest[:]), string(secret.ID[:]))
	}
	for token, err := range s.Tokens(t.Context(), "acme") {
		require.NoError(t, err)
		texts = append(texts, string(token.Digest[:]), string(token.ID[:]))
	}
	before, others := rowsOf(t, db, texts...), rowsOf(t, db, "acme2")
	_, err = db.authmgmt.MarkDeleted(t.Context(), "acme", filetest.SomeTime, authmgmt.AuditEvent{})
	require.NoError(t, err)
	for more, calls := true, 0; more; calls++ {
		require.Less(t, calls, 3*len(before), "it does not end")
		_, more, err = db.authmgmt.RemoveDeleted(t.Context(), "acme", 1)
		require.NoError(t, err)
		left := rowsOf(t, db, texts...)
		if calls > 0 { // before is of before the mark, which is one row more
			require.LessOrEqual(t, len(before)-len(left), 1, "rows of one step: %v, %v", before, left)
		}
		before = left
		require.NoError(t, db.Close()) // resumed by another process
		db, err = Open(t.Context(), path, nil)
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.Equal(t, len(others)+1, len(before), "of acme2, and the tombstone")
	require.Equal(t, others, rowsOf(t, db, "acme2"))
	require.Contains(t, before, "authmgmt_deleted")

	s = deletionService(t, db.authmgmt)
	_, err = s.DeleteOrganization(t.Context(), "acme2", deleter)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"authmgmt_deleted", "authmgmt_audit"}, rowsOf(t, db, "acme2"))
}

// TestRemoveDeletedInSteps: a call takes one transaction, whose rows are few, so that
// other writes need not wait for long.
func TestRemoveDeletedInSteps(t *testing.T) {
	db, tables := openAuthMgmt(t)
	const n = 3*file.PruneStep + 1
	filetest.Run(t, db.File, fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO authmgmt_tokens"+
		" SELECT randomblob(32), randomblob(16), 'acme', 'x', NULL, NULL, '', i, i, NULL FROM n", n))
	_, err := tables.MarkDeleted(t.Context(), "acme", filetest.SomeTime, noEvent)
	require.NoError(t, err)
	for _, want := range []int{file.PruneStep, file.PruneStep, file.PruneStep, 1, 0} {
		removed, more, err := tables.RemoveDeleted(t.Context(), "acme", 2*file.PruneStep)
		require.NoError(t, err)
		require.Equal(t, want, removed)
		require.Equal(t, want == file.PruneStep, more)
	}
}

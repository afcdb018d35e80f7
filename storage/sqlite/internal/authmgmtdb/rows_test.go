package authmgmtdb

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// openAuthMgmt opens a database that the test's end closes.
func openAuthMgmt(t *testing.T) (*DB, *Store) {
	t.Helper()
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db, db.authmgmt
}

var noEvent authmgmt.AuditEvent

func auditEvent() authmgmt.AuditEvent {
	return authmgmt.AuditEvent{ID: uuid.New(), Organization: "acme", At: filetest.SomeTime, Kind: mortise.KindClientUpdated, Target: "robot"}
}

// someClient has two secrets, with the digests {1} and {2}.
func someClient(id string, digests ...byte) authmgmt.Client {
	c := authmgmt.Client{
		Organization: "acme", ID: id, Name: "Robot", Roles: []access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}},
		CreatedAt: filetest.SomeTime, UpdatedAt: filetest.SomeTime,
	}
	for _, d := range digests {
		c.Secrets = append(c.Secrets, authmgmt.ClientSecret{ID: uuid.UUID{d}, Digest: [32]byte{d}, CreatedAt: filetest.SomeTime})
	}
	return c
}

// TestDamagedCredentials: what cannot be read allows nothing; in particular it is not the
// full access of a credential without roles.
func TestDamagedCredentials(t *testing.T) {
	db, tables := openAuthMgmt(t)
	require.NoError(t, tables.CreateClient(t.Context(), someClient("robot", 1), noEvent))
	token := authmgmt.Token{ID: uuid.New(), Organization: "acme", Digest: [32]byte{9}, Client: "robot", Secret: [32]byte{1}, CreatedAt: filetest.SomeTime}
	require.NoError(t, tables.CreateToken(t.Context(), token, noEvent))
	own := authmgmt.Token{ID: uuid.New(), Organization: "acme", Digest: [32]byte{8}, Subject: "ada", Roles: []access.Role{{ID: "viewer"}}, CreatedAt: filetest.SomeTime}
	require.NoError(t, tables.CreateToken(t.Context(), own, noEvent))
	requireDamaged := func() {
		t.Helper()
		_, err := tables.TokenByDigest(t.Context(), token.Digest)
		require.ErrorContains(t, err, "damaged")
		require.NotErrorIs(t, err, mortise.ErrNotFound)
		_, err = tables.ListTokens(t.Context(), "acme", "", 10)
		require.ErrorContains(t, err, "damaged")
	}
	filetest.Run(t, db.File, "UPDATE authmgmt_clients SET roles = 'viewer'")
	requireDamaged()
	_, err := tables.Client(t.Context(), "acme", "robot")
	require.ErrorContains(t, err, "damaged")
	filetest.Run(t, db.File, "UPDATE authmgmt_clients SET roles = x'00'")
	requireDamaged()
	filetest.Run(t, db.File, "UPDATE authmgmt_clients SET roles = '', deleted_at = 1")
	requireDamaged()
	_, err = tables.ClientBySecret(t.Context(), [32]byte{1})
	require.ErrorIs(t, err, mortise.ErrNotFound, "a deleted client that still has a secret")
	got, err := tables.TokenByDigest(t.Context(), own.Digest)
	require.NoError(t, err)
	require.Equal(t, own, got)
	err = db.Write(t.Context(), func(tx *file.Tx) error {
		_, err := tx.Exec("UPDATE authmgmt_tokens SET roles = NULL WHERE client IS NULL")
		return err
	})
	require.ErrorContains(t, err, "CHECK")
	err = db.Write(t.Context(), func(tx *file.Tx) error {
		_, err := tx.Exec("DELETE FROM authmgmt_clients")
		return err
	})
	require.ErrorContains(t, err, "FOREIGN KEY")
}

// TestUnchangedRows: only rows that are different afterwards are written.
func TestUnchangedRows(t *testing.T) {
	db, tables := openAuthMgmt(t)
	filetest.Run(t, db.File, "CREATE TABLE written (what TEXT)")
	for _, table := range []string{"clients", "secrets", "tokens", "invitations", "organizations", "audit"} {
		for _, verb := range []string{"INSERT", "UPDATE", "DELETE"} {
			filetest.Run(t, db.File, fmt.Sprintf("CREATE TRIGGER %s_%s AFTER %s ON authmgmt_%s BEGIN INSERT INTO written VALUES ('%s %s'); END",
				table, verb, verb, table, verb, table))
		}
	}
	written := func() string {
		t.Helper()
		var all []string
		require.NoError(t, db.Find(t.Context(), file.NoOrg, "SELECT what FROM written ORDER BY rowid", nil, func(r *file.Row) error {
			all = append(all, r.Text(0))
			return nil
		}))
		filetest.Run(t, db.File, "DELETE FROM written")
		return strings.Join(all, ", ")
	}
	require.NoError(t, tables.CreateClient(t.Context(), someClient("robot", 1, 2), auditEvent()))
	require.Equal(t, "INSERT clients, INSERT secrets, INSERT secrets, INSERT audit", written())
	for _, c := range []struct {
		change func(c *authmgmt.Client)
		event  authmgmt.AuditEvent
		want   string
	}{
		{func(*authmgmt.Client) {}, noEvent, ""},
		{func(*authmgmt.Client) {}, auditEvent(), "INSERT audit"},
		{func(c *authmgmt.Client) { c.Organization, c.ID, c.CreatedAt = "x", "x", time.Time{} }, noEvent, ""},
		{func(c *authmgmt.Client) { c.Name = "R2" }, auditEvent(), "UPDATE clients, INSERT audit"},
		{func(c *authmgmt.Client) { c.Roles = nil }, noEvent, "UPDATE clients"},
		{func(c *authmgmt.Client) { c.UpdatedAt = filetest.SomeTime.Add(time.Second) }, noEvent, "UPDATE clients"},
		{func(c *authmgmt.Client) { c.UpdatedAt = c.UpdatedAt.Add(999) }, noEvent, ""}, // less than what is kept
		{func(c *authmgmt.Client) { c.Secrets[1].ExpiresAt = filetest.SomeTime }, noEvent, "UPDATE secrets"},
		{func(c *authmgmt.Client) { c.Secrets[0].CreatedAt = time.Time{} }, noEvent, "UPDATE secrets"},
		{func(c *authmgmt.Client) { c.Secrets[0].ID = uuid.UUID{77} }, noEvent, "UPDATE secrets"},
		{func(c *authmgmt.Client) { c.Secrets[0], c.Secrets[1] = c.Secrets[1], c.Secrets[0] }, noEvent, "UPDATE secrets, UPDATE secrets"},
		{func(c *authmgmt.Client) { c.Secrets = append(c.Secrets, someClient("", 3).Secrets...) }, noEvent, "INSERT secrets"},
		{func(c *authmgmt.Client) { c.Secrets = c.Secrets[:2] }, noEvent, "DELETE secrets"},
		{func(c *authmgmt.Client) { c.DeletedAt = filetest.SomeTime }, auditEvent(), "UPDATE clients, DELETE secrets, DELETE secrets, INSERT audit"},
	} {
		require.NoError(t, tables.UpdateClient(t.Context(), "acme", "robot", func(client *authmgmt.Client) (authmgmt.AuditEvent, error) {
			c.change(client)
			return c.event, nil
		}))
		require.Equal(t, c.want, written())
	}

	token := authmgmt.Token{ID: uuid.New(), Organization: "acme", Digest: [32]byte{9}, Subject: "ada", CreatedAt: filetest.SomeTime}
	require.NoError(t, tables.CreateToken(t.Context(), token, auditEvent()))
	require.Equal(t, "INSERT tokens, INSERT audit", written())
	for _, revoked := range []string{"UPDATE tokens", ""} {
		require.NoError(t, tables.UpdateToken(t.Context(), "acme", token.ID, func(t *authmgmt.Token) (authmgmt.AuditEvent, error) {
			t.RevokedAt, t.Subject, t.Roles = filetest.SomeTime, "x", []access.Role{{ID: "x"}}
			return noEvent, nil
		}))
		require.Equal(t, revoked, written())
	}

	i := authmgmt.Invitation{Organization: "acme", ID: "i", Email: "Ada@example.com", CreatedAt: filetest.SomeTime, ExpiresAt: filetest.SomeTime.Add(time.Hour)}
	require.NoError(t, tables.CreateInvitation(t.Context(), i, true, auditEvent()))
	require.Equal(t, "INSERT invitations, INSERT audit", written())
	for _, resent := range []string{"UPDATE invitations", ""} {
		require.NoError(t, tables.UpdateInvitation(t.Context(), "acme", "i", func(i *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
			i.Generation, i.Email = 7, "x"
			return noEvent, nil
		}))
		require.Equal(t, resent, written())
	}

	for _, enabled := range []string{"INSERT organizations", ""} { // without a change: what was not there is there
		require.NoError(t, tables.UpdateOrganization(t.Context(), "acme", func(*authmgmt.Organization) (authmgmt.AuditEvent, error) {
			return noEvent, nil
		}))
		require.Equal(t, enabled, written())
	}
}

// TestRefusalsShareAGroup: what is refused writes nothing, so the other operations of its
// transaction need not be done again.
func TestRefusalsShareAGroup(t *testing.T) {
	db, tables := openAuthMgmt(t)
	require.NoError(t, tables.CreateClient(t.Context(), someClient("robot", 1, 2), noEvent))
	i := authmgmt.Invitation{Organization: "acme", ID: "i", Email: "Ada@example.com", CreatedAt: filetest.SomeTime, ExpiresAt: filetest.SomeTime.Add(time.Hour)}
	require.NoError(t, tables.CreateInvitation(t.Context(), i, true, noEvent))
	token := authmgmt.Token{ID: uuid.New(), Organization: "acme", Digest: [32]byte{9}, Subject: "ada", CreatedAt: filetest.SomeTime}
	require.NoError(t, tables.CreateToken(t.Context(), token, noEvent))

	runs := 0 // of an operation in the same transaction
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		assert.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
			if runs++; runs == 1 {
				close(entered)
				<-leave
			}
			_, err := tx.Exec(setRBAC, "acme", true)
			return err
		}))
	})
	<-entered
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		want error
		do   func() error
	}{
		"a client's ID": {mortise.ErrExists, func() error { return tables.CreateClient(t.Context(), someClient("robot", 5), auditEvent()) }},
		"a digest of another client": {mortise.ErrExists, func() error {
			return tables.CreateClient(t.Context(), someClient("other", 5, 2), auditEvent())
		}},
		"a digest twice": {mortise.ErrExists, func() error { return tables.CreateClient(t.Context(), someClient("other", 5, 5), auditEvent()) }},
		"a new digest of another client": {mortise.ErrExists, func() error {
			return tables.UpdateClient(t.Context(), "acme", "robot", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				c.Name, c.Secrets = "changed", someClient("", 5, 6, 6).Secrets
				return auditEvent(), nil
			})
		}},
		"an update function": {boom, func() error {
			return tables.UpdateClient(t.Context(), "acme", "robot", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				c.Name = "changed"
				return auditEvent(), boom
			})
		}},
		"a token's ID": {mortise.ErrExists, func() error {
			t2 := token
			t2.Digest = [32]byte{10}
			return tables.CreateToken(t.Context(), t2, auditEvent())
		}},
		"a token's digest": {mortise.ErrExists, func() error {
			t2 := token
			t2.ID = uuid.New()
			return tables.CreateToken(t.Context(), t2, auditEvent())
		}},
		"a token of another client's secret": {mortise.ErrNotFound, func() error {
			return tables.CreateToken(t.Context(), authmgmt.Token{
				ID: uuid.New(), Organization: "acme", Digest: [32]byte{11}, Client: "other", Secret: [32]byte{1}, CreatedAt: filetest.SomeTime,
			}, auditEvent())
		}},
		"an invitation's ID":            {mortise.ErrExists, func() error { return tables.CreateInvitation(t.Context(), i, false, auditEvent()) }},
		"an invitation's ID, exclusive": {mortise.ErrExists, func() error { return tables.CreateInvitation(t.Context(), i, true, auditEvent()) }},
		"an address": {authmgmt.ErrPendingInvitation, func() error {
			i2 := i
			i2.ID, i2.Email = "i2", "ADA@example.com"
			return tables.CreateInvitation(t.Context(), i2, true, auditEvent())
		}},
	} {
		wg.Go(func() { assert.ErrorIs(t, c.do(), c.want, name) })
	}
	require.Eventually(t, func() bool { return db.Probe().Waiting() == 11 }, 30*time.Second, time.Millisecond)
	close(leave)
	wg.Wait()
	assert.Equal(t, 1, runs)
	c, err := tables.Client(t.Context(), "acme", "robot")
	require.NoError(t, err)
	require.Equal(t, someClient("robot", 1, 2), c)
	page, err := tables.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Items, "an event of a change that was refused")
}

package authmgmttest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// everyOp makes each call that a wrapper can make, under a new name each time, and
// returns the ops with their errors.
func everyOp(ctx context.Context, f *authmgmttest.Faults, db *memory.AuthMgmt) (ops []string, errs []error) {
	note := func(op string, err error) { ops, errs = append(ops, op), append(errs, err) }
	store, directory := f.Store(db), f.Directory(db)
	e := func() authmgmt.AuditEvent { return authmgmt.AuditEvent{ID: uuid.New(), Organization: "acme"} }
	digest := func() (d [32]byte) { id := uuid.New(); copy(d[:], id[:]); return d }
	c := authmgmt.Client{Organization: "acme", ID: uuid.NewString(), Secrets: []authmgmt.ClientSecret{{ID: uuid.New(), Digest: digest()}}}
	k := authmgmt.Token{Organization: "acme", ID: uuid.New(), Digest: digest()}
	i := authmgmt.Invitation{Organization: "acme", ID: uuid.NewString()}
	_ = db.CreateClient(ctx, c, e())
	_ = db.CreateToken(ctx, k, e())
	_ = db.CreateInvitation(ctx, i, false, e())
	_ = db.UpdateOrganization(ctx, "acme", func(*authmgmt.Organization) (authmgmt.AuditEvent, error) { return e(), nil })

	note("Clients.CreateClient", store.CreateClient(ctx, authmgmt.Client{Organization: "acme", ID: uuid.NewString()}, e()))
	_, err := store.Client(ctx, "acme", c.ID)
	note("Clients.Client", err)
	_, err = store.ClientBySecret(ctx, c.Secrets[0].Digest)
	note("Clients.ClientBySecret", err)
	note("Clients.UpdateClient", store.UpdateClient(ctx, "acme", c.ID, func(*authmgmt.Client) (authmgmt.AuditEvent, error) { return e(), nil }))
	gone := uuid.NewString()
	_, _ = db.MarkDeleted(ctx, gone, time.Unix(1, 0), authmgmt.AuditEvent{})
	for part, d := range map[string]authmgmt.Deletion{"Deletion": store, "Directory": directory.(authmgmt.Deletion)} {
		_, err = d.MarkDeleted(ctx, uuid.NewString(), time.Unix(1, 0), authmgmt.AuditEvent{})
		note(part+".MarkDeleted", err)
		_, err = d.DeletedAt(ctx, gone)
		note(part+".DeletedAt", err)
		_, _, err = d.RemoveDeleted(ctx, gone, 1)
		note(part+".RemoveDeleted", err)
	}
	_, err = store.ListClients(ctx, "acme", "", 1)
	note("Clients.ListClients", err)
	note("Tokens.CreateToken", store.CreateToken(ctx, authmgmt.Token{Organization: "acme", ID: uuid.New(), Digest: digest()}, e()))
	_, err = store.TokenByDigest(ctx, k.Digest)
	note("Tokens.TokenByDigest", err)
	note("Tokens.UpdateToken", store.UpdateToken(ctx, "acme", k.ID, func(*authmgmt.Token) (authmgmt.AuditEvent, error) { return e(), nil }))
	_, err = store.ListTokens(ctx, "acme", "", 1)
	note("Tokens.ListTokens", err)
	note("Invitations.CreateInvitation", store.CreateInvitation(ctx, authmgmt.Invitation{Organization: "acme", ID: uuid.NewString()}, false, e()))
	_, err = store.Invitation(ctx, "acme", i.ID)
	note("Invitations.Invitation", err)
	note("Invitations.UpdateInvitation", store.UpdateInvitation(ctx, "acme", i.ID, func(*authmgmt.Invitation) (authmgmt.AuditEvent, error) { return e(), nil }))
	_, err = store.ListInvitations(ctx, "acme", time.Time{}, "", "", 1)
	note("Invitations.ListInvitations", err)
	_, err = store.DueGrants(ctx, time.Now(), 1)
	note("Invitations.DueGrants", err)
	_, err = store.ListAuditEvents(ctx, "acme", authmgmt.AuditQuery{Limit: 1})
	note("Audit.ListAuditEvents", err)
	_, err = store.CountClients(ctx, "acme", 1)
	note("Counter.CountClients", err)
	_, err = store.CountTokens(ctx, "acme", 1)
	note("Counter.CountTokens", err)
	_, err = store.CountInvitations(ctx, "acme", time.Time{}, "", 1)
	note("Counter.CountInvitations", err)
	pruner := store.(authmgmt.Pruner)
	_, _, err = pruner.PruneAudit(ctx, time.Time{}, 1)
	note("Pruner.PruneAudit", err)
	_, _, err = pruner.PruneTokens(ctx, time.Time{}, 1)
	note("Pruner.PruneTokens", err)
	_, _, err = pruner.PruneInvitations(ctx, time.Time{}, 1)
	note("Pruner.PruneInvitations", err)
	keep := func(noted [][32]byte) ([][32]byte, error) { return noted, nil }
	note("KeyChecker.UpdateKeyChecks", store.(authmgmt.KeyChecker).UpdateKeyChecks(ctx, keep))
	_, err = directory.AccessControl(ctx, "acme")
	note("Directory.AccessControl", err)
	note("Directory.UpdateOrganization", directory.(authmgmt.Organizations).UpdateOrganization(ctx, "acme", func(*authmgmt.Organization) (authmgmt.AuditEvent, error) {
		return e(), nil
	}))
	return ops, errs
}

func open(t *testing.T) *memory.AuthMgmt {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return db.AuthMgmt().Store.(*memory.AuthMgmt)
}

// TestFaults: each op has its name, and fails if and only if its hook says so.
func TestFaults(t *testing.T) {
	_, errs := everyOp(t.Context(), new(authmgmttest.Faults), open(t))
	for _, err := range errs {
		require.NoError(t, err)
	}
	var before, after []string
	f := &authmgmttest.Faults{
		Before: func(op string) error { before = append(before, op); return nil },
		After:  func(op string) error { after = append(after, op); return nil },
	}
	ops, _ := everyOp(t.Context(), f, open(t))
	assert.Equal(t, ops, before)
	assert.Equal(t, ops, after)
	for _, name := range ops {
		hook, _ := authmgmttest.Outage()
		for _, f := range []*authmgmttest.Faults{{Before: authmgmttest.On(hook, name)}, {After: authmgmttest.On(hook, name)}} {
			ops, errs := everyOp(t.Context(), f, open(t))
			for i, op := range ops {
				if op == name {
					require.ErrorIs(t, errs[i], authmgmttest.ErrInjected, op)
				} else {
					require.NoError(t, errs[i], "%s while %s fails", op, name)
				}
			}
		}
	}
}

// TestFaultsBeforeAndAfter: a call that fails before has no effect, one that fails after
// has.
func TestFaultsBeforeAndAfter(t *testing.T) {
	hook, _ := authmgmttest.Outage()
	for n, f := range []*authmgmttest.Faults{{Before: hook}, {After: hook}} {
		db := open(t)
		err := f.Store(db).CreateClient(t.Context(), authmgmt.Client{Organization: "acme", ID: "build"}, authmgmt.AuditEvent{ID: uuid.New()})
		require.ErrorIs(t, err, authmgmttest.ErrInjected)
		page, err := db.ListClients(t.Context(), "acme", "", 10)
		require.NoError(t, err)
		assert.Len(t, page.Items, n)
	}
}

// TestFaultsKeepOptionalInterfaces: a wrapper can what the wrapped store can, and no
// more.
func TestFaultsKeepOptionalInterfaces(t *testing.T) {
	db := open(t)
	type store = authmgmt.Store
	for _, c := range []struct {
		store           authmgmt.Store
		pruner, checker bool
	}{
		{db, true, true},
		{struct{ store }{db}, false, false},
		{struct {
			store
			authmgmt.Pruner
		}{db, db}, true, false},
		{struct {
			store
			authmgmt.KeyChecker
		}{db, db}, false, true},
	} {
		wrapped := new(authmgmttest.Faults).Store(c.store)
		_, pruner := wrapped.(authmgmt.Pruner)
		_, checker := wrapped.(authmgmt.KeyChecker)
		assert.Equal(t, []bool{c.pruner, c.checker}, []bool{pruner, checker})
	}
	_, ok := new(authmgmttest.Faults).Directory(struct{ authmgmt.Directory }{db}).(authmgmt.Organizations)
	assert.False(t, ok)
}

func TestHooks(t *testing.T) {
	nth := authmgmttest.On(authmgmttest.Nth(2), "Tokens")
	var failed []string
	for i, op := range []string{"Tokens.CreateToken", "Clients.Client", "Tokens.UpdateToken", "Tokens.ListTokens"} {
		if nth(op) != nil {
			failed = append(failed, fmt.Sprint(i))
		}
	}
	assert.Equal(t, []string{"2"}, failed)
}

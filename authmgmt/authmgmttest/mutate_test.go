package authmgmttest_test

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// The methods of the mutant that are alike.
var (
	creates = []string{"CreateClient", "CreateToken", "CreateInvitation"}
	updates = []string{"UpdateClient", "UpdateToken", "UpdateInvitation", "UpdateOrganization"}
	pruners = []string{"PruneAudit", "PruneTokens", "PruneInvitations"}
)

// out, in, arg, errs, around and updating are those of package mutate, as a whole mutation.
func out[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Out(&m.On, change, methods...) }
}

func in[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.In(&m.On, change, methods...) }
}

func arg[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Arg(&m.On, change, methods...) }
}

func errs(change func(error) error, methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Errors(&m.On, change, methods...) }
}

func around(do func(*mutate.Call), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Around(&m.On, do, methods...) }
}

func updating(do func(*mutate.Call), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Updates(&m.On, do, methods...) }
}

// replace puts a function in the place of a method. It takes the mutant before the rest.
func replace(method string, f any) func(*mutant) {
	return func(m *mutant) { mutate.Replace(&m.On, method, m, f) }
}

// both makes several mistakes.
func both(mutations ...func(*mutant)) func(*mutant) {
	return func(m *mutant) {
		for _, mutation := range mutations {
			mutation(m)
		}
	}
}

// renamed applies change to every organization and ID that the mutant is given, as a
// collation does.
func renamed(change func(string) string) func(*mutant) {
	return func(m *mutant) {
		in(func(s *string) { *s = change(*s) }, "Client", "Invitation", "AccessControl", "UpdateOrganization")(m)
		in(func(i *authmgmt.Invitation) { i.Organization, i.ID = change(i.Organization), change(i.ID) }, "CreateInvitation")(m)
		m.On.CreateClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			if _, err := m.AuthMgmt.Client(ctx, change(c.Organization), change(c.ID)); err == nil {
				return mortise.ErrExists
			}
			c.Organization, c.ID = change(c.Organization), change(c.ID)
			return m.AuthMgmt.CreateClient(ctx, c, e)
		}
	}
}

// withEvent makes the mutant store an audit event, by a change that changes nothing of an
// organization.
func (m *mutant) withEvent(ctx context.Context, e authmgmt.AuditEvent) error {
	return m.AuthMgmt.UpdateOrganization(ctx, "nobody's", func(*authmgmt.Organization) (authmgmt.AuditEvent, error) { return e, nil })
}

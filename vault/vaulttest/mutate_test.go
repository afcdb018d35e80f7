package vaulttest_test

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
)

// The methods of the mutant that are alike.
var (
	insertions = []string{"InsertTokens", "ImportTokens"}
	scans      = []string{"RowsWithoutFingerprint", "RowsNotSealedUnder"}
	rowLists   = []string{"Rows", "ListRows", "RowsWithoutFingerprint", "RowsNotSealedUnder"}
	marking    = []string{"MarkDeleted", "MarkVaultDeleted"}
	removing   = []string{"RemoveDeleted", "RemoveDeletedVault"}
)

// out, in, arg, errs and around are those of package mutate, as a whole mutation.
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

// around is mutate.Around for mutations that need the mutant.
func around(do func(m *mutant, c *mutate.Call), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Around(&m.On, func(c *mutate.Call) { do(m, c) }, methods...) }
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

// accepting makes methods return no error where they refuse something with one.
func accepting(refusal error, methods ...string) func(*mutant) {
	return errs(func(err error) error {
		if errors.Is(err, refusal) {
			return nil
		}
		return err
	}, methods...)
}

// refusing makes methods return an error instead of doing what refused selects.
func refusing(err error, refused func(m *mutant, c *mutate.Call) bool, methods ...string) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		if refused(m, c) {
			*c.Err() = err
			return
		}
		c.Go()
	}, methods...)
}

// org and id return the organization and the vault that a method is asked for.
func org(c *mutate.Call) string { return c.In[1].String() }

func id(c *mutate.Call) string {
	if c.Method == "MarkDeleted" || c.Method == "RemoveDeleted" {
		return ""
	}
	return c.In[2].String()
}

// rowsIn returns the rows that a method is given, to be changed: they are the mutant's own.
func rowsIn(c *mutate.Call) []vault.Row {
	rows := mutate.Get[[]vault.Row](c.In)
	*rows = slices.Clone(*rows)
	for i := range *rows {
		(*rows)[i] = (*rows)[i].Clone()
	}
	return *rows
}

// tokensOut returns the tokens that InsertTokens returns.
func tokensOut(c *mutate.Call) []string { return *mutate.Get[[]string](c.Out) }

// everyAuditPage applies change to all pages of the trail that the mutant returns.
func (m *mutant) everyAuditPage(change func(*vault.AuditQuery, *mortise.Page[vault.AuditEvent])) {
	mutate.Around(&m.On, func(c *mutate.Call) {
		c.Go()
		change(mutate.Get[vault.AuditQuery](c.In), mutate.Get[mortise.Page[vault.AuditEvent]](c.Out))
	}, "ListAuditEvents")
}

// renamed applies change to every organization, vault, token and scope that the mutant is
// given, as a collation does.
func renamed(change func(string) string) func(*mutant) {
	return both(
		in(func(s *string) { *s = change(*s) }, "Vault", "FindTokens", "InsertTokens", "ImportTokens", "Rows"),
		in(func(v *vault.Vault) { v.Organization, v.ID = change(v.Organization), change(v.ID) }, "PutVault"),
	)
}

// rowsOf returns all rows of a vault.
func (m *mutant) rowsOf(ctx context.Context, org, id string) []vault.Row {
	page, _ := m.db.ListRows(ctx, org, id, "", 1_000_000)
	return page.Items
}

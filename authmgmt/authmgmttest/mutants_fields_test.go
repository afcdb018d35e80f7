package authmgmttest_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// keptMutants make each mistake with each field of what the store keeps, and those with
// the trail that every audit trail can make.
func keptMutants() []broken {
	var all []broken
	for _, m := range slices.Concat(
		mutate.Kept[authmgmt.Client]{
			Name: "client", Key: func(c *authmgmt.Client) string { return c.Organization + "/" + c.ID },
			Stored: "clients/create-stores-every-field", Times: "clients/times-keep-microseconds",
			Unset: "clients/unset-stays-unset", Bytes: "clients/strings-keep-every-byte", Longest: "clients/longest", LongestLeft: "Name Roles.ID",
			Given: "clients/create-copies", Left: "clients/update-copies", Got: "clients/get-copies",
			Except: map[string]string{
				"DeletedAt":                           "a deleted client is not shown",
				"sets to the epoch CreatedAt":         "it is always set",
				"sets to the epoch UpdatedAt":         "it is always set",
				"sets to the epoch Secrets.CreatedAt": "it is always set",
			},
		}.Mutants(),
		mutate.Kept[authmgmt.Token]{
			Name: "token", Key: func(k *authmgmt.Token) string { return k.ID.String() },
			Stored: "tokens/create-stores-every-field", Times: "tokens/times-keep-microseconds",
			Unset: "tokens/unset-stays-unset", Bytes: "tokens/strings-keep-every-byte", Longest: "tokens/longest",
			Given: "tokens/copies", Got: "tokens/copies tokens/client-roles-are-copies",
			Except: map[string]string{"sets to the epoch CreatedAt": "it is always set"},
		}.Mutants(),
		mutate.Kept[authmgmt.Invitation]{
			Name: "invitation", Key: func(i *authmgmt.Invitation) string { return i.Organization + "/" + i.ID },
			Stored: "invitations/create-stores-every-field", Times: "invitations/times-keep-microseconds",
			Unset: "invitations/unset-stays-unset", Bytes: "invitations/strings-keep-every-byte", Longest: "invitations/longest", LongestLeft: "Name AcceptedBy",
			Exact: "invitations/generation-is-exact",
			Given: "invitations/copies", Left: "invitations/copies", Got: "invitations/copies invitations/due-grants-copies",
			Except: map[string]string{
				"sets to the epoch CreatedAt": "it is always set",
				"sets to the epoch ExpiresAt": "it is always set",
			},
		}.Mutants(),
		mutate.Kept[authmgmt.AuditEvent]{
			Name: "audit event", Key: func(e *authmgmt.AuditEvent) string { return e.ID.String() },
			Stored: "audit/stores-every-field", Times: "audit/times-keep-microseconds", Unset: "audit/stores-every-field",
			Bytes: "audit/strings-keep-every-byte", Exact: "audit/stores-every-field", Longest: "audit/longest",
			Given: "audit/copies", Got: "audit/copies",
			Except: map[string]string{
				"sets to the epoch At":     "it is always set",
				"composes letters Before*": "they are snapshots as After is",
			},
		}.Mutants(),
		audittest.Mutants("target", func(q *authmgmt.AuditQuery) audittest.Asked {
			return audittest.Asked{
				Kind: (*string)(&q.Kind), Actor: (*string)(&q.Actor), About: &q.Target, From: &q.From, To: &q.To,
			}
		}),
		stepMutants(),
		mutate.Uncounted("restorable/revocations", "UpdateClient", "UpdateToken", "UpdateInvitation", "MarkDeleted", "RaiseRevocations"),
		listtest.Mutants(&new(mutant).On, map[string]string{
			"ListClients": "clients", "ListTokens": "tokens", "ListAuditEvents": "audit-events",
			"ListInvitations": "invitations pending-invitations invitations-of-inviter pending-invitations-of-inviter",
		}),
	) {
		all = append(all, broken{name: m.Name, breaks: strings.Join(m.Breaks, " "), mutate: func(to *mutant) { m.Make(&to.On) }})
	}
	return all
}

// fieldMutants keep something else than they were given.
var fieldMutants = []broken{
	{name: "truncates times to seconds",
		breaks: "clients/times-keep-microseconds tokens/times-keep-microseconds invitations/times-keep-microseconds " +
			"audit/times-keep-microseconds",
		mutate: out(func(t *time.Time) { *t = t.Truncate(time.Second) })},
	{name: "sorts roles", breaks: "clients/order-is-kept tokens/own-roles-are-kept invitations/create-stores-every-field",
		mutate: out(func(roles *[]access.Role) {
			slices.SortFunc(*roles, func(a, b access.Role) int {
				return cmp.Or(strings.Compare(a.ID, b.ID), cmp.Compare(a.Resource, b.Resource))
			})
		})},
	{name: "drops equal roles", breaks: "clients/order-is-kept tokens/own-roles-are-kept", mutate: out(func(roles *[]access.Role) {
		var once []access.Role
		for _, r := range *roles {
			if !slices.Contains(once, r) {
				once = append(once, r)
			}
		}
		*roles = once
	})},
	{name: "sorts secrets", breaks: "clients/order-is-kept clients/update-keeps-own-digests",
		mutate: out(func(secrets *[]authmgmt.ClientSecret) {
			slices.SortFunc(*secrets, func(a, b authmgmt.ClientSecret) int {
				return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
			})
		})},
	{name: "makes no roles a role", breaks: "clients/unset-stays-unset tokens/unset-stays-unset invitations/unset-stays-unset",
		mutate: out(func(roles *[]access.Role) {
			if len(*roles) == 0 {
				*roles = []access.Role{{}}
			}
		})},
	{name: "takes an empty snapshot for none", breaks: "audit/stores-every-field", mutate: out(func(e *authmgmt.AuditEvent) {
		if e.Before != nil && e.Before.Name == "" {
			e.Before = nil
		}
	})},
	{name: "forgets who accepted, as soon as it changes", breaks: "invitations/update-stores-what-it-leaves", mutate: in(
		func(i *authmgmt.Invitation) { i.AcceptedBy = "" }, "UpdateInvitation")},
	{name: "returns email addresses in lower case", breaks: "invitations/strings-keep-every-byte", mutate: out(
		func(i *authmgmt.Invitation) { i.Email = i.EmailKey() })},
	{name: "gives update functions the organization itself", breaks: "organizations/update-copies", mutate: func(m *mutant) {
		kept := make(map[string]*authmgmt.Organization)
		mutate.Updates(&m.On, func(c *mutate.Call) {
			o := *mutate.Get[*authmgmt.Organization](c.In)
			kept[o.ID] = o
			c.Go()
		}, "UpdateOrganization")
		out(func(o *authmgmt.Organization) {
			if was, ok := kept[o.ID]; ok {
				*o = *was
			}
		}, "AccessControl")(m)
	}},
}

// inOrgA makes methods take every organization for org-a.
func inOrgA(methods ...string) func(*mutant) {
	return arg(func(org *string) { *org = "org-a" }, methods...)
}

// nameMutants take names for the same that are not.
var nameMutants = []broken{
	{name: "ignores case", breaks: "clients/names-are-bytes invitations/names-are-bytes organizations/names-are-bytes",
		mutate: renamed(strings.ToLower)},
	{name: "ignores spaces at the end", breaks: "clients/names-are-bytes invitations/names-are-bytes organizations/names-are-bytes",
		mutate: renamed(func(s string) string { return strings.TrimRight(s, " ") })},
	{name: "knows clients by their ID alone", breaks: "clients/id-is-of-its-organization clients/get-other-organization",
		mutate: inOrgA("Client")},
	{name: "knows invitations by their ID alone", breaks: "invitations/id-is-of-its-organization invitations/get-unknown",
		mutate: inOrgA("Invitation")},
	{name: "does not mind another organization's things", breaks: "clients/update-unknown tokens/update-unknown invitations/update-unknown",
		mutate: inOrgA("UpdateClient", "UpdateToken", "UpdateInvitation")},
	{name: "makes what it is asked for",
		breaks: "clients/get-unknown clients/by-secret-unknown tokens/by-digest-unknown organizations/unknown",
		mutate: errs(func(error) error { return nil }, "Client", "ClientBySecret", "TokenByDigest", "AccessControl")},
	{name: "makes organizations of everybody who has clients", breaks: "organizations/not-made-by-others", mutate: func(m *mutant) {
		in(func(c *authmgmt.Client) { m.touch(c.Organization) }, "CreateClient")(m)
	}},
	{name: "makes organizations before it asks", breaks: "organizations/refused-makes-none", mutate: func(m *mutant) {
		arg(func(org *string) { m.touch(*org) }, "UpdateOrganization")(m)
	}},
	{name: "moves an organization to another ID", breaks: "organizations/update-keeps-the-id",
		mutate: replace("UpdateOrganization", func(m *mutant, ctx context.Context, org string, update organizationUpdate) error {
			target := org
			err := m.AuthMgmt.UpdateOrganization(ctx, org, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
				e, err := update(o)
				target = o.ID
				return e, err
			})
			if err == nil && target != org {
				err = m.AuthMgmt.UpdateOrganization(ctx, target, update)
			}
			return err
		})},
	{name: "stores no organization without rights", breaks: "organizations/update-makes-it",
		mutate: replace("AccessControl", func(m *mutant, ctx context.Context, org string) (authmgmt.Organization, error) {
			o, err := m.AuthMgmt.AccessControl(ctx, org)
			if !o.RBAC {
				return authmgmt.Organization{}, errors.Join(err, mortise.ErrNotFound)
			}
			return o, err
		})},
	{name: "never takes rights away", breaks: "organizations/update-stores-what-it-leaves", mutate: updating(func(c *mutate.Call) {
		o := *mutate.Get[*authmgmt.Organization](c.In)
		had := o.RBAC
		c.Go()
		o.RBAC = o.RBAC || had
	}, "UpdateOrganization")},
}

// touch makes an organization that is not there.
func (m *mutant) touch(org string) {
	_ = m.AuthMgmt.UpdateOrganization(context.Background(), org, func(*authmgmt.Organization) (authmgmt.AuditEvent, error) {
		return authmgmt.AuditEvent{}, nil
	})
}

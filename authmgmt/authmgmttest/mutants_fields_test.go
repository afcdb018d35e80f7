package authmgmttest_test

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// fieldMutants keep something else than they were given.
var fieldMutants = []broken{
	{name: "truncates times to seconds", breaks: []string{
		"clients/times-keep-microseconds", "tokens/times-keep-microseconds", "invitations/times-keep-microseconds", "audit/times-keep-microseconds",
		"clients/create-stores-every-field", "clients/update-stores-what-it-leaves",
	}, mutate: func(m *mutant) {
		m.everyClient(func(c *authmgmt.Client) {
			c.CreatedAt, c.UpdatedAt = c.CreatedAt.Truncate(time.Second), c.UpdatedAt.Truncate(time.Second)
		})
		m.everyToken(func(k *authmgmt.Token) { k.CreatedAt = k.CreatedAt.Truncate(time.Second) })
		m.everyInvitation(func(i *authmgmt.Invitation) { i.GrantDue = i.GrantDue.Truncate(time.Second) })
		m.everyEvent(func(e *authmgmt.AuditEvent) { e.At = e.At.Truncate(time.Second) })
	}},
	{name: "returns local times", breaks: []string{
		"clients/times-keep-microseconds", "audit/times-keep-microseconds",
	}, mutate: func(m *mutant) {
		here := time.FixedZone("here", 3600)
		m.everyClient(func(c *authmgmt.Client) { c.CreatedAt = c.CreatedAt.In(here) })
		m.everyEvent(func(e *authmgmt.AuditEvent) { e.At = e.At.In(here) })
	}},
	{name: "makes zero times the epoch", breaks: []string{
		"clients/unset-stays-unset", "tokens/unset-stays-unset", "invitations/unset-stays-unset",
	}, mutate: func(m *mutant) {
		epoch := func(t *time.Time) {
			if t.IsZero() {
				*t = time.Unix(0, 0).UTC()
			}
		}
		m.everyClient(func(c *authmgmt.Client) {
			for i := range c.Secrets {
				epoch(&c.Secrets[i].ExpiresAt)
			}
		})
		m.everyToken(func(k *authmgmt.Token) { epoch(&k.RevokedAt) })
		m.everyInvitation(func(i *authmgmt.Invitation) { epoch(&i.GrantedAt) })
	}},
	{name: "keeps lifetimes in seconds", breaks: []string{
		"invitations/times-keep-microseconds", "invitations/create-stores-every-field",
	}, mutate: func(m *mutant) {
		m.everyInvitation(func(i *authmgmt.Invitation) { i.Lifetime = i.Lifetime.Truncate(time.Second) })
	}},
	{name: "keeps generations as numbers of JSON", breaks: []string{
		"invitations/generation-is-exact", "store/durable",
	}, mutate: func(m *mutant) {
		m.everyInvitation(func(i *authmgmt.Invitation) { i.Generation = int64(float64(i.Generation)) })
	}},
	{name: "keeps generations of snapshots as numbers of JSON", breaks: []string{"audit/stores-every-field"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *authmgmt.AuditEvent) {
			if e.After != nil {
				e.After.Generation = int64(float64(e.After.Generation))
			}
		})
	}},
	{name: "takes an empty snapshot for none", breaks: []string{"audit/stores-every-field"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *authmgmt.AuditEvent) {
			if e.Before != nil && e.Before.Name == "" {
				e.Before = nil
			}
		})
	}},
	{name: "cuts strings at U+0000", breaks: []string{
		"clients/strings-keep-every-byte", "tokens/strings-keep-every-byte", "invitations/strings-keep-every-byte", "audit/strings-keep-every-byte",
	}, mutate: func(m *mutant) {
		before := func(s *string) { *s, _, _ = strings.Cut(*s, "\x00") }
		m.everyClient(func(c *authmgmt.Client) { before(&c.Name) })
		m.everyToken(func(k *authmgmt.Token) { before(&k.Subject) })
		m.everyInvitation(func(i *authmgmt.Invitation) { before(&i.Inviter) })
		m.everyEvent(func(e *authmgmt.AuditEvent) { before((*string)(&e.Actor)) })
	}},
	{name: "keeps roles as JSON", breaks: []string{
		"clients/strings-keep-every-byte", "tokens/strings-keep-every-byte", "invitations/strings-keep-every-byte",
	}, mutate: func(m *mutant) {
		m.everyRole(func(roles []access.Role) []access.Role {
			for i := range roles {
				if !utf8.ValidString(string(roles[i].Resource)) {
					roles[i].Resource = access.ResourceType(strings.ToValidUTF8(string(roles[i].Resource), "\ufffd"))
				}
			}
			return roles
		})
	}},
	{name: "sorts roles", breaks: []string{
		"clients/order-is-kept", "tokens/own-roles-are-kept", "invitations/create-stores-every-field",
	}, mutate: func(m *mutant) {
		m.everyRole(func(roles []access.Role) []access.Role {
			slices.SortFunc(roles, func(a, b access.Role) int {
				return cmp.Or(strings.Compare(a.ID, b.ID), cmp.Compare(a.Resource, b.Resource))
			})
			return roles
		})
	}},
	{name: "drops equal roles", breaks: []string{"clients/order-is-kept", "tokens/own-roles-are-kept"}, mutate: func(m *mutant) {
		m.everyRole(func(roles []access.Role) []access.Role {
			var once []access.Role
			for _, r := range roles {
				if !slices.Contains(once, r) {
					once = append(once, r)
				}
			}
			return once
		})
	}},
	{name: "sorts secrets", breaks: []string{"clients/order-is-kept", "clients/update-keeps-own-digests"}, mutate: func(m *mutant) {
		m.everyClient(func(c *authmgmt.Client) {
			slices.SortFunc(c.Secrets, func(a, b authmgmt.ClientSecret) int {
				return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
			})
		})
	}},
	{name: "makes no roles a role", breaks: []string{
		"clients/unset-stays-unset", "tokens/unset-stays-unset", "invitations/unset-stays-unset",
	}, mutate: func(m *mutant) {
		m.everyRole(func(roles []access.Role) []access.Role {
			if len(roles) == 0 {
				return []access.Role{{}}
			}
			return roles
		})
	}},
	{name: "forgets who accepted", breaks: []string{
		"invitations/create-stores-every-field", "invitations/update-stores-what-it-leaves",
	}, mutate: func(m *mutant) {
		m.everyInvitation(func(i *authmgmt.Invitation) { i.AcceptedBy = "" })
	}},
	{name: "forgets the secret of a token", breaks: []string{"tokens/create-stores-every-field"}, mutate: func(m *mutant) {
		m.everyToken(func(k *authmgmt.Token) { k.Secret = [32]byte{} })
	}},
	{name: "returns email addresses in lower case", breaks: []string{"invitations/strings-keep-every-byte"}, mutate: func(m *mutant) {
		m.everyInvitation(func(i *authmgmt.Invitation) { i.Email = i.EmailKey() })
	}},
	{name: "returns aliases", breaks: []string{
		"clients/create-copies", "clients/get-copies", "clients/update-copies", "tokens/copies", "tokens/client-roles-are-copies",
		"invitations/copies", "invitations/due-grants-copies", "audit/copies",
	}, mutate: func(m *mutant) {
		var mu sync.Mutex
		roles, snapshots := make(map[string][]access.Role), make(map[uuid.UUID]*authmgmt.Snapshot)
		alias := func(key string, given []access.Role) []access.Role {
			mu.Lock()
			defer mu.Unlock()
			if old, ok := roles[key]; ok && len(old) == len(given) {
				return old
			}
			roles[key] = given
			return given
		}
		m.everyClient(func(c *authmgmt.Client) { c.Roles = alias("c"+c.ID, c.Roles) })
		m.everyToken(func(k *authmgmt.Token) { k.Roles = alias("t"+k.ID.String(), k.Roles) })
		m.everyInvitation(func(i *authmgmt.Invitation) { i.Roles = alias("i"+i.ID, i.Roles) })
		m.everyEvent(func(e *authmgmt.AuditEvent) {
			mu.Lock()
			defer mu.Unlock()
			if old, ok := snapshots[e.ID]; ok {
				e.After = old
			}
			snapshots[e.ID] = e.After
		})
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			alias("c"+c.ID, c.Roles)
			return m.AuthMgmt.CreateClient(ctx, c, e)
		}
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			return m.AuthMgmt.UpdateClient(ctx, org, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				e, err := update(c)
				mu.Lock()
				roles["c"+id] = c.Roles
				mu.Unlock()
				return e, err
			})
		}
	}},
	{name: "gives update functions the organization itself", breaks: []string{"organizations/update-copies"}, mutate: func(m *mutant) {
		kept := make(map[string]*authmgmt.Organization)
		m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
			return m.AuthMgmt.UpdateOrganization(ctx, org, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
				kept[org] = o
				return update(o)
			})
		}
		m.organization = func(ctx context.Context, org string) (authmgmt.Organization, error) {
			if o, ok := kept[org]; ok {
				return *o, nil
			}
			return m.AuthMgmt.AccessControl(ctx, org)
		}
	}},
}

// nameMutants take names for the same that are not.
var nameMutants = []broken{
	{name: "ignores case", breaks: []string{
		"clients/names-are-bytes", "invitations/names-are-bytes", "organizations/names-are-bytes",
	}, mutate: func(m *mutant) { m.renamed(strings.ToLower) }},
	{name: "ignores spaces at the end", breaks: []string{
		"clients/names-are-bytes", "invitations/names-are-bytes", "organizations/names-are-bytes",
	}, mutate: func(m *mutant) {
		m.renamed(func(s string) string { return strings.TrimRight(s, " ") })
	}},
	{name: "filters without case", breaks: []string{"audit/names-are-bytes"}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(_ *string, q *authmgmt.AuditQuery) {
			if q.Actor == "ACME" {
				q.Actor = "acme"
			}
		})
	}},
	{name: "knows clients by their ID alone", breaks: []string{
		"clients/id-is-of-its-organization", "clients/get-other-organization",
	}, mutate: func(m *mutant) {
		m.client = func(ctx context.Context, _, id string) (authmgmt.Client, error) {
			return m.AuthMgmt.Client(ctx, "org-a", id)
		}
	}},
	{name: "knows invitations by their ID alone", breaks: []string{
		"invitations/id-is-of-its-organization", "invitations/get-unknown",
	}, mutate: func(m *mutant) {
		m.invitation = func(ctx context.Context, _, id string) (authmgmt.Invitation, error) {
			return m.AuthMgmt.Invitation(ctx, "org-a", id)
		}
	}},
	{name: "does not mind another organization's things", breaks: []string{
		"clients/update-unknown", "tokens/update-unknown", "invitations/update-unknown",
	}, mutate: func(m *mutant) {
		m.updateClient = func(ctx context.Context, _, id string, update clientUpdate) error {
			return m.AuthMgmt.UpdateClient(ctx, "org-a", id, update)
		}
		m.updateToken = func(ctx context.Context, _ string, id uuid.UUID, update tokenUpdate) error {
			return m.AuthMgmt.UpdateToken(ctx, "org-a", id, update)
		}
		m.updateInvitation = func(ctx context.Context, _, id string, update invitationUpdate) error {
			return m.AuthMgmt.UpdateInvitation(ctx, "org-a", id, update)
		}
	}},
	{name: "makes what it is asked for", breaks: []string{
		"clients/get-unknown", "clients/by-secret-unknown", "tokens/by-digest-unknown", "organizations/unknown",
	}, mutate: func(m *mutant) {
		m.client = func(ctx context.Context, org, id string) (authmgmt.Client, error) {
			c, err := m.AuthMgmt.Client(ctx, org, id)
			if err != nil {
				return authmgmt.Client{Organization: org, ID: id}, nil
			}
			return c, nil
		}
		m.clientBySecret = func(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
			c, _ := m.AuthMgmt.ClientBySecret(ctx, digest)
			return c, nil
		}
		m.tokenByDigest = func(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
			k, _ := m.AuthMgmt.TokenByDigest(ctx, digest)
			return k, nil
		}
		m.organization = func(ctx context.Context, org string) (authmgmt.Organization, error) {
			o, _ := m.AuthMgmt.AccessControl(ctx, org)
			o.ID = org
			return o, nil
		}
	}},
	{name: "makes organizations of everybody who has clients", breaks: []string{"organizations/not-made-by-others"}, mutate: func(m *mutant) {
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			_ = m.AuthMgmt.UpdateOrganization(ctx, c.Organization, func(*authmgmt.Organization) (authmgmt.AuditEvent, error) {
				return authmgmt.AuditEvent{}, nil
			})
			return m.AuthMgmt.CreateClient(ctx, c, e)
		}
	}},
	{name: "makes organizations before it asks", breaks: []string{"organizations/refused-makes-none"}, mutate: func(m *mutant) {
		m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
			_ = m.AuthMgmt.UpdateOrganization(ctx, org, func(*authmgmt.Organization) (authmgmt.AuditEvent, error) {
				return authmgmt.AuditEvent{}, nil
			})
			return m.AuthMgmt.UpdateOrganization(ctx, org, update)
		}
	}},
	{name: "moves an organization to another ID", breaks: []string{"organizations/update-keeps-the-id"}, mutate: func(m *mutant) {
		m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
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
		}
	}},
	{name: "stores no organization without rights", breaks: []string{"organizations/update-makes-it"}, mutate: func(m *mutant) {
		m.organization = func(ctx context.Context, org string) (authmgmt.Organization, error) {
			o, err := m.AuthMgmt.AccessControl(ctx, org)
			if err == nil && !o.RBAC {
				return authmgmt.Organization{}, authmgmt.ErrNotFound
			}
			return o, err
		}
	}},
	{name: "never takes rights away", breaks: []string{"organizations/update-stores-what-it-leaves"}, mutate: func(m *mutant) {
		m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
			return m.AuthMgmt.UpdateOrganization(ctx, org, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
				had := o.RBAC
				e, err := update(o)
				o.RBAC = o.RBAC || had
				return e, err
			})
		}
	}},
}

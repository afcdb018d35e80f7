package authmgmt

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

// NewClient is what a client is made of.
type NewClient struct {
	ID         string        // "" for a random one
	Name       string        // display name, 1 to 255 bytes
	Roles      []access.Role // at most 100, of 8 KiB of text together
	FullAccess bool          // instead of Roles: everything within the organization
}

// CreateClient makes a client and its first secret, and returns both. The secret cannot
// be had again. The client has roles or full access, never both nor neither. Roles need
// role-based access control, and the caller's access must cover the client's. An
// organization has at most 10,000 clients. The errors are [*mortise.ValidationError],
// also for one client too many, [ErrForbidden], [ErrRBACDisabled], [mortise.ErrExists]
// and [mortise.ErrUnavailable].
func (s *Service) CreateClient(
	ctx context.Context, org string, by Caller, n NewClient,
) (c Client, secret mortise.Secret, err error) {
	start := s.opts.Now()
	var e AuditEvent
	text, err := s.issue(secretPrefix)
	if err == nil {
		c, e, err = s.createClient(ctx, org, by, n, text, true, s.checkRBAC)
	}
	s.observeChange(ctx, start, org, mortise.KindClientCreated, by, c.ID, &e, err)
	if err != nil {
		return Client{}, mortise.Secret{}, ofNew(n.ID, err)
	}
	return c, mortise.NewSecret(text), nil
}

// ImportClient is CreateClient with a secret that was made elsewhere, of 32 to 1024
// bytes, of which at least 10 are different. It does not ask whether the organization has
// role-based access control. A client that was deleted is not revived: that is
// [mortise.ErrExists], too.
func (s *Service) ImportClient(ctx context.Context, org string, by Caller, n NewClient, text string) (Client, error) {
	start := s.opts.Now()
	c, e, err := s.createClient(ctx, org, by, n, text, false, anyRoles)
	s.observeChange(ctx, start, org, mortise.KindClientCreated, by, c.ID, &e, err)
	return c, ofNew(n.ID, err)
}

// createClient makes a client. bounded: the organization must have room for it.
func (s *Service) createClient(ctx context.Context, org string, by Caller, n NewClient, text string, bounded bool, may roleCheck) (Client, AuditEvent, error) {
	var p problems
	p.Name("organization", org)
	if n.ID != "" {
		p.Name("client_id", n.ID)
	}
	p.display("name", n.Name)
	p.access(s.catalogue, n.Roles, n.FullAccess)
	p.secret("client_secret", text)
	if err := p.Err(); err != nil {
		return Client{}, AuditEvent{}, err
	}
	if err := may(ctx, org, n.Roles); err != nil {
		return Client{}, AuditEvent{}, err
	}
	if !by.Access.Covers(n.Roles) {
		return Client{}, AuditEvent{}, ErrForbidden
	}
	if bounded {
		if err := s.room(ctx, org, "clients"); err != nil {
			return Client{}, AuditEvent{}, err
		}
	}
	if n.ID == "" {
		id, err := uuid.NewRandomFromReader(s.opts.Rand)
		if err != nil {
			return Client{}, AuditEvent{}, unavailable("read randomness", err)
		}
		n.ID = id.String()
	}
	kept, err := s.newSecret(text)
	if err != nil {
		return Client{}, AuditEvent{}, err
	}
	c := Client{
		Organization: org, ID: n.ID, Name: n.Name, Roles: unique(slices.Clone(n.Roles)), Secrets: []ClientSecret{kept},
		CreatedAt: kept.CreatedAt, UpdatedAt: kept.CreatedAt,
	}
	e, err := s.event(org, mortise.KindClientCreated, by, c.ID)
	if err != nil {
		return Client{}, AuditEvent{}, err
	}
	e.After = c.snapshot()
	if err := s.store.CreateClient(ctx, c, e); err != nil {
		return Client{}, AuditEvent{}, unavailable("store client", err)
	}
	return c, e, nil
}

// maxKept bounds the clients of an organization, and its pending invitations. Requests that
// run at the same moment may pass it by a few. Imports may pass it by any number: a document
// that was applied once must be valid at the next start of its program.
const maxKept = 10_000

// room returns a [*mortise.ValidationError] if the organization has maxKept "clients", or
// "invitations" that are pending.
func (s *Service) room(ctx context.Context, org, of string) error {
	n, err := s.store.CountClients(ctx, org, maxKept)
	if of == "invitations" {
		n, err = s.store.CountInvitations(ctx, org, s.now(), "", maxKept)
	}
	if err != nil {
		return unavailable("count "+of, err)
	}
	var p problems
	if n.N >= maxKept {
		p.Add(of, "are %d already, and can be no more", maxKept)
	}
	return p.Err()
}

// Client returns one client, or [mortise.ErrNotFound].
func (s *Service) Client(ctx context.Context, org, id string) (Client, error) {
	c, err := s.store.Client(ctx, org, id)
	return c, ofClient(id, unavailable("read client", err))
}

// ClientUpdate is a change of a client. Nil fields stay as they are.
type ClientUpdate struct {
	Name    *string
	Roles   *[]access.Role      // empty: the roles of Context are removed; bounded as a NewClient's
	Context access.RolesContext // which roles Roles replaces; zero: all; see [Options].HasDataset

	// FullAccess lets an update whose Roles are empty leave the client without any
	// role, which is full access. Without it such an update is a
	// [*mortise.ValidationError]. It goes with empty Roles only.
	FullAccess bool

	// If says whether the update may be made of the client as it is now, in the transaction
	// of the change. An error of it leaves everything as it was, and is returned. It is asked
	// last, maybe more than once, and must not call the Service. Nil: it may.
	If func(now Client) error
}

// check says what is wrong with an update, whatever the client is like.
func (s *Service) check(p *problems, u *ClientUpdate) {
	if u.Name != nil {
		p.display("name", *u.Name)
	}
	if u.Roles == nil {
		if u.FullAccess {
			p.Add("full_access", "must not be set unless roles are given as an empty list")
		}
		return
	}
	p.roles(s.catalogue, *u.Roles)
	p.both(*u.Roles, u.FullAccess)
	// With a context, roles of others may stay. Only apply can see them.
	if len(*u.Roles) == 0 && u.Context == "" && !u.FullAccess {
		p.neither()
	}
	if u.Context != "" {
		if err := new(access.RolesContext).UnmarshalText([]byte(u.Context)); err != nil {
			p.Add("roles_context", "%v", err)
			return
		}
	}
	for i, r := range (*u.Roles)[:min(len(*u.Roles), maxRoles)] {
		field, problem := u.Context.Check(r)
		p.role(i, field, problem)
	}
}

// checkDataset refuses a context whose dataset the organization does not have.
func (s *Service) checkDataset(ctx context.Context, org string, u *ClientUpdate) error {
	id, ok := strings.CutPrefix(string(u.Context), string(access.DatasetRoles("")))
	if !ok || u.Roles == nil || s.opts.HasDataset == nil {
		return nil
	}
	has, err := s.opts.HasDataset(ctx, org, id)
	if err != nil {
		return unavailable("ask for a dataset", failure.FromHook(err))
	}
	var p problems
	if !has {
		p.Add("roles_context", "must name a dataset that the organization has")
	}
	return p.Err()
}

// UpdateClient changes a client and returns it as it is then. Other roles than it has
// need role-based access control. The caller must cover every role that is new, and
// every one that goes, unless the catalogue no longer has it ([access.Access.MayEnd]).
// To leave a client without roles, which is full access, takes FullAccess in the
// update. That, and to give roles to a client that has full access, takes a caller with
// full access. The errors are the error of [ClientUpdate.If],
// [*mortise.ValidationError], [mortise.ErrNotFound], [ErrForbidden], [ErrRBACDisabled]
// and [mortise.ErrUnavailable].
func (s *Service) UpdateClient(ctx context.Context, org string, by Caller, id string, u ClientUpdate) (Client, error) {
	start := s.opts.Now()
	var p problems
	s.check(&p, &u)
	err := p.Err()
	if err == nil {
		err = s.checkDataset(ctx, org, &u)
	}
	var disabled error
	if err == nil && u.Roles != nil {
		switch err = s.checkRBAC(ctx, org, *u.Roles); {
		case errors.Is(err, mortise.ErrDeleted):
			err = mortise.ErrNotFound // as the client
		case errors.Is(err, ErrRBACDisabled):
			disabled, err = err, nil
		}
	}
	var c Client
	var e AuditEvent
	if err == nil {
		c, e, err = s.changeClient(ctx, org, mortise.KindClientUpdated, by, id, func(c *Client) error {
			now := c.Clone()
			if err := u.apply(c, by.Access, disabled); err != nil || u.If == nil {
				return err
			}
			return u.If(now)
		})
		if disabled != nil && (errors.Is(err, mortise.ErrNotFound) || errors.Is(err, mortise.ErrUnavailable)) {
			err = disabled // as if it had not been looked whether the roles are others
		}
	}
	s.observeChange(ctx, start, org, mortise.KindClientUpdated, by, id, &e, err)
	return c, ofClient(id, err)
}

// apply makes the change, unless it gives or takes more than the caller holds. If disabled is
// not nil, it is the error of other roles than the client's.
func (u *ClientUpdate) apply(c *Client, caller access.Access, disabled error) error {
	if u.Name != nil {
		c.Name = *u.Name
	}
	if u.Roles == nil {
		return nil
	}
	given := make([]access.Role, 0, len(*u.Roles))
	for _, r := range *u.Roles {
		given = append(given, u.Context.Bind(r))
	}
	roles := replaceRoles(u.Context, c.Roles, given)
	var p problems
	if p.size(roles, ", those of other contexts included"); len(p.Found) > 0 {
		return p.Err()
	}
	if len(roles) == 0 && !u.FullAccess {
		p.neither()
		return p.Err()
	}
	if disabled != nil && !sameRoles(c.Roles, roles) {
		return disabled
	}
	if !mayReplace(caller, c.Roles, roles) {
		return ErrForbidden
	}
	c.Roles = roles
	return nil
}

// DeleteClient removes a client for good. Its secrets and its tokens end with it, and its
// ID is never reused. The caller must be allowed to end its roles
// ([access.Access.MayEnd]), so a client with more access cannot be locked out. The errors
// are [mortise.ErrNotFound], [ErrForbidden] and [mortise.ErrUnavailable].
func (s *Service) DeleteClient(ctx context.Context, org string, by Caller, id string) error {
	start := s.opts.Now()
	_, e, err := s.changeClient(ctx, org, mortise.KindClientDeleted, by, id, func(c *Client) error {
		if !by.Access.MayEnd(c.Roles) {
			return ErrForbidden
		}
		c.DeletedAt = s.now()
		c.Secrets = nil
		return nil
	})
	s.observeChange(ctx, start, org, mortise.KindClientDeleted, by, id, &e, err)
	return ofClient(id, err)
}

// changeClient changes a client together with its audit event. A change that leaves
// everything as it was has none.
func (s *Service) changeClient(ctx context.Context, org string, kind mortise.Kind, by Caller, id string, change func(*Client) error) (Client, AuditEvent, error) {
	var changed Client
	var stored AuditEvent
	var refused refusal
	err := s.store.UpdateClient(ctx, org, id, func(c *Client) (AuditEvent, error) {
		before := *c // change replaces lists and leaves their items
		var begun AuditEvent
		if begun, refused.err = s.event(org, kind, by, id); refused.err != nil {
			return AuditEvent{}, refused.err
		}
		if refused.err = change(c); refused.err != nil {
			return AuditEvent{}, refused.err
		}
		stored = AuditEvent{}
		if c.Name != before.Name || !slices.Equal(c.Roles, before.Roles) || !slices.Equal(c.Secrets, before.Secrets) || !c.DeletedAt.Equal(before.DeletedAt) {
			c.UpdatedAt = begun.At
			stored = begun
			stored.Before = before.snapshot()
			if c.DeletedAt.IsZero() {
				stored.After = c.snapshot()
			}
		}
		changed = c.Clone()
		return stored, nil
	})
	s.tokensChanged(ctx, err)
	if err = refused.of("update client", err); err != nil {
		return Client{}, AuditEvent{}, err
	}
	return changed, stored, nil
}

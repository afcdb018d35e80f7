package authmgmt

import (
	"context"
	"iter"
	"math"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// Position returns the client's place in ListClients.
func (c *Client) Position() mortise.Position { return mortise.Position{At: c.CreatedAt, ID: c.ID} }

// Position returns the token's place in ListTokens.
func (t *Token) Position() mortise.Position {
	return mortise.Position{At: t.CreatedAt, ID: string(t.ID[:])}
}

// Position returns the invitation's place in ListInvitations and ListAllInvitations.
func (i *Invitation) Position() mortise.Position {
	return mortise.Position{At: i.CreatedAt, ID: i.ID}
}

// list returns a page, behind the checks that all lists have.
func list[T, ID any](
	doing string, after mortise.Cursor, limit int,
	read func(mortise.Cursor) (at time.Time, id ID, behind bool, err error), page func(limit int) (mortise.Page[T], error),
) (mortise.Page[T], error) {
	var p problems
	limit = failure.Page(&p.Problems, after, limit, read)
	if err := p.Err(); err != nil {
		return mortise.Page[T]{}, err
	}
	items, err := page(limit)
	if err == nil {
		err = pages.Check(items, after, limit)
	}
	return items, unavailable(doing, err)
}

// ListClients returns a page of the organization's clients, oldest first. Limit 0 means
// 50. The errors are [*mortise.ValidationError], for a limit outside 0 to
// [mortise.MaxPageSize] or a text that is no cursor, and [mortise.ErrUnavailable].
func (s *Service) ListClients(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[Client], error) {
	return list("list clients", after, limit, pages.ByName, func(limit int) (mortise.Page[Client], error) {
		return s.store.ListClients(ctx, org, after, limit)
	})
}

// ListTokens returns a page of the organization's tokens, newest first, those that have
// ended included. Limit and errors are as of [Service.ListClients].
func (s *Service) ListTokens(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[Token], error) {
	return list("list tokens", after, limit, pages.ByUUID, func(limit int) (mortise.Page[Token], error) {
		return s.store.ListTokens(ctx, org, after, limit)
	})
}

// ListInvitations returns a page of the organization's pending invitations, newest first:
// of invitations with that Inviter, byte for byte, or of all if inviter is "". Limit and
// errors are as of [Service.ListClients].
func (s *Service) ListInvitations(
	ctx context.Context, org, inviter string, after mortise.Cursor, limit int,
) (mortise.Page[Invitation], error) {
	return s.listInvitations(ctx, org, s.now(), inviter, after, limit)
}

// ListAllInvitations is [Service.ListInvitations] of invitations in whatever state.
func (s *Service) ListAllInvitations(
	ctx context.Context, org, inviter string, after mortise.Cursor, limit int,
) (mortise.Page[Invitation], error) {
	return s.listInvitations(ctx, org, time.Time{}, inviter, after, limit)
}

func (s *Service) listInvitations(
	ctx context.Context, org string, pendingAt time.Time, inviter string, after mortise.Cursor, limit int,
) (mortise.Page[Invitation], error) {
	return list("list invitations", after, limit, pages.ByName, func(limit int) (mortise.Page[Invitation], error) {
		return s.store.ListInvitations(ctx, org, pendingAt, name.Clean(inviter), after, limit)
	})
}

// CountClients returns how many clients ListClients lists. It takes longer the more there
// are, as the other counts do.
func (s *Service) CountClients(ctx context.Context, org string) (int, error) {
	n, err := s.store.CountClients(ctx, org, math.MaxInt32)
	return n.N, unavailable("count clients", err)
}

// CountTokens returns how many tokens ListTokens lists.
func (s *Service) CountTokens(ctx context.Context, org string) (int, error) {
	n, err := s.store.CountTokens(ctx, org, math.MaxInt32)
	return n.N, unavailable("count tokens", err)
}

// CountInvitations returns how many invitations ListInvitations lists: the pending ones of
// an inviter, or of all for "".
func (s *Service) CountInvitations(ctx context.Context, org, inviter string) (int, error) {
	n, err := s.store.CountInvitations(ctx, org, s.now(), name.Clean(inviter), math.MaxInt32)
	return n.N, unavailable("count invitations", err)
}

// Clients iterates over the organization's clients, oldest first, page by page. A client
// that exists from the start to the end comes once, whatever comes and goes meanwhile. It
// ends after the first error, which is [mortise.ErrUnavailable].
func (s *Service) Clients(ctx context.Context, org string) iter.Seq2[Client, error] {
	return pages.Each("", func(after mortise.Cursor) (mortise.Page[Client], error) { return s.ListClients(ctx, org, after, 0) })
}

// Tokens iterates over the organization's tokens, newest first, those that have ended
// included. It goes on and ends as [Service.Clients] does.
func (s *Service) Tokens(ctx context.Context, org string) iter.Seq2[Token, error] {
	return pages.Each("", func(after mortise.Cursor) (mortise.Page[Token], error) { return s.ListTokens(ctx, org, after, 0) })
}

// Invitations iterates over the organization's invitations that are pending when their
// page is read, newest first. It goes on and ends as [Service.Clients] does.
func (s *Service) Invitations(ctx context.Context, org string) iter.Seq2[Invitation, error] {
	return pages.Each("", func(after mortise.Cursor) (mortise.Page[Invitation], error) {
		return s.ListInvitations(ctx, org, "", after, 0)
	})
}

// AllInvitations iterates over the organization's invitations in whatever state, newest
// first. It goes on and ends as [Service.Clients] does.
func (s *Service) AllInvitations(ctx context.Context, org string) iter.Seq2[Invitation, error] {
	return pages.Each("", func(after mortise.Cursor) (mortise.Page[Invitation], error) {
		return s.ListAllInvitations(ctx, org, "", after, 0)
	})
}

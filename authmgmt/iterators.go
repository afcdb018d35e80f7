package authmgmt

import (
	"context"
	"iter"
)

// Clients iterates over the organization's clients, oldest first, page by page. A client
// that is there from the start to the end comes once, whatever comes and goes meanwhile.
// It ends after the first error, which is [mortise.ErrUnavailable].
func (s *Service) Clients(ctx context.Context, org string) iter.Seq2[Client, error] {
	return each(func(q Paging) (Page[Client], error) { return s.ListClients(ctx, org, q) })
}

// Tokens iterates over the organization's tokens, newest first, those that have ended
// included. It goes on and ends as [Service.Clients] does.
func (s *Service) Tokens(ctx context.Context, org string) iter.Seq2[Token, error] {
	return each(func(q Paging) (Page[Token], error) { return s.ListTokens(ctx, org, q) })
}

// Invitations iterates over the organization's invitations that are pending when their
// page is read, newest first. It goes on and ends as [Service.Clients] does.
func (s *Service) Invitations(ctx context.Context, org string) iter.Seq2[Invitation, error] {
	return each(func(q Paging) (Page[Invitation], error) { return s.ListInvitations(ctx, org, "", q) })
}

// AllInvitations iterates over the organization's invitations in whatever state, newest
// first. It goes on and ends as [Service.Clients] does.
func (s *Service) AllInvitations(ctx context.Context, org string) iter.Seq2[Invitation, error] {
	return each(func(q Paging) (Page[Invitation], error) { return s.ListAllInvitations(ctx, org, "", q) })
}

package authmgmt

import (
	"context"
	"iter"
)

// Clients iterates over the organization's clients, oldest first, page by page. A client
// that is there from the start to the end comes once, whatever comes and goes meanwhile.
// It ends after the first error, which is [ErrUnavailable].
func (s *Service) Clients(ctx context.Context, org string) iter.Seq2[Client, error] {
	return each(func(q Paging) ([]Client, Position, error) {
		page, err := s.ListClients(ctx, org, q)
		return page.Clients, page.Next, err
	})
}

// Tokens iterates over the organization's tokens, newest first, those that have ended
// included. It goes on and ends as [Service.Clients] does.
func (s *Service) Tokens(ctx context.Context, org string) iter.Seq2[Token, error] {
	return each(func(q Paging) ([]Token, Position, error) {
		page, err := s.ListTokens(ctx, org, q)
		return page.Tokens, page.Next, err
	})
}

// Invitations iterates over the organization's invitations that are pending when their
// page is read, newest first. It goes on and ends as [Service.Clients] does.
func (s *Service) Invitations(ctx context.Context, org string) iter.Seq2[Invitation, error] {
	return each(func(q Paging) ([]Invitation, Position, error) {
		page, err := s.ListInvitations(ctx, org, q)
		return page.Invitations, page.Next, err
	})
}

// AllInvitations iterates over the organization's invitations in whatever state, newest
// first. It goes on and ends as [Service.Clients] does.
func (s *Service) AllInvitations(ctx context.Context, org string) iter.Seq2[Invitation, error] {
	return each(func(q Paging) ([]Invitation, Position, error) {
		page, err := s.ListAllInvitations(ctx, org, q)
		return page.Invitations, page.Next, err
	})
}

package vault

import (
	"context"

	"github.com/seed-6363c74e/mortise"
)

// Delete forgets the value of a token. The token is never given again: who still has it
// learns nothing of another value. The value gets another token if it is inserted
// again. The error is [ErrTokenNotFound] if the vault has no such token,
// [mortise.ErrNotFound] if there is no such vault.
func (s *Service) Delete(ctx context.Context, org string, by mortise.Actor, vault, token string) error {
	start := s.start()
	err := s.delete(ctx, org, by, vault, token)
	s.observe(ctx, start, mortise.Observation{Kind: mortise.KindDeleted, Organization: org, Object: vault, Actor: by, Items: 1, Err: err})
	return err
}

func (s *Service) delete(ctx context.Context, org string, by mortise.Actor, vault, token string) error {
	if !isVaultID(org, vault) {
		return ofVault(vault, mortise.ErrNotFound)
	}
	token = tokenOrNone(token)
	rows, err := s.store.Rows(ctx, org, vault, []string{token})
	if err != nil {
		return unavailable("read a token", ofVault(vault, err))
	}
	if err := answered("the store", len(rows), 1); err != nil {
		return err
	}
	if rows[0].Token == "" {
		return ErrTokenNotFound
	}
	e, err := s.event(org, vault, mortise.KindDeleted, by)
	if err != nil {
		return err
	}
	e.Tokens = []AuditToken{{Token: token, Scope: rows[0].Scope}}
	return unavailable("delete a token", s.store.DeleteToken(ctx, org, vault, token, e))
}

package sqlite

import (
	"context"

	"github.com/seed-6363c74e/mortise/vault"
)

const vaultsAfter = "SELECT " + vaultColumns + ", id FROM vault_vaults WHERE organization = ?1 AND id > ?2" + orgIsThere + " ORDER BY id LIMIT 0 + ?3"

// ListVaults implements [vault.Vaults].
func (s *Vault) ListVaults(ctx context.Context, org, after string, limit int) ([]vault.Vault, error) {
	var vaults []vault.Vault
	err := s.db.list(ctx, org, vaultsAfter, []any{org, after, max(limit, 0)}, func(r *row) error {
		v, err := scanVault(r, org, r.text(4))
		vaults = append(vaults, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return vaults, nil
}

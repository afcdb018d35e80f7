package vaultdb

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
)

const vaultsAfter = "SELECT " + vaultColumns + ", id FROM vault_vaults WHERE organization = ?1 AND id > ?2" + orgIsThere + " ORDER BY id LIMIT 0 + ?3"

// ListVaults implements [vault.Vaults].
func (s *Store) ListVaults(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[vault.Vault], err error) {
	_, id, _, err := pages.ByNameAlone(after)
	if err != nil {
		return page, err
	}
	var vaults []vault.Vault
	err = s.db.List(ctx, org, vaultsAfter, []any{org, id, limit + 1}, func(r *file.Row) error {
		v, err := scanVault(r, org, r.Text(4))
		vaults = append(vaults, v)
		return err
	})
	if err != nil {
		return page, err
	}
	return pages.Cut(vaults, limit, (*vault.Vault).Position), nil
}

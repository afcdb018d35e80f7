package memory

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/vault"
)

// addVault adds a vault, and its ID to those of its organization.
func (t *vaultTables) addVault(id ownedID, e *vaultEntry) {
	t.vaults[id] = e
	ids := t.ids[id.org]
	at, _ := slices.BinarySearch(ids, id.id)
	t.ids[id.org] = slices.Insert(ids, at, id.id)
}

// removeID removes a vault's ID from those of its organization.
func (t *vaultTables) removeID(id ownedID) {
	ids := t.ids[id.org]
	if at, found := slices.BinarySearch(ids, id.id); found {
		t.ids[id.org] = slices.Delete(ids, at, at+1)
	}
}

// ListVaults implements [vault.Vaults].
func (s *Vault) ListVaults(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[vault.Vault], err error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	from, err := position(after)
	if err != nil {
		return page, err
	}
	ids := db.vault.ids[org]
	if from != nil {
		at, found := slices.BinarySearch(ids, from.ID)
		if found {
			at++
		}
		ids = ids[at:]
	}
	var vaults []vault.Vault
	for _, id := range ids[:min(limit+1, len(ids))] {
		vaults = append(vaults, db.vault.vaults[ownedID{org, id}].Clone())
	}
	return pages.Cut(vaults, limit, (*vault.Vault).Position), nil
}

package memory

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Stats implements [vault.Counter].
func (s *Vault) Stats(ctx context.Context, org string, most int) (vault.Stats, error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return vault.Stats{}, err
	}
	defer db.end()
	ids := db.vault.ids[org]
	tokens, deleted := 0, 0
	for _, id := range ids {
		e := db.vault.vaults[ownedID{org, id}]
		tokens, deleted = tokens+len(e.rows)-e.deleted, deleted+e.deleted
	}
	return vault.Stats{
		Vaults: mortise.CountUpTo(len(ids), most),
		Tokens: mortise.CountUpTo(tokens, most), Deleted: mortise.CountUpTo(deleted, most),
	}, nil
}

// VaultStats implements [vault.Counter].
func (s *Vault) VaultStats(ctx context.Context, org, id string, most int) (vault.Stats, error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return vault.Stats{}, err
	}
	defer db.end()
	e, ok := db.vault.vaults[ownedID{org, id}]
	if !ok {
		return vault.Stats{}, mortise.ErrNotFound
	}
	return vault.Stats{
		Tokens:  mortise.CountUpTo(len(e.rows)-e.deleted, most),
		Deleted: mortise.CountUpTo(e.deleted, most),
	}, nil
}

// StatsAll implements [vault.Counter].
func (s *Vault) StatsAll(ctx context.Context, seal, most int) (vault.AllStats, error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return vault.AllStats{}, err
	}
	defer db.end()
	t := &db.vault
	tokens, deleted, old, retired := 0, 0, 0, 0
	for _, e := range t.vaults {
		tokens, deleted = tokens+len(e.rows)-e.deleted, deleted+e.deleted
		for _, r := range e.rows {
			if old > most {
				break
			}
			if !r.deleted && r.Sealed.Version != seal {
				old++
			}
		}
		for at, index := range e.tokens {
			if t.retired(keyring.FingerprintKey, at.version) {
				retired += len(index)
			}
		}
	}
	return vault.AllStats{
		Vaults: mortise.CountUpTo(len(t.vaults), most),
		Tokens: mortise.CountUpTo(tokens, most), Deleted: mortise.CountUpTo(deleted, most),
		Keys: t.sortedKeys(), ToRewrap: mortise.CountUpTo(old, most), ToRemove: mortise.CountUpTo(retired, most),
	}, nil
}

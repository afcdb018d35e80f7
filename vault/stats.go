package vault

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Stats says how much an organization or a vault has.
type Stats struct {
	Vaults  mortise.Count // of an organization
	Tokens  mortise.Count // without those that were deleted
	Deleted mortise.Count // tokens that were deleted; each is kept so that it is never given again
}

// AllStats says how much all organizations have together, and what a rotation of the keys
// still has to do.
type AllStats struct {
	Vaults  mortise.Count
	Tokens  mortise.Count // as in Stats
	Deleted mortise.Count // as in Stats

	// Keys are all that are known, by purpose, then version. A rotation is under way
	// while two are Required.
	Keys []keyring.Key

	// ToRewrap are tokens whose values are sealed under another version than the primary
	// one: see Service.Rewrap.
	ToRewrap mortise.Count

	ToRemove mortise.Count // fingerprints of retired versions: see Service.Retire
}

// Stats counts what an organization has: for its dashboard. It is cheap: each number is
// exact up to [mortise.MaxCount], and "at least" that beyond. The error is
// [mortise.ErrUnavailable]. An organization that nobody has heard of has nothing.
func (s *Service) Stats(ctx context.Context, org string) (Stats, error) {
	if name.Problem(org) != "" {
		return Stats{}, nil
	}
	stats, err := s.store.Stats(ctx, org, mortise.MaxCount)
	if err != nil {
		return Stats{}, unavailable("count what an organization has", err)
	}
	return stats, nil
}

// VaultStats counts what a vault has, and is as cheap as Stats. It leaves Vaults zero.
// The error is [mortise.ErrNotFound] if there is no such vault.
func (s *Service) VaultStats(ctx context.Context, org, id string) (Stats, error) {
	if !isVaultID(org, id) {
		return Stats{}, mortise.ErrNotFound
	}
	stats, err := s.store.VaultStats(ctx, org, id, mortise.MaxCount)
	if err != nil {
		return Stats{}, unavailable("count what a vault has", err)
	}
	return stats, nil
}

// StatsAll counts what all organizations have together, and what a rotation of the keys
// still has to do: for the metrics of those who run the service. ToRewrap counts what is
// not sealed under the keyring's Versions.Seal. Each number is exact up to
// [mortise.MaxCount], and "at least" that beyond. It takes longer than Stats where there
// are very many columns.
//
// It does not say how many values still lack a fingerprint of a new version, which
// [Service.Backfill] gives them: to know that, one has to look at each value.
// [Service.KeyUsage] does so, and takes longer the more tokens there are. The error is
// [mortise.ErrUnavailable] if the store or the keyring is away.
func (s *Service) StatsAll(ctx context.Context) (AllStats, error) {
	versions, err := s.keyring.Versions(ctx)
	if err != nil {
		return AllStats{}, unavailable("ask the keyring for its versions", err)
	}
	totals, err := s.store.StatsAll(ctx, versions.Seal, mortise.MaxCount)
	if err != nil {
		return AllStats{}, unavailable("count what all organizations have", err)
	}
	return totals, nil
}

package vault

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// Count is a number that is counted only so far.
type Count = mortise.Count

// Stats says how much an organization has.
type Stats struct {
	Vaults  Count
	Tokens  Count // of all its vaults, without those that were deleted
	Deleted Count // tokens that were deleted; each is kept so that it is never given again
}

// VaultStats says how much a vault has.
type VaultStats struct {
	Tokens  Count // as in Stats
	Deleted Count // as in Stats
}

// Totals says how much all organizations have together, and what a rotation of the keys
// still has to do.
type Totals struct {
	Vaults  Count
	Tokens  Count // as in Stats
	Deleted Count // as in Stats

	Keys     []Key // all that are known, by purpose, then version; a rotation is under way while two are Required
	ToRewrap Count // tokens whose values are sealed under another version than the one asked for: see Service.Rewrap
	ToRemove Count // fingerprints of retired versions: see Service.Retire
}

// Counter is the part of a [Store] that counts what is kept. A Count is exact up to most
// (over 0), and else it is most and More: a backend that can keep much counts no further,
// by indexes, so that a call costs little however much is kept. All that one call returns
// is of one moment.
type Counter interface {
	// Stats counts what an organization has; nothing, if nobody has heard of it. If it has
	// more than most vaults, or ever had tokens in more than most scopes, Tokens and Deleted
	// may leave out some, with More.
	Stats(ctx context.Context, org string, most int) (Stats, error)

	// VaultStats counts what a vault has, as Stats does, or returns [ErrNotFound].
	VaultStats(ctx context.Context, org, vault string, most int) (VaultStats, error)

	// StatsAll counts what all organizations have, and what is left of old keys: tokens
	// that are sealed under another version than seal, and fingerprints of retired
	// versions. It is maintenance, and may look into every scope that there is.
	StatsAll(ctx context.Context, seal, most int) (Totals, error)
}

// Stats counts what an organization has: for its dashboard. It is cheap: each number is
// exact up to [mortise.MaxCount], and "at least" that beyond. The error is
// [ErrUnavailable]. An organization that nobody has heard of has nothing.
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

// VaultStats counts what a vault has, and is as cheap as Stats. It is [ErrNotFound] if there
// is no such vault.
func (s *Service) VaultStats(ctx context.Context, org, id string) (VaultStats, error) {
	if !isVaultID(org, id) {
		return VaultStats{}, ErrNotFound
	}
	stats, err := s.store.VaultStats(ctx, org, id, mortise.MaxCount)
	if err != nil {
		return VaultStats{}, unavailable("count what a vault has", err)
	}
	return stats, nil
}

// StatsAll counts what all organizations have together, and what a rotation of the keys
// still has to do: for the metrics of who runs the service. ToRewrap counts what is not
// sealed under the keyring's Versions.Seal. Each number is exact up to [mortise.MaxCount],
// and "at least" that beyond. It takes longer than Stats where there are very many columns.
//
// It does not say how many values [Service.Backfill] has still to look at: that they have a
// fingerprint only a look at each of them tells. [Service.KeyStatus] counts those and all
// others to the end, by version, which takes as long as there are tokens; StatsAll does
// not. Errors are [ErrUnavailable], if the store or the keyring is away.
func (s *Service) StatsAll(ctx context.Context) (Totals, error) {
	versions, err := s.keyring.Versions(ctx)
	if err != nil {
		return Totals{}, unavailable("ask the keyring for its versions", err)
	}
	totals, err := s.store.StatsAll(ctx, versions.Seal, mortise.MaxCount)
	if err != nil {
		return Totals{}, unavailable("count what all organizations have", err)
	}
	return totals, nil
}

package vault

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/steps"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// KeyUsage counts what is stored under the versions of the keys, to the end: it may take
// a while.
func (s *Service) KeyUsage(ctx context.Context) (keyring.Usage, error) {
	usage, err := s.store.KeyUsage(ctx)
	return usage, unavailable("count what is stored under keys", err)
}

// Backfill is the second step of a rotation: it gives every value that lacks one a
// fingerprint of a version, which must be loaded. From its beginning on, every insertion
// needs the version, so all processes must have loaded it: where one has not, its
// insertions fail with [keyring.ErrUnknownKey].
//
// It can run while the vaults are in use, can be cut off at any moment, and then begins
// where it was. Rows that it cannot read stay as they are, and the error names their
// tokens. progress may be nil.
func (s *Service) Backfill(ctx context.Context, version int, progress func(Progress)) error {
	t := s.teller(ctx, mortise.KindBackfilling, progress)
	changed, err := s.backfill(ctx, version, t)
	t.end(mortise.KindBackfilled, changed, err)
	return err
}

func (s *Service) backfill(ctx context.Context, version int, t *teller) (changed int, err error) {
	versions, err := s.versions(ctx)
	if err != nil {
		return 0, err
	}
	if !slices.Contains(fingerprintVersions(versions), version) {
		return 0, fmt.Errorf("fingerprint key of version %d: %w", version, keyring.ErrUnknownKey)
	}
	if err := s.store.RequireKey(ctx, version); err != nil {
		return 0, unavailable("require a key", err)
	}
	usage, err := s.store.KeyUsage(ctx)
	if err != nil {
		return 0, unavailable("count fingerprints", err)
	}
	t.begin(usage.Fingerprints[version], usage.Deterministic)
	return s.eachRow(ctx, t, func(ctx context.Context, after mortise.Cursor) (mortise.Page[Row], error) {
		return s.store.RowsWithoutFingerprint(ctx, version, after, rotationBatch)
	}, func(ahead context.Context, rows []Row) portion {
		found, unread, err := s.fingerprints(ahead, version, rows)
		b := portion{unread: unread, err: err}
		if len(found) > 0 {
			b.store = func() (int, []error, error) { return s.addFingerprints(ctx, version, found) }
		}
		return b
	})
}

// fingerprints computes those of rows, and returns the errors of rows that cannot be read.
func (s *Service) fingerprints(ctx context.Context, version int, rows []Row) (found []RowFingerprint, unread []error, err error) {
	readable, values, unread, err := s.openRows(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	items := make([]keyring.FingerprintItem, len(values))
	for i := range values {
		items[i] = keyring.FingerprintItem{Scope: readable[i].scope(), Value: values[i]}
	}
	fingerprints := make([]keyring.Fingerprint, len(items))
	if err := s.keyring.Fingerprint(ctx, version, items, fingerprints); err != nil {
		return nil, nil, unavailable("compute fingerprints", err)
	}
	found = make([]RowFingerprint, len(items))
	for i := range found {
		found[i] = RowFingerprint{Row: readable[i].ID(), Place: readable[i].Place, Fingerprint: fingerprints[i]}
	}
	return found, unread, nil
}

func (s *Service) addFingerprints(ctx context.Context, version int, found []RowFingerprint) (added int, refused []error, err error) {
	rows, err := s.store.AddFingerprints(ctx, version, found)
	if err != nil {
		return 0, nil, unavailable("store fingerprints", err)
	}
	for _, id := range rows {
		refused = append(refused, &TokenError{id.Token, errSameValue})
	}
	return len(found) - len(rows), refused, nil
}

// errSameValue is the error of a row whose fingerprint is another one's.
var errSameValue = fmt.Errorf("%w: another token of its scope has the same value", keyring.ErrCorrupt)

// Rewrap is the fourth step of a rotation: it seals every value anew that is sealed under
// another version than the keyring's Versions.Seal. It can run while the vaults are in
// use, can be cut off at any moment, and then begins where it was. Rows that it cannot
// read stay as they are, and the error names their tokens. progress may be nil.
func (s *Service) Rewrap(ctx context.Context, progress func(Progress)) error {
	t := s.teller(ctx, mortise.KindRewrapping, progress)
	changed, err := s.rewrap(ctx, t)
	t.end(mortise.KindRewrapped, changed, err)
	return err
}

func (s *Service) rewrap(ctx context.Context, t *teller) (changed int, err error) {
	versions, err := s.versions(ctx)
	if err != nil {
		return 0, err
	}
	usage, err := s.store.KeyUsage(ctx)
	if err != nil {
		return 0, unavailable("count ciphertexts", err)
	}
	t.begin(usage.Sealed[versions.Seal], usage.Rows)
	return s.eachRow(ctx, t, func(ctx context.Context, after mortise.Cursor) (mortise.Page[Row], error) {
		return s.store.RowsNotSealedUnder(ctx, versions.Seal, after, rotationBatch)
	}, func(ahead context.Context, rows []Row) portion {
		resealed, unread, err := s.reseal(ahead, rows)
		b := portion{unread: unread, err: err}
		if len(resealed) > 0 {
			b.store = func() (int, []error, error) {
				changed, err := s.store.Reseal(ctx, resealed)
				return changed, nil, unavailable("store ciphertexts", err)
			}
		}
		return b
	})
}

// reseal seals rows anew, and returns the errors of those that cannot be read.
func (s *Service) reseal(ctx context.Context, rows []Row) (resealed []Resealed, unread []error, err error) {
	readable, values, unread, err := s.openRows(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	items := make([]keyring.SealItem, len(values))
	for i := range values {
		items[i] = keyring.SealItem{Scope: readable[i].scope(), Token: readable[i].Token, Value: values[i]}
	}
	sealed, err := s.keyring.Seal(ctx, items)
	if err != nil {
		return nil, nil, unavailable("seal values", err)
	}
	resealed = make([]Resealed, len(sealed))
	for i := range resealed {
		r := readable[i]
		resealed[i] = Resealed{Row: r.ID(), Place: r.Place, From: r.Sealed, To: sealed[i].Sealed}
	}
	return resealed, unread, nil
}

// Retire is the last step of a rotation: it forgets what is stored under a version, and
// refuses it from then on. Then the keyring need not load it any more. The error is
// [keyring.ErrInUse] as long as something needs the version: the keyring as its primary
// one, a value that has no fingerprint of another required version, or a value that is
// sealed under it. Cut off, it is called again. progress may be nil.
func (s *Service) Retire(ctx context.Context, p keyring.Purpose, version int, progress func(Progress)) error {
	t := s.teller(ctx, mortise.KindKeyRetiring, progress)
	removed, err := s.retire(ctx, p, version, t)
	t.end(mortise.KindKeyRetired, removed, err)
	return err
}

func (s *Service) retire(ctx context.Context, p keyring.Purpose, version int, t *teller) (removed int, err error) {
	versions, err := s.versions(ctx)
	if err != nil {
		return 0, err
	}
	primary := versions.Seal
	switch p {
	case keyring.SealKey:
	case keyring.FingerprintKey:
		primary = versions.Fingerprint
	default:
		var problems problems
		problems.Add("purpose", "must be %q or %q", keyring.FingerprintKey, keyring.SealKey)
		return 0, problems.Err()
	}
	if version == primary {
		return 0, fmt.Errorf("%w: it is the keyring's primary version; promote another one first", keyring.ErrInUse)
	}
	successor := 0
	if p == keyring.FingerprintKey {
		if successor, err = s.successor(ctx, version); err != nil {
			return 0, err
		}
	}
	if err := s.store.RetireKey(ctx, p, version, successor); err != nil {
		return 0, unavailable("retire a key", err)
	}
	if p != keyring.FingerprintKey {
		return 0, nil
	}
	usage, err := s.store.KeyUsage(ctx)
	if err != nil {
		return 0, unavailable("count fingerprints", err)
	}
	t.begin(0, usage.Fingerprints[version])
	removed, err = steps.Run(ctx, "RemoveFingerprints", rotationBatch, func(ctx context.Context, limit int) (int, bool, error) {
		n, more, err := s.store.RemoveFingerprints(ctx, version, limit)
		if n > 0 {
			t.add(n)
		}
		return n, more, err
	})
	return removed, unavailable("remove fingerprints", err)
}

// successor returns a required version that every value has a fingerprint of. That stays
// so: no insertion can lack it any more.
func (s *Service) successor(ctx context.Context, version int) (int, error) {
	keys, err := s.store.Keys(ctx)
	if err != nil {
		return 0, unavailable("list the keys", err)
	}
	for _, k := range keys {
		if !k.Required || k.Version == version {
			continue
		}
		complete, err := s.complete(ctx, k.Version)
		if err != nil {
			return 0, unavailable("look for values without a fingerprint", err)
		}
		if complete {
			return k.Version, nil
		}
	}
	return 0, fmt.Errorf("%w: no other version has a fingerprint of every value; backfill one first", keyring.ErrInUse)
}

// complete reports whether every value has a fingerprint of a version.
func (s *Service) complete(ctx context.Context, version int) (bool, error) {
	for _, err := range pages.Each("", func(after mortise.Cursor) (mortise.Page[Row], error) {
		return s.store.RowsWithoutFingerprint(ctx, version, after, 1)
	}) {
		return false, err
	}
	return true, nil
}

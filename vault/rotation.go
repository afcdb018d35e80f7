package vault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/seed-6363c74e/mortise/internal/oneline"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Progress says how far a step of a rotation is.
type Progress struct {
	Done  int
	Total int // as it was when the step began; it grows while values are inserted
}

// KeyUsage counts what is stored under the versions of the keys, to the end: it may take
// a while. [Service.StatsAll] says which versions there are.
func (s *Service) KeyUsage(ctx context.Context) (keyring.Usage, error) {
	usage, err := s.store.KeyUsage(ctx)
	return usage, unavailable("count what is stored under keys", err)
}

// rotationBatch is how many rows one step of a rotation changes in a transaction.
const rotationBatch = 500

// Backfill is the second step of a rotation: it gives every value that lacks one a
// fingerprint of a version, which must be loaded. From its beginning on, every insertion
// needs the version, so all processes must have loaded it: where one has not, its
// insertions fail with [keyring.ErrUnknownKey].
//
// It can run while the vaults are in use, can be cut off at any moment, and then begins
// where it was. Rows that it cannot read stay as they are, and the error names their
// tokens. progress may be nil.
func (s *Service) Backfill(ctx context.Context, version int, progress func(Progress)) error {
	start := s.start()
	changed, err := s.backfill(ctx, version, progress)
	s.observe(ctx, start, Observation{Kind: KindBackfilled, Items: changed, Err: err})
	return err
}

func (s *Service) backfill(ctx context.Context, version int, progress func(Progress)) (changed int, err error) {
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
	report := reporter(progress, Progress{usage.Fingerprints[version], usage.Deterministic})
	return s.eachRow(ctx, func(after ScanPosition) (RowPage, error) {
		return s.store.RowsWithoutFingerprint(ctx, version, after, rotationBatch)
	}, func(rows []Row, broken *brokenRows) (int, error) {
		refused, added, err := s.addFingerprints(ctx, version, rows, broken)
		for _, id := range refused {
			broken.add(&TokenError{id.Token, errSameValue})
		}
		report(added)
		return added, err
	})
}

func (s *Service) addFingerprints(ctx context.Context, version int, rows []Row, broken *brokenRows) (refused []RowID, added int, err error) {
	readable, values, err := s.openRows(ctx, rows, broken)
	if err != nil {
		return nil, 0, err
	}
	items := make([]keyring.FingerprintItem, len(values))
	for i := range values {
		items[i] = keyring.FingerprintItem{Scope: readable[i].scope(), Value: values[i]}
	}
	fingerprints := make([]keyring.Fingerprint, len(items))
	if err := s.keyring.Fingerprint(ctx, version, items, fingerprints); err != nil {
		return nil, 0, unavailable("compute fingerprints", err)
	}
	found := make([]RowFingerprint, len(items))
	for i := range found {
		found[i] = RowFingerprint{readable[i].ID(), fingerprints[i]}
	}
	if len(found) == 0 {
		return nil, 0, nil
	}
	refused, err = s.store.AddFingerprints(ctx, version, found)
	return refused, len(found) - len(refused), unavailable("store fingerprints", err)
}

// errSameValue is the error of a row whose fingerprint is another one's.
var errSameValue = fmt.Errorf("%w: another token of its scope has the same value", keyring.ErrCorrupt)

// Rewrap is the fourth step of a rotation: it seals every value anew that is sealed under
// another version than the keyring's Versions.Seal. It can run while the vaults are in
// use, can be cut off at any moment, and then begins where it was. Rows that it cannot
// read stay as they are, and the error names their tokens. progress may be nil.
func (s *Service) Rewrap(ctx context.Context, progress func(Progress)) error {
	start := s.start()
	changed, err := s.rewrap(ctx, progress)
	s.observe(ctx, start, Observation{Kind: KindRewrapped, Items: changed, Err: err})
	return err
}

func (s *Service) rewrap(ctx context.Context, progress func(Progress)) (changed int, err error) {
	versions, err := s.versions(ctx)
	if err != nil {
		return 0, err
	}
	usage, err := s.store.KeyUsage(ctx)
	if err != nil {
		return 0, unavailable("count ciphertexts", err)
	}
	report := reporter(progress, Progress{usage.Sealed[versions.Seal], usage.Rows})
	return s.eachRow(ctx, func(after ScanPosition) (RowPage, error) {
		return s.store.RowsNotSealedUnder(ctx, versions.Seal, after, rotationBatch)
	}, func(rows []Row, broken *brokenRows) (int, error) {
		changed, err := s.reseal(ctx, rows, broken)
		report(changed)
		return changed, err
	})
}

func (s *Service) reseal(ctx context.Context, rows []Row, broken *brokenRows) (int, error) {
	readable, values, err := s.openRows(ctx, rows, broken)
	if err != nil {
		return 0, err
	}
	items := make([]keyring.SealItem, len(values))
	for i := range values {
		items[i] = keyring.SealItem{Scope: readable[i].scope(), Token: readable[i].Token, Value: values[i]}
	}
	sealed, err := s.keyring.Seal(ctx, items)
	if err != nil {
		return 0, unavailable("seal values", err)
	}
	resealed := make([]Resealed, len(sealed))
	for i := range resealed {
		resealed[i] = Resealed{readable[i].ID(), readable[i].Sealed, sealed[i].Sealed}
	}
	if len(resealed) == 0 {
		return 0, nil
	}
	changed, err := s.store.Reseal(ctx, resealed)
	return changed, unavailable("store ciphertexts", err)
}

// Retire is the last step of a rotation: it forgets what is stored under a version, and
// refuses it from then on. Then the keyring need not load it any more. The error is
// [keyring.ErrInUse] as long as something needs the version: the keyring as its primary
// one, a value that has no fingerprint of another required version, or a value that is
// sealed under it. Cut off, it is called again. progress may be nil.
func (s *Service) Retire(ctx context.Context, p keyring.Purpose, version int, progress func(Progress)) error {
	start := s.start()
	removed, err := s.retire(ctx, p, version, progress)
	s.observe(ctx, start, Observation{Kind: KindKeyRetired, Items: removed, Err: err})
	return err
}

func (s *Service) retire(ctx context.Context, p keyring.Purpose, version int, progress func(Progress)) (removed int, err error) {
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
		problems.add("purpose", "must be %q or %q", keyring.FingerprintKey, keyring.SealKey)
		return 0, problems.err()
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
	report := reporter(progress, Progress{0, usage.Fingerprints[version]})
	for {
		n, err := s.store.RemoveFingerprints(ctx, version, rotationBatch)
		if removed += n; n > 0 {
			report(n)
		}
		if err != nil || n < rotationBatch {
			return removed, unavailable("remove fingerprints", err)
		}
	}
}

var errStands = fmt.Errorf("%w: the store returned a page that goes on where it began", ErrUnavailable)

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
	var after ScanPosition
	for {
		page, err := s.store.RowsWithoutFingerprint(ctx, version, after, 1)
		if err != nil || len(page.Rows) > 0 {
			return false, err
		}
		if page.Next == "" {
			return true, nil
		}
		if page.Next == after {
			return false, errStands
		}
		after = page.Next
	}
}

// eachRow goes through the pages of a scan and does something with the rows of each. It
// returns what was done, and the rows that could not be read.
func (s *Service) eachRow(
	ctx context.Context, scan func(after ScanPosition) (RowPage, error), do func([]Row, *brokenRows) (int, error),
) (done int, err error) {
	var broken brokenRows
	var after ScanPosition
	for {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		page, err := scan(after)
		if err != nil {
			return done, unavailable("look for rows to change", err)
		}
		if len(page.Rows) > 0 {
			n, err := do(page.Rows, &broken)
			if done += n; err != nil {
				return done, err
			}
		}
		if page.Next == "" {
			return done, broken.err()
		}
		if page.Next == after {
			return done, errStands
		}
		after = page.Next
	}
}

// openRows opens a page of rows. It returns those that can be read, with their values,
// and notes the others.
func (s *Service) openRows(ctx context.Context, rows []Row, broken *brokenRows) (readable []*Row, values []Value, err error) {
	items := make([]keyring.OpenItem, len(rows))
	for i := range rows {
		items[i] = rows[i].open()
	}
	opened, err := s.open(ctx, items)
	if err != nil {
		return nil, nil, err
	}
	for i := range opened {
		if !broken.add(opened[i].Err) {
			readable, values = append(readable, &rows[i]), append(values, opened[i].Value)
		}
	}
	return readable, values, nil
}

// brokenRows are rows that cannot be changed, because they cannot be read.
type brokenRows struct {
	errs     *multierror.Error
	unloaded int // their version of the key is not loaded
	corrupt  int
}

// maxNamed bounds how many broken rows an error names.
const maxNamed = 100

// add notes an error of a row, and reports whether it was one.
func (b *brokenRows) add(err error) bool {
	var of *TokenError
	if !errors.As(err, &of) {
		return false
	}
	if errors.Is(of, keyring.ErrUnknownKey) {
		b.unloaded++
	} else {
		b.corrupt++
	}
	if b.unloaded+b.corrupt <= maxNamed {
		b.errs = multierror.Append(b.errs, of)
	}
	return true
}

func (b *brokenRows) err() error {
	var what []string
	if b.unloaded > 0 { // nobody may be led to delete what a key would open
		what = append(what, fmt.Sprintf("%d values need a version of the key that is not loaded; load it", b.unloaded))
	}
	if b.corrupt > 0 {
		what = append(what, fmt.Sprintf("%d values are corrupt; load the right key, restore them from a backup, or delete their tokens", b.corrupt))
	}
	if len(what) == 0 {
		return nil
	}
	b.errs.ErrorFormat = oneline.Join
	return fmt.Errorf("%s: %w", strings.Join(what, "; "), b.errs)
}

// reporter returns a function that counts and tells progress of it.
func reporter(progress func(Progress), p Progress) func(n int) {
	if progress == nil {
		return func(int) {}
	}
	progress(p)
	return func(n int) {
		p.Done += n
		p.Total = max(p.Total, p.Done)
		progress(p)
	}
}

package vault

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Tokenize returns the tokens of values that were inserted, one for each item, in their
// order. It never inserts anything.
//
// It answers for all items or for none. The error is a [*BatchError] if items are to
// blame, and says which ones. The error is [mortise.ErrNotFound] if there is no such
// vault.
func (s *Service) Tokenize(ctx context.Context, org, vault string, items []Item) ([]string, error) {
	start := s.start()
	tokens, err := s.tokenize(ctx, org, vault, items)
	s.observe(ctx, start, mortise.Observation{Kind: mortise.KindTokenized, Organization: org, Object: vault, Items: len(items), Err: err})
	return tokens, err
}

func (s *Service) tokenize(ctx context.Context, org, vault string, items []Item) (tokens []string, err error) {
	if err := s.checkItems(items, false); err != nil {
		return nil, err
	}
	err = s.withKeys(ctx, func(versions *keyring.Versions) error {
		return s.withVault(ctx, org, vault, func(k *knownVault) error {
			batches, err := resolveItems(k, org, vault, items, func(c *column) error {
				if !c.deterministic {
					return ofColumn(c, ErrNotDeterministic)
				}
				return nil
			})
			if err != nil {
				return err
			}
			if err := s.find(ctx, k, versions, batches); err != nil {
				return err
			}
			tokens, err = s.allTokens(ctx, versions, batches, len(items))
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return tokens, nil
}

// find fills in the tokens that the values of batches have, and the fingerprints of those
// that have none. It begins with the primary version of fingerprints. For what that does
// not know it asks all versions in one call: between two calls, a rotation could move a
// value from the one that is still to be asked to the one that was.
func (s *Service) find(ctx context.Context, k *knownVault, versions *keyring.Versions, batches []*batch) error {
	if err := s.findPrimary(ctx, k, versions.Fingerprint, batches); err != nil || len(versions.Lookup) == 0 {
		return err
	}
	return s.findUnder(ctx, k, fingerprintVersions(versions), batches)
}

// findPrimary looks all values up under the primary version. None has a token yet.
func (s *Service) findPrimary(ctx context.Context, k *knownVault, version int, batches []*batch) error {
	first := batches[0]
	items, lookups := first.values, first.room.lookups[:0]
	if len(batches) > 1 {
		items, lookups = nil, make([]Lookup, 0, len(batches))
		for _, b := range batches {
			items = append(items, b.values...)
		}
	}
	of := first.room.fingerprint[:]
	if len(items) > 1 {
		of = make([]keyring.Fingerprint, len(items))
	}
	if err := s.keyring.Fingerprint(ctx, version, items, of); err != nil {
		return unavailable("compute fingerprints", err)
	}
	for _, b := range batches {
		n := len(b.values)
		b.fingerprints = append(b.room.primary[:0], of[:n:n])
		lookups = append(lookups, Lookup{b.scope.Name, version, of[:n:n]})
		of = of[n:]
	}
	found, err := s.lookUp(ctx, k, first, lookups)
	if err != nil {
		return err
	}
	for i, b := range batches {
		b.tokens = found[i]
	}
	return nil
}

// lookUp asks the store, for the vault of a batch.
func (s *Service) lookUp(ctx context.Context, k *knownVault, of *batch, lookups []Lookup) ([][]string, error) {
	found, err := s.store.FindTokens(ctx, of.scope.Organization, of.scope.Vault, k.revision, lookups)
	if err != nil {
		return nil, unavailable("look values up", ofVault(of.scope.Vault, err))
	}
	if err := answered("the store", len(found), len(lookups)); err != nil {
		return nil, err
	}
	for i := range found {
		if err := answered("the store", len(found[i]), len(lookups[i].Fingerprints)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// findUnder looks the values that have no token up under some versions. The first one
// that has a token counts.
func (s *Service) findUnder(ctx context.Context, k *knownVault, versions []int, batches []*batch) error {
	type question struct {
		batch *batch
		at    []int // the indexes of its values
	}
	if err := s.fingerprint(ctx, versions, batches); err != nil {
		return err
	}
	var lookups []Lookup
	var questions []question // one for each lookup
	for _, b := range batches {
		at := b.withoutToken()
		if len(at) == 0 {
			continue
		}
		for n, version := range versions {
			lookups = append(lookups, Lookup{b.scope.Name, version, b.fingerprintsAt(n, at)})
			questions = append(questions, question{b, at})
		}
	}
	if len(lookups) == 0 {
		return nil
	}
	found, err := s.lookUp(ctx, k, batches[0], lookups)
	if err != nil {
		return err
	}
	for i, q := range questions {
		for j, at := range q.at {
			if q.batch.tokens[at] == "" {
				q.batch.tokens[at] = found[i][j]
			}
		}
	}
	return nil
}

// fingerprint computes the fingerprints of the values that have no token yet, of the
// versions that were not asked for before. It asks for those of all batches at once.
func (s *Service) fingerprint(ctx context.Context, versions []int, batches []*batch) error {
	all := 0
	for _, b := range batches {
		b.missing = 0
		for _, token := range b.tokens {
			if token == "" {
				b.missing++
			}
		}
		all += b.missing
	}
	if all == 0 {
		return nil
	}
	items := make([]keyring.FingerprintItem, 0, all)
	for _, b := range batches {
		for i, token := range b.tokens {
			if token == "" {
				items = append(items, b.values[i])
			}
		}
	}
	for _, version := range versions[len(batches[0].fingerprints):] {
		dst := make([]keyring.Fingerprint, all)
		if err := s.keyring.Fingerprint(ctx, version, items, dst); err != nil {
			return unavailable("compute fingerprints", err)
		}
		for _, b := range batches {
			b.addFingerprints(dst[:b.missing])
			dst = dst[b.missing:]
		}
	}
	return nil
}

// addFingerprints adds those of a version, of the values that have no token.
func (b *batch) addFingerprints(of []keyring.Fingerprint) {
	if len(of) != len(b.values) { // else all have none
		sparse := make([]keyring.Fingerprint, len(b.values))
		n := 0
		for i, token := range b.tokens {
			if token == "" {
				sparse[i] = of[n]
				n++
			}
		}
		of = sparse
	}
	b.fingerprints = append(b.fingerprints, of)
}

// fingerprintsAt returns those of some values, of the nth version.
func (b *batch) fingerprintsAt(n int, at []int) []keyring.Fingerprint {
	if len(at) == len(b.values) {
		return b.fingerprints[n]
	}
	some := make([]keyring.Fingerprint, len(at))
	for i, at := range at {
		some[i] = b.fingerprints[n][at]
	}
	return some
}

// withoutToken returns the indexes of the values that have no token.
func (b *batch) withoutToken() []int {
	at := make([]int, 0, len(b.values))
	for i, token := range b.tokens {
		if token == "" {
			at = append(at, i)
		}
	}
	return at
}

// allTokens returns the tokens of a call's items, or an error that names all that have
// none.
func (s *Service) allTokens(ctx context.Context, versions *keyring.Versions, batches []*batch, n int) ([]string, error) {
	tokens := batches[0].tokens // in the order of the items, if there is no other scope
	if len(batches) > 1 {
		tokens = make([]string, n)
		for _, b := range batches {
			for i, token := range b.tokens {
				tokens[b.items[i]] = token
			}
		}
	}
	if !slices.Contains(tokens, "") {
		return tokens, nil
	}
	if err := s.checkRequired(ctx, versions); err != nil {
		return nil, err
	}
	var errs itemErrors
	for i, token := range tokens {
		if token == "" {
			errs.add(i, ErrValueNotFound)
		}
	}
	return nil, errs.err()
}

package vault

import (
	"context"
)

// Tokenize returns the tokens of values that were inserted, one for each item, in their order. It never inserts anything.
//
// It answers for all items or for none. The error is a [*BatchError] if items are to blame, and says which ones. It is [ErrNotFound] if there is no
// such vault.
func (s *Service) Tokenize(ctx context.Context, org, vault string, items []Item) ([]string, error) {
	start := s.start()
	tokens, err := s.tokenize(ctx, org, vault, items)
	s.observe(ctx, start, Observation{Kind: KindTokenized, Organization: org, Vault: vault, Items: len(items), Err: err})
	return tokens, err
}

func (s *Service) tokenize(ctx context.Context, org, vault string, items []Item) (tokens []string, err error) {
	if err := s.checkItems(items, false); err != nil {
		return nil, err
	}
	err = s.withKeys(ctx, func(versions *Versions) error {
		return s.withVault(ctx, org, vault, func(k *knownVault) error {
			batches, err := resolveItems(k, org, vault, items, func(c *column) error {
				if !c.deterministic {
					return ErrNotDeterministic
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

// find fills in the tokens that the values of batches have. It begins with the primary version of fingerprints. For what that does not know it
// asks all versions in one call: between two calls, a rotation could move a value from the one that is still to be asked to the one that was.
func (s *Service) find(ctx context.Context, k *knownVault, versions *Versions, batches []*batch) error {
	for _, b := range batches {
		b.tokens = make([]string, len(b.values))
	}
	if err := s.findUnder(ctx, k, []int{versions.Fingerprint}, batches); err != nil || len(versions.Lookup) == 0 {
		return err
	}
	return s.findUnder(ctx, k, versions.fingerprints(), batches)
}

// findUnder looks the values that have no token yet up under some versions. The first one that has a token counts.
func (s *Service) findUnder(ctx context.Context, k *knownVault, versions []int, batches []*batch) error {
	type question struct {
		batch *batch
		at    []int // the indexes of its values
	}
	var lookups []Lookup
	var questions []question // one for each lookup
	for _, b := range batches {
		at, values := b.withoutToken()
		if len(values) == 0 {
			continue
		}
		for _, version := range versions {
			fingerprints := make([]Fingerprint, len(values))
			if err := s.keyring.Fingerprint(ctx, version, b.scope, values, fingerprints); err != nil {
				return unavailable("compute fingerprints", err)
			}
			lookups = append(lookups, Lookup{b.scope.Name, version, fingerprints})
			questions = append(questions, question{b, at})
		}
	}
	if len(lookups) == 0 {
		return nil
	}
	found, err := s.store.FindTokens(ctx, batches[0].scope.Organization, batches[0].scope.Vault, k.revision, lookups)
	if err != nil {
		return staleOr("look values up", err)
	}
	if err := answered(len(found), len(lookups)); err != nil {
		return err
	}
	for i, q := range questions {
		if err := answered(len(found[i]), len(q.at)); err != nil {
			return err
		}
		for j, at := range q.at {
			if q.batch.tokens[at] == "" {
				q.batch.tokens[at] = found[i][j]
			}
		}
	}
	return nil
}

// withoutToken returns the values that have no token, and their indexes.
func (b *batch) withoutToken() (at []int, values []string) {
	at = make([]int, 0, len(b.values))
	for i, token := range b.tokens {
		if token == "" {
			at = append(at, i)
		}
	}
	if len(at) == len(b.values) { // as it is at first
		return at, b.values
	}
	for _, i := range at {
		values = append(values, b.values[i])
	}
	return at, values
}

// allTokens returns the tokens of a call's items, or an error that names all that have none.
func (s *Service) allTokens(ctx context.Context, versions *Versions, batches []*batch, n int) ([]string, error) {
	tokens := make([]string, n)
	complete := true
	for _, b := range batches {
		for i, token := range b.tokens {
			tokens[b.items[i]] = token
			complete = complete && token != ""
		}
	}
	if complete {
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

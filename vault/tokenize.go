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

// find fills in the tokens that the values of batches have. It begins with the primary version of fingerprints, and asks the others for what
// that does not know.
func (s *Service) find(ctx context.Context, k *knownVault, versions *Versions, batches []*batch) error {
	missing := make([][]int, len(batches)) // by batch, the indexes of values; nil stands for all
	for n, version := range versions.fingerprints() {
		lookups := make([]Lookup, 0, len(batches))
		asked := make([]int, 0, len(batches)) // the batch of each lookup
		for i, b := range batches {
			values := b.values
			if n > 0 {
				if values = pick(b.values, missing[i]); len(values) == 0 {
					continue
				}
			}
			fingerprints := make([]Fingerprint, len(values))
			if err := s.keyring.Fingerprint(ctx, version, b.scope, values, fingerprints); err != nil {
				return unavailable("compute fingerprints", err)
			}
			lookups = append(lookups, Lookup{b.scope.Name, version, fingerprints})
			asked = append(asked, i)
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
		for l, i := range asked {
			if err := answered(len(found[l]), len(lookups[l].Fingerprints)); err != nil {
				return err
			}
			missing[i] = batches[i].fill(n == 0, missing[i], found[l])
		}
	}
	return nil
}

func pick(values []string, indexes []int) []string {
	picked := make([]string, len(indexes))
	for i, at := range indexes {
		picked[i] = values[at]
	}
	return picked
}

// fill takes over the tokens that were found for all values, or for those that were missing, and returns the indexes of those that still are.
func (b *batch) fill(all bool, asked []int, found []string) (missing []int) {
	if all {
		b.tokens = found
		for i, token := range found {
			if token == "" {
				missing = append(missing, i)
			}
		}
		return missing
	}
	for i, at := range asked {
		if b.tokens[at] = found[i]; found[i] == "" {
			missing = append(missing, at)
		}
	}
	return missing
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

package vaulttest_test

import (
	"crypto/rand"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// sealing makes a mutant of whose batches the items are changed before they are sealed,
// and the results after that.
func sealing(
	items func([]keyring.SealItem), results func([]keyring.SealItem, []keyring.SealResult) []keyring.SealResult,
) func(*keyringMutant) {
	return func(m *keyringMutant) {
		m.seals = func(k keyring.Keyring, of []keyring.SealItem) ([]keyring.SealResult, error) {
			own := slices.Clone(of)
			if items != nil && len(own) > 0 {
				items(own)
			}
			sealed, err := k.Seal(bg, own)
			if err == nil && results != nil && len(sealed) > 0 {
				sealed = results(of, sealed)
			}
			return sealed, err
		}
	}
}

// opening makes a mutant of whose batches the results are changed after they are opened.
func opening(results func([]keyring.OpenItem, []keyring.OpenResult) ([]keyring.OpenResult, error)) func(*keyringMutant) {
	return func(m *keyringMutant) {
		m.opens = func(k keyring.Keyring, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
			opened, err := k.Open(bg, items)
			if err == nil && len(opened) > 0 {
				return results(items, opened)
			}
			return opened, err
		}
	}
}

// gcmOverhead is how much longer a ciphertext of the keyrings behind mutants is than its
// value.
const gcmOverhead = 12 + 16

var batchChanges = []keyringChange{
	{"has other limits each time", "keyring/limits-stay", func(m *keyringMutant) {
		var asked atomic.Int32
		m.limits = func() keyring.Limits { return keyring.Limits{Items: 5000 + int(asked.Add(1))} }
	}},
	{"takes less than it says", "keyring/limits-stay keyring/batch-order", func(m *keyringMutant) {
		m.seals = func(k keyring.Keyring, items []keyring.SealItem) ([]keyring.SealResult, error) {
			if len(items) > 500 {
				return nil, errors.New("too many at once")
			}
			return k.Seal(bg, items)
		}
	}},
	{"returns what it sealed last first", "keyring/batch-order keyring/batch-scopes",
		sealing(nil, func(_ []keyring.SealItem, results []keyring.SealResult) []keyring.SealResult {
			slices.Reverse(results)
			return results
		})},
	{"returns what it opened last first", "keyring/batch-order",
		opening(func(_ []keyring.OpenItem, results []keyring.OpenResult) ([]keyring.OpenResult, error) {
			slices.Reverse(results)
			return results, nil
		})},
	{"leaves the last result out", "keyring/batch-order",
		opening(func(_ []keyring.OpenItem, results []keyring.OpenResult) ([]keyring.OpenResult, error) {
			return results[:max(1, len(results)-1)], nil
		})},
	{"takes the first scope for all fingerprints", "keyring/batch-scopes", func(m *keyringMutant) {
		m.fingerprints = func(k keyring.Keyring, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
			own := slices.Clone(items)
			for i := range own {
				own[i].Scope = own[0].Scope
			}
			return k.Fingerprint(bg, version, own, dst)
		}
	}},
	{"seals all for the first scope", "keyring/batch-scopes keyring/batch-order", sealing(func(items []keyring.SealItem) {
		for i := range items {
			items[i].Scope = items[0].Scope
		}
	}, nil)},
	{"seals all for the first token", "keyring/batch-scopes keyring/batch-order", sealing(func(items []keyring.SealItem) {
		for i := range items {
			items[i].Token = items[0].Token
		}
	}, nil)},
	{"opens whatever a neighbour could open", "keyring/batch-scopes", func(m *keyringMutant) {
		m.opens = func(k keyring.Keyring, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
			results, err := k.Open(bg, items)
			if err != nil {
				return nil, err
			}
			for i := range results {
				own := slices.Clone(items)
				for j := range own {
					own[j].Sealed = items[i].Sealed
				}
				all, _ := k.Open(bg, own)
				for _, r := range all {
					if results[i].Err != nil && r.Err == nil {
						results[i] = r
					}
				}
			}
			return results, nil
		}
	}},
	{"fails for all what fails for one", "keyring/batch-errors",
		opening(func(items []keyring.OpenItem, results []keyring.OpenResult) ([]keyring.OpenResult, error) {
			for _, r := range results {
				if r.Err != nil && len(items) > 1 {
					return nil, r.Err
				}
			}
			return results, nil
		})},
	{"gives up after the first error", "keyring/batch-errors",
		opening(func(_ []keyring.OpenItem, results []keyring.OpenResult) ([]keyring.OpenResult, error) {
			for i := range results {
				if i > 0 && results[i-1].Err != nil {
					results[i] = results[i-1]
				}
			}
			return results, nil
		})},
	{"says of one item's error that it is another's", "keyring/batch-errors",
		opening(func(_ []keyring.OpenItem, results []keyring.OpenResult) ([]keyring.OpenResult, error) {
			for i := range results {
				if i > 0 && errors.Is(results[i].Err, keyring.ErrUnknownKey) {
					results[i], results[i-1] = results[i-1], results[i]
				}
			}
			return results, nil
		})},
	{"opens all with the key of the first", "keyring/batch-versions", func(m *keyringMutant) {
		m.opens = func(k keyring.Keyring, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
			own := slices.Clone(items)
			for i := range own {
				own[i].Sealed.Version = own[0].Sealed.Version
			}
			return k.Open(bg, own)
		}
	}},
	{"fails for no items", "keyring/batch-of-none", func(m *keyringMutant) {
		m.opens = func(k keyring.Keyring, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
			if len(items) == 0 {
				return nil, errors.New("give at least one")
			}
			return k.Open(bg, items)
		}
	}},
	{"answers once for the same item", "keyring/batch-same-twice",
		opening(func(items []keyring.OpenItem, results []keyring.OpenResult) ([]keyring.OpenResult, error) {
			for i := range items {
				for j := range i {
					if items[i].Scope == items[j].Scope && items[i].Token == items[j].Token {
						results[i] = keyring.OpenResult{}
					}
				}
			}
			return results, nil
		})},
	{"seals equal items of a batch once", "keyring/batch-seals-anew",
		sealing(nil, func(items []keyring.SealItem, results []keyring.SealResult) []keyring.SealResult {
			for i := range items {
				for j := range i {
					a, b := items[i], items[j]
					if a.Scope == b.Scope && a.Token == b.Token && a.Value.Reveal() == b.Value.Reveal() {
						results[i] = results[j]
					}
				}
			}
			return results
		})},
	{"has one nonce for a batch", "keyring/batch-seals-anew", func(m *keyringMutant) {
		sealing(nil, func(items []keyring.SealItem, results []keyring.SealResult) []keyring.SealResult {
			stream := make([]byte, 1<<17)
			_, _ = rand.Read(stream)
			for i, it := range items {
				for j, c := range []byte(it.Value.Reveal()) {
					results[i].Sealed.Ciphertext = append(results[i].Sealed.Ciphertext, c^stream[j])
				}
			}
			return results
		})(m)
		m.opens = func(k keyring.Keyring, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
			own := slices.Clone(items)
			for i := range own {
				if c := own[i].Sealed.Ciphertext; len(c) >= gcmOverhead {
					own[i].Sealed.Ciphertext = c[:(len(c)-gcmOverhead)/2+gcmOverhead]
				}
			}
			return k.Open(bg, own)
		}
	}},
	{"writes fingerprints before it looks for the key", "keyring/fingerprint-all-or-none", func(m *keyringMutant) {
		m.fingerprints = func(k keyring.Keyring, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
			err := k.Fingerprint(bg, version, items, dst)
			if err != nil {
				clear(dst)
			}
			return err
		}
	}},
	{"writes as many fingerprints as there is room for", "keyring/fingerprint-all-or-none", func(m *keyringMutant) {
		m.fingerprints = func(k keyring.Keyring, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
			n := min(len(items), len(dst))
			return k.Fingerprint(bg, version, items[:n], dst[:n])
		}
	}},
	{"opens into what it returned before", "keyring/keeps-nothing", func(m *keyringMutant) {
		room := make([]string, 1)
		m.opens = func(k keyring.Keyring, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
			results, err := k.Open(bg, items)
			if err == nil && len(results) == 1 && results[0].Err == nil {
				room[0] += results[0].Value.Reveal()
				results[0].Value = keyring.Values(room)[0]
			}
			return results, err
		}
	}},
}

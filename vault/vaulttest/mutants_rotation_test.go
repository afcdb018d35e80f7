package vaulttest_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

type addFingerprints = func(context.Context, int, []vault.RowFingerprint) ([]vault.RowID, error)

// adding makes a mutant whose AddFingerprints is another one.
func adding(change func(m *mutant, add addFingerprints) addFingerprints) func(*mutant) {
	return func(m *mutant) { m.addFingerprints = change(m, m.addFingerprints) }
}

// fingerprintMutants are wrong about fingerprints of other versions.
var fingerprintMutants = []broken{
	{name: "adds no fingerprints", breaks: []string{
		"rotation/add-fingerprints", "rotation/add-many", "rotation/add-to-rows-that-are-gone", "rotation/add-refuses-what-is-anothers", "store/durable",
	}, mutate: func(m *mutant) {
		m.addFingerprints = func(ctx context.Context, _ int, _ []vault.RowFingerprint) ([]vault.RowID, error) {
			return nil, ctx.Err()
		}
	}},
	{name: "adds fingerprints of one organization", breaks: []string{"rotation/add-fingerprints", "rotation/add-refuses-what-is-anothers"}, mutate: adding(func(_ *mutant, add addFingerprints) addFingerprints {
		return func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
			return add(ctx, version, slices.DeleteFunc(slices.Clone(of), func(f vault.RowFingerprint) bool { return f.Row.Organization != "org-a" }))
		}
	})},
	{name: "refuses rows that have one", breaks: []string{"rotation/add-to-rows-that-have-one", "rotation/add-at-once"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		has := make(map[vault.RowID]bool)
		insert, add := m.insertTokens, m.addFingerprints
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			mu.Lock()
			defer mu.Unlock()
			for i := range tokens {
				has[vault.RowID{Organization: org, Vault: id, Token: tokens[i]}] = len(rows[i].Fingerprints) > 1
			}
			return tokens, err
		}
		m.addFingerprints = func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
			refused, err := add(ctx, version, of)
			mu.Lock()
			defer mu.Unlock()
			for _, f := range of {
				if has[f.Row] {
					refused = append(refused, f.Row)
				}
				has[f.Row] = true
			}
			return refused, err
		}
	}},
	{name: "refuses rows that are gone", breaks: []string{"rotation/add-to-rows-that-are-gone"}, mutate: adding(func(m *mutant, add addFingerprints) addFingerprints {
		return func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
			refused, err := add(ctx, version, of)
			for _, f := range of {
				if !slices.ContainsFunc(m.rowsOf(ctx, f.Row.Organization, f.Row.Vault), func(r vault.Row) bool { return r.Token == f.Row.Token }) {
					refused = append(refused, f.Row)
				}
			}
			return refused, err
		}
	})},
	{name: "refuses all if it refuses one", breaks: []string{"rotation/add-refuses-what-is-anothers"}, mutate: adding(func(_ *mutant, add addFingerprints) addFingerprints {
		return func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
			refused, err := add(ctx, version, of)
			if len(refused) > 0 {
				refused = refused[:0]
				for _, f := range of {
					refused = append(refused, f.Row)
				}
			}
			return refused, err
		}
	})},
	{name: "refuses nothing", breaks: []string{"rotation/add-refuses-what-is-anothers"}, mutate: adding(func(_ *mutant, add addFingerprints) addFingerprints {
		return func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
			_, err := add(ctx, version, of)
			return nil, err
		}
	})},
	{name: "changes what is under retired keys", breaks: []string{
		"rotation/add-of-a-retired-version", "rotation/reseal-under-a-retired-version",
	}, mutate: func(m *mutant) {
		add, reseal := m.addFingerprints, m.reseal
		m.addFingerprints = func(ctx context.Context, version int, of []vault.RowFingerprint) ([]vault.RowID, error) {
			refused, err := add(ctx, version, of)
			if errors.Is(err, keyring.ErrRetired) {
				return nil, nil
			}
			return refused, err
		}
		m.reseal = func(ctx context.Context, rows []vault.Resealed) (int, error) {
			n, err := reseal(ctx, rows)
			if errors.Is(err, keyring.ErrRetired) {
				return len(rows), nil
			}
			return n, err
		}
	}},
	{name: "removes fingerprints of versions in use", breaks: []string{"rotation/remove-of-a-version-in-use"}, mutate: func(m *mutant) {
		remove := m.removeFingerprints
		m.removeFingerprints = func(ctx context.Context, version, limit int) (int, error) {
			n, err := remove(ctx, version, limit)
			if errors.Is(err, keyring.ErrInUse) {
				return 0, nil
			}
			return n, err
		}
	}},
	{name: "removes without a limit", breaks: []string{"rotation/remove-fingerprints", "keys/usage"}, mutate: func(m *mutant) {
		remove := m.removeFingerprints
		m.removeFingerprints = func(ctx context.Context, version, _ int) (int, error) { return remove(ctx, version, 1000) }
	}},
	{name: "removes nothing and counts", breaks: []string{"rotation/remove-fingerprints", "tokens/insert-stores-no-retired-fingerprints", "store/durable-absence"}, mutate: func(m *mutant) {
		m.removeFingerprints = func(ctx context.Context, _, limit int) (int, error) { return min(limit, 3), ctx.Err() }
	}},
	{name: "counts one too many", breaks: []string{"rotation/remove-fingerprints", "rotation/remove-at-once"}, mutate: func(m *mutant) {
		remove := m.removeFingerprints
		m.removeFingerprints = func(ctx context.Context, version, limit int) (int, error) {
			n, err := remove(ctx, version, limit)
			if n > 0 {
				n++
			}
			return n, err
		}
	}},
}

// resealing makes a mutant whose Reseal is another one.
func resealing(change func(m *mutant, reseal reseal) reseal) func(*mutant) {
	return func(m *mutant) { m.reseal = change(m, m.reseal) }
}

type reseal = func(context.Context, []vault.Resealed) (int, error)

// stored returns what is stored of a row.
func (m *mutant) stored(ctx context.Context, id vault.RowID) keyring.Sealed {
	rows, err := m.db.Rows(ctx, id.Organization, id.Vault, []string{id.Token})
	if err != nil {
		return keyring.Sealed{}
	}
	return rows[0].Sealed
}

// resealMutants are wrong about ciphertexts of other versions.
var resealMutants = []broken{
	{name: "reseals whatever is there", breaks: []string{"rotation/reseal-what-is-as-it-was", "rotation/reseal-at-once", "rotation/reseal-many"}, mutate: resealing(func(m *mutant, reseal reseal) reseal {
		var mu sync.Mutex
		return func(ctx context.Context, rows []vault.Resealed) (int, error) {
			mu.Lock() // so that each finds what those before it have resealed
			defer mu.Unlock()
			own := slices.Clone(rows)
			for i := range own {
				own[i].From = m.stored(ctx, own[i].Row)
			}
			return reseal(ctx, own)
		}
	})},
	{name: "compares versions only", breaks: []string{"rotation/reseal-what-is-as-it-was"}, mutate: resealing(func(m *mutant, reseal reseal) reseal {
		return func(ctx context.Context, rows []vault.Resealed) (int, error) {
			own := slices.Clone(rows)
			for i := range own {
				own[i].From.Ciphertext = m.stored(ctx, own[i].Row).Ciphertext
			}
			return reseal(ctx, own)
		}
	})},
	{name: "compares ciphertexts only", breaks: []string{"rotation/reseal-what-is-as-it-was"}, mutate: resealing(func(m *mutant, reseal reseal) reseal {
		return func(ctx context.Context, rows []vault.Resealed) (int, error) {
			own := slices.Clone(rows)
			for i := range own {
				own[i].From.Version = m.stored(ctx, own[i].Row).Version
			}
			return reseal(ctx, own)
		}
	})},
	{name: "counts rows that it does not change", breaks: []string{"rotation/reseal-what-is-as-it-was", "rotation/reseal-many", "rotation/reseal-at-once"}, mutate: resealing(func(_ *mutant, reseal reseal) reseal {
		return func(ctx context.Context, rows []vault.Resealed) (int, error) {
			_, err := reseal(ctx, rows)
			if err != nil {
				return 0, err
			}
			return len(rows), nil
		}
	})},
	{name: "reseals row by row", breaks: []string{"rotation/reseal-under-a-retired-version"}, mutate: resealing(func(_ *mutant, reseal reseal) reseal {
		return func(ctx context.Context, rows []vault.Resealed) (changed int, err error) {
			for i := range rows {
				n, err := reseal(ctx, rows[i:i+1])
				if err != nil {
					return 0, err
				}
				changed += n
			}
			return changed, ctx.Err()
		}
	})},
	{name: "keeps the version of a ciphertext", breaks: []string{"rotation/reseal", "rotation/reseal-many", "keys/retire-seal-in-use", "store/durable"}, mutate: resealing(func(_ *mutant, reseal reseal) reseal {
		return func(ctx context.Context, rows []vault.Resealed) (int, error) {
			own := slices.Clone(rows)
			for i := range own {
				own[i].To.Version = own[i].From.Version
			}
			return reseal(ctx, own)
		}
	})},
	{name: "keeps a slice of the caller's", breaks: []string{"rotation/reseal"}, mutate: func(m *mutant) {
		kept := make(map[string][]byte)
		reseal := m.reseal
		m.reseal = func(ctx context.Context, rows []vault.Resealed) (int, error) {
			for i := range rows {
				kept[rows[i].Row.Organization+rows[i].Row.Token] = rows[i].To.Ciphertext
			}
			return reseal(ctx, rows)
		}
		m.everyRow(func(r *vault.Row) {
			if c, ok := kept[r.Organization+r.Token]; ok {
				r.Sealed.Ciphertext = c
			}
		})
	}},
}

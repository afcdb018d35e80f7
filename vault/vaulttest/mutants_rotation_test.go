package vaulttest_test

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// added calls do with what AddFingerprints is given and refuses.
func added(do func(m *mutant, of []vault.RowFingerprint, refused *[]vault.RowID)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		c.Go()
		do(m, *mutate.Get[[]vault.RowFingerprint](c.In), mutate.Get[[]vault.RowID](c.Out))
	}, "AddFingerprints")
}

// placeMutants are wrong about the places of rows.
var placeMutants = []broken{
	{name: "goes by places", breaks: "rotation/add-whatever-the-place rotation/reseal-whatever-the-place", mutate: placed(
		func(row *vault.RowID, at *vault.RowID) bool {
			if at != nil {
				*row = *at
			}
			return true
		})},
	{name: "leaves out rows that are not in their places", breaks: "rotation/add-whatever-the-place rotation/reseal-whatever-the-place",
		mutate: placed(func(row *vault.RowID, at *vault.RowID) bool { return at != nil && *row == *at })},
}

// placed makes keep decide what is done with the rows that have a place, by the row that
// a scan has found there; nil: none.
func placed(keep func(row *vault.RowID, at *vault.RowID) bool) func(*mutant) {
	return func(m *mutant) {
		var mu sync.Mutex
		found := make(map[int64]*vault.RowID)
		out(func(r *vault.Row) {
			mu.Lock()
			defer mu.Unlock()
			if id := r.ID(); r.Place != 0 {
				found[r.Place] = &id
			}
		}, scans...)(m)
		keeps := func(row *vault.RowID, place int64) bool {
			mu.Lock()
			defer mu.Unlock()
			return place == 0 || keep(row, found[place])
		}
		in(func(of *[]vault.RowFingerprint) {
			all := *of
			*of = nil
			for _, f := range all {
				if keeps(&f.Row, f.Place) {
					*of = append(*of, f)
				}
			}
		}, "AddFingerprints")(m)
		in(func(of *[]vault.Resealed) {
			all := *of
			*of = nil
			for _, r := range all {
				if keeps(&r.Row, r.Place) {
					*of = append(*of, r)
				}
			}
		}, "Reseal")(m)
	}
}

// fingerprintMutants are wrong about fingerprints of other versions.
var fingerprintMutants = []broken{
	{name: "adds no fingerprints",
		breaks: "rotation/add-fingerprints rotation/add-many rotation/add-to-rows-that-are-gone " +
			"rotation/add-refuses-what-is-anothers store/durable",
		mutate: around(func(*mutant, *mutate.Call) {}, "AddFingerprints")},
	{name: "adds fingerprints of one organization", breaks: "rotation/add-fingerprints rotation/add-refuses-what-is-anothers", mutate: in(
		func(of *[]vault.RowFingerprint) {
			*of = slices.DeleteFunc(slices.Clone(*of), func(f vault.RowFingerprint) bool { return f.Row.Organization != "org-a" })
		})},
	{name: "refuses rows that have one", breaks: "rotation/add-to-rows-that-have-one rotation/add-at-once", mutate: func(m *mutant) {
		var mu sync.Mutex
		has := make(map[vault.RowID]bool)
		inserted(func(_ *mutant, c *mutate.Call, token *string, r *vault.Row) {
			mu.Lock()
			defer mu.Unlock()
			has[vault.RowID{Organization: org(c), Vault: id(c), Token: *token}] = len(r.Fingerprints) > 1
		})(m)
		added(func(_ *mutant, of []vault.RowFingerprint, refused *[]vault.RowID) {
			mu.Lock()
			defer mu.Unlock()
			for _, f := range of {
				if has[f.Row] {
					*refused = append(*refused, f.Row)
				}
				has[f.Row] = true
			}
		})(m)
	}},
	{name: "refuses rows that are gone", breaks: "rotation/add-to-rows-that-are-gone", mutate: added(
		func(m *mutant, of []vault.RowFingerprint, refused *[]vault.RowID) {
			for _, f := range of {
				if _, there := m.row(bg, f.Row.Organization, f.Row.Vault, f.Row.Token); !there {
					*refused = append(*refused, f.Row)
				}
			}
		})},
	{name: "refuses all if it refuses one", breaks: "rotation/add-refuses-what-is-anothers", mutate: added(
		func(_ *mutant, of []vault.RowFingerprint, refused *[]vault.RowID) {
			if len(*refused) > 0 {
				*refused = nil
				for _, f := range of {
					*refused = append(*refused, f.Row)
				}
			}
		})},
	{name: "refuses nothing", breaks: "rotation/add-refuses-what-is-anothers", mutate: added(
		func(_ *mutant, _ []vault.RowFingerprint, refused *[]vault.RowID) { *refused = nil })},
	{name: "changes what is under retired keys",
		breaks: "rotation/add-of-a-retired-version rotation/reseal-under-a-retired-version",
		mutate: accepting(keyring.ErrRetired, "AddFingerprints", "Reseal")},
	{name: "removes fingerprints of versions in use", breaks: "rotation/remove-of-a-version-in-use", mutate: accepting(
		keyring.ErrInUse, "RemoveFingerprints")},
	{name: "removes nothing and counts",
		breaks: "tokens/insert-stores-no-retired-fingerprints store/durable-absence",
		mutate: around(func(_ *mutant, c *mutate.Call) { *mutate.Get[int](c.Out) = min(int(c.In[2].Int()), 3) }, "RemoveFingerprints")},
}

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
	{name: "reseals whatever is there",
		breaks: "rotation/reseal-what-is-as-it-was rotation/reseal-at-once rotation/reseal-many",
		mutate: func(m *mutant) {
			var mu sync.Mutex
			in(func(r *vault.Resealed) { r.From = m.stored(bg, r.Row) }, "Reseal")(m)
			around(func(_ *mutant, c *mutate.Call) {
				mu.Lock() // so that each finds what those before it have resealed
				defer mu.Unlock()
				c.Go()
			}, "Reseal")(m)
		}},
	{name: "compares versions only", breaks: "rotation/reseal-what-is-as-it-was", mutate: func(m *mutant) {
		in(func(r *vault.Resealed) { r.From.Ciphertext = m.stored(bg, r.Row).Ciphertext })(m)
	}},
	{name: "compares ciphertexts only", breaks: "rotation/reseal-what-is-as-it-was", mutate: func(m *mutant) {
		in(func(r *vault.Resealed) { r.From.Version = m.stored(bg, r.Row).Version })(m)
	}},
	{name: "counts rows that it does not change",
		breaks: "rotation/reseal-what-is-as-it-was rotation/reseal-many rotation/reseal-at-once",
		mutate: around(
			func(_ *mutant, c *mutate.Call) {
				if c.Go(); *c.Err() == nil {
					*mutate.Get[int](c.Out) = len(*mutate.Get[[]vault.Resealed](c.In))
				}
			}, "Reseal")},
	{name: "reseals row by row", breaks: "rotation/reseal-under-a-retired-version", mutate: around(func(_ *mutant, c *mutate.Call) {
		rows, changed := mutate.Get[[]vault.Resealed](c.In), 0
		for _, r := range *rows {
			*rows = []vault.Resealed{r}
			c.Go()
			changed += *mutate.Get[int](c.Out)
			if *mutate.Get[int](c.Out) = changed; *c.Err() != nil {
				return
			}
		}
	}, "Reseal")},
	{name: "keeps the version of a ciphertext",
		breaks: "rotation/reseal rotation/reseal-many keys/retire-seal-in-use store/durable",
		mutate: in(
			func(r *vault.Resealed) { r.To.Version = r.From.Version })},
	{name: "keeps a slice of the caller's", breaks: "rotation/reseal", mutate: func(m *mutant) {
		kept := make(map[string][]byte)
		in(func(r *vault.Resealed) { kept[r.Row.Organization+r.Row.Token] = r.To.Ciphertext })(m)
		out(func(r *vault.Row) {
			if c, ok := kept[r.Organization+r.Token]; ok {
				r.Sealed.Ciphertext = c
			}
		})(m)
	}},
}

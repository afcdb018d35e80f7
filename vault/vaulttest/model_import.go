package vaulttest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// importTokens imports values under tokens of elsewhere: some that are free, and others
// that are known, of these values or not. The answer may be lost.
func (r *run) importTokens() {
	p, org, name := r.process(), r.org(), r.vaultName()
	v := r.vault(org, name)
	items := r.importItems(v)
	var fault func(string) error
	if r.IntN(4) == 0 {
		fault = On(Nth(1), "Imports.ImportTokens")
	}
	text := ""
	for _, it := range items {
		text += show([]vault.Item{it.Item}) + " as " + it.Token
	}
	r.Say("%s imports into %s/%s%s (answer lost: %v)", p.name, org, name, text, fault != nil)
	call := func() error { return p.Import(r.Context(), org, p.name, name, items) }
	_, err := p.with(fault, "", call)
	lost := fault != nil && errors.Is(err, ErrInjected)
	if lost {
		r.Say("%s tries again", p.name)
		err = call()
	}
	want := v.refusal(valuesOf(items), true)
	var conflicts, tokens []string
	if want == nil {
		if conflicts, tokens = v.importsOf(items); len(conflicts) > 0 {
			want = vault.ErrTokenConflict
		}
	}
	if lost && want != nil {
		r.Fatalf("what should be refused (%v) was done", want)
	}
	if lost {
		r.happened(org, name, mortise.KindImported, tokens...)
	}
	switch {
	case p.agrees(want, err):
		r.happened(org, name, mortise.KindImported, tokens...)
	case errors.Is(err, vault.ErrTokenConflict):
		r.Same("what is in conflict", conflicts, indexesOf(err))
		return
	case !lost:
		return
	}
	for _, it := range items {
		if v.everGiven(it.Token) == nil {
			c, _ := v.find(it.Item)
			v.tokens = append(v.tokens, &modelToken{it.Token, v.scopeOf(it.Item), it.Value.Reveal(), c.kind == vault.Deterministic, false})
		}
	}
}

// importItems returns what to import into a vault.
func (r *run) importItems(v *modelVault) []vault.ImportItem {
	var items []vault.ImportItem
	for _, it := range r.items(v, true)[:1] {
		items = append(items, vault.ImportItem{Item: it, Token: fmt.Sprint("t", r.IntN(200))})
	}
	for range r.IntN(4) {
		items = append(items, vault.ImportItem{Item: r.items(v, true)[0], Token: fmt.Sprint("t", 100+r.IntN(5000))})
	}
	if v == nil || len(v.tokens) == 0 {
		return items
	}
	for i := range items {
		k := pick(r, v.tokens...)
		switch r.IntN(6) {
		case 0:
			items[i].Token = k.token
		case 1, 2: // just as it is, where its column is still there
			for _, c := range columns {
				it := vault.Item{Place: vault.InColumn(c.table, c.column), Value: vault.NewValue(k.value)}
				if v.columns[c.name()] != missing && v.scopeOf(it) == k.scope {
					items[i] = vault.ImportItem{Item: it, Token: k.token}
				}
			}
		}
	}
	if r.IntN(4) == 0 {
		items = append(items, pick(r, items...))
	}
	return items
}

func valuesOf(items []vault.ImportItem) []vault.Item {
	values := make([]vault.Item, len(items))
	for i := range items {
		values[i] = items[i].Item
	}
	return values
}

// indexesOf returns the items that an error is about.
func indexesOf(err error) (indexes []string) {
	var of *vault.BatchError
	if errors.As(err, &of) {
		for _, item := range of.Items {
			indexes = append(indexes, fmt.Sprint(item.Index))
		}
	}
	return indexes
}

// everGiven returns what a token is or was, or nil.
func (v *modelVault) everGiven(token string) *modelToken {
	for _, k := range v.tokens {
		if k.token == token {
			return k
		}
	}
	return nil
}

// importsOf returns which items contradict each other; else those that contradict what is
// there; else the tokens of all.
func (v *modelVault) importsOf(items []vault.ImportItem) (conflicts, tokens []string) {
	pairs := make([]modelToken, len(items))
	for i, it := range items {
		c, _ := v.find(it.Item)
		pairs[i] = modelToken{it.Token, v.scopeOf(it.Item), it.Value.Reveal(), c.kind == vault.Deterministic, false}
	}
	contradict := func(a, b modelToken) bool {
		sameValue := a.deterministic && b.deterministic && a.scope == b.scope && a.value == b.value
		return a != b && (a.token == b.token || sameValue)
	}
	var good []modelToken // of the items so far, those that contradict none
	bad := make(map[int]bool)
	for i := range pairs {
		if slices.ContainsFunc(good, func(k modelToken) bool { return contradict(k, pairs[i]) }) {
			bad[i] = true
		} else {
			good = append(good, pairs[i])
		}
	}
	if len(bad) == 0 {
		for i := range pairs {
			bad[i] = slices.ContainsFunc(v.tokens, func(k *modelToken) bool {
				return k.token == pairs[i].token && *k != pairs[i] || !k.deleted && contradict(*k, pairs[i])
			})
		}
	}
	for i, k := range pairs {
		if bad[i] {
			conflicts = append(conflicts, fmt.Sprint(i))
		}
		if !slices.Contains(tokens, k.token) {
			tokens = append(tokens, k.token)
		}
	}
	return conflicts, tokens
}

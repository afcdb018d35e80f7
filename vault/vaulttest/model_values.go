package vaulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// modelToken is a token that there is or was.
type modelToken struct {
	token, scope, value string
	deterministic       bool
	deleted             bool
}

// modelEvent is what the audit trail says of a call.
type modelEvent struct {
	org, vault string
	at         time.Time
	kind       mortise.Kind
	tokens     []string
}

func (r *run) happened(org, name string, kind mortise.Kind, tokens ...string) {
	r.events = append(r.events, modelEvent{org, name, r.Clock.Now(), kind, tokens})
}

// smallTokens makes tokens that are often taken.
type smallTokens struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func newSmallTokens(r *run) *smallTokens {
	return &smallTokens{rand: rand.New(rand.NewPCG(r.Uint64(), 2))}
}

func (*smallTokens) CheckFormat(string) error { return nil }

func (*smallTokens) Limits() keyring.Limits { return keyring.Limits{} }

func (s *smallTokens) Tokens(_ context.Context, requests []format.Request) ([]format.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	results := make([]format.Result, len(requests))
	for i, r := range requests {
		results[i].Token = fmt.Sprint("t", s.rand.IntN(40<<min(r.Attempt, 20)))
	}
	return results, nil
}

func (*smallTokens) CheckTokens(_ context.Context, pairs []format.Pair) ([]error, error) {
	return make([]error, len(pairs)), nil
}

// value returns a value, more often than not one that was used before.
func (r *run) value() string {
	return pick(r, "", "ann", "bea", "Ann", "ann ", "a\x00", "a", "\xff", "\ufffd", "caf\u00e9", "cafe\u0301", fmt.Sprint(r.IntN(40)), fmt.Sprint(r.IntN(40)))
}

// items returns what to insert into a vault, or to ask for.
func (r *run) items(v *modelVault, insertion bool) []vault.Item {
	items := make([]vault.Item, 1+r.IntN(8))
	for i := range items {
		c := pick(r, columns...)
		it := vault.Item{Place: vault.InColumn(c.table, c.column), Value: vault.NewValue(r.value())}
		switch {
		case r.IntN(10) > 0 && v != nil: // something that works
			for range 20 {
				if c = pick(r, columns...); v.columns[c.name()] != missing && c.kind != vault.NoTokenization && (insertion || c.kind == vault.Deterministic) {
					break
				}
			}
			it.Place = vault.InColumn(c.table, c.column)
		case r.IntN(5) == 0:
			it.Place = vault.InColumn("tables", c.column)
		}
		if !insertion && r.IntN(4) == 0 {
			it.Place = vault.InGroup(groupName)
		}
		items[i] = it
	}
	return items
}

// refusal returns what is wrong with items whatever their values are.
func (v *modelVault) refusal(items []vault.Item, insertion bool) error {
	if v == nil {
		return mortise.ErrNotFound
	}
	var names, kinds error
	for _, it := range items {
		c, at := v.find(it)
		switch {
		case it.Place == vault.InGroup(groupName) && at == missing:
			return vault.ErrGroupNotFound
		case names != nil:
		case at == missing && !v.hasTable(c.table):
			names = vault.ErrTableNotFound
		case at == missing:
			names = vault.ErrColumnNotFound
		case kinds != nil:
		case insertion && c.kind == vault.NoTokenization:
			kinds = vault.ErrNotTokenized
		case !insertion && c.kind != vault.Deterministic:
			kinds = vault.ErrNotDeterministic
		}
	}
	if names != nil {
		return names
	}
	return kinds
}

// scopeOf returns where an item's value is unique.
func (v *modelVault) scopeOf(it vault.Item) string {
	c, at := v.find(it)
	if at == grouped {
		return groupName
	}
	return c.name()
}

// tokenOf returns the token of a value, or nil.
func (v *modelVault) tokenOf(scope, value string) *modelToken {
	for _, k := range v.tokens {
		if k.deterministic && !k.deleted && k.scope == scope && k.value == value {
			return k
		}
	}
	return nil
}

// live returns what a token is, or nil.
func (v *modelVault) live(token string) *modelToken {
	for _, k := range v.tokens {
		if k.token == token && !k.deleted {
			return k
		}
	}
	return nil
}

func show(items []vault.Item) string {
	text := ""
	for _, it := range items {
		text += fmt.Sprintf(" %s=%q", it.Place, it.Value.Reveal())
	}
	return text
}

// learn compares the tokens that an insertion returned with what is known, and adds what
// is new.
func (r *run) learn(v *modelVault, items []vault.Item, tokens []string) {
	r.Helper()
	r.Same("the number of tokens", len(items), len(tokens))
	for i, it := range items {
		c, _ := v.find(it)
		scope, value := v.scopeOf(it), it.Value.Reveal()
		if k := v.tokenOf(scope, value); k != nil && c.kind == vault.Deterministic {
			r.Same("the token of "+show(items[i:i+1]), k.token, tokens[i])
			continue
		}
		if slices.ContainsFunc(v.tokens, func(k *modelToken) bool { return k.token == tokens[i] }) {
			r.Fatalf("%s got the token %s, which was given before", show(items[i:i+1]), tokens[i])
		}
		v.tokens = append(v.tokens, &modelToken{tokens[i], scope, value, c.kind == vault.Deterministic, false})
	}
}

func (r *run) insert() {
	p, org, name := r.process(), r.org(), r.vaultName()
	v := r.vault(org, name)
	items := r.items(v, true)
	var fault func(string) error
	if v != nil && r.IntN(4) == 0 && v.allDeterministic(items) { // the answer is lost; what was random, nobody would know
		fault = On(Nth(1), "Tokens.InsertTokens")
	}
	r.Say("%s inserts into %s/%s%s (answer lost: %v)", p.name, org, name, show(items), fault != nil)
	var tokens []string
	insert := func() (err error) {
		tokens, err = p.Insert(r.Context(), org, p.name, name, items)
		return err
	}
	_, err := p.with(fault, "", insert)
	if fault != nil && errors.Is(err, ErrInjected) {
		r.Say("%s tries again", p.name)
		err = insert()
	}
	if p.agrees(v.refusal(items, true), err) {
		r.learn(v, items, tokens)
	}
}

// insertAtOnce inserts the same values by both services at once, while one of them takes
// a step of a rotation.
func (r *run) insertAtOnce() {
	org, name := r.org(), r.vaultName()
	v := r.vault(org, name)
	if v == nil {
		return
	}
	k, rotating := &r.rotation, r.process()
	batches := [4][]vault.Item{0: r.items(v, true)}
	for i := range batches {
		batches[i] = conformance.Shuffled(r, batches[0])
	}
	r.Say("both insert at once into %s/%s%s while %s rotates", org, name, show(batches[0]), rotating.name)
	var tokens [4][]string
	var errs [5]error
	fill := k.next != 0 && slices.Contains(rotating.loaded, k.next) && r.IntN(2) == 0
	did, _ := rotating.with(nil, "Keys.RequireKey", func() error {
		conformance.Together(len(errs), func(i int) {
			switch {
			case i < len(batches):
				p := r.processes[i%2]
				tokens[i], errs[i] = p.Insert(r.Context(), org, p.name, name, batches[i])
			case fill:
				errs[i] = rotating.Backfill(r.Context(), k.next, nil)
			default:
				errs[i] = rotating.Rewrap(r.Context(), nil)
			}
		})
		return nil
	})
	k.required[k.next] = k.required[k.next] || did
	if r.finished(rotating, nil, errs[4]) && fill {
		k.filled = true
	}
	for i := range batches {
		if r.processes[i%2].agrees(v.refusal(batches[i], true), errs[i]) {
			r.learn(v, batches[i], tokens[i])
		}
	}
}

func (r *run) tokenize() {
	p, org, name := r.process(), r.org(), r.vaultName()
	v := r.vault(org, name)
	items := r.items(v, false)
	if known := v.someKnown(r); len(known) > 0 && r.IntN(2) == 0 {
		items = known
	}
	r.Say("%s tokenizes in %s/%s%s", p.name, org, name, show(items))
	tokens, err := p.Tokenize(r.Context(), org, name, items)
	want := v.refusal(items, false)
	var known []string
	if want == nil {
		for _, it := range items {
			if k := v.tokenOf(v.scopeOf(it), it.Value.Reveal()); k != nil {
				known = append(known, k.token)
			} else {
				want = vault.ErrValueNotFound
			}
		}
	}
	if p.agrees(want, err) {
		r.Same("the tokens", known, tokens)
	}
}

// someKnown returns items of values that have tokens, in columns that are there.
func (v *modelVault) someKnown(r *run) (items []vault.Item) {
	if v == nil {
		return nil
	}
	for _, c := range columns {
		it := vault.Item{Place: vault.InColumn(c.table, c.column)}
		if c.kind != vault.Deterministic || v.columns[c.name()] == missing {
			continue
		}
		for _, k := range v.tokens {
			if k.deterministic && !k.deleted && k.scope == v.scopeOf(it) && len(items) < 50 {
				it.Value = vault.NewValue(k.value)
				items = append(items, it)
			}
		}
	}
	return conformance.Shuffled(r, items)
}

// someTokens returns tokens of a vault: some that are there, and now and then some that
// are not.
func (r *run) someTokens(v *modelVault) []string {
	tokens := make([]string, 1+r.IntN(5))
	for i := range tokens {
		tokens[i] = fmt.Sprint("t", r.IntN(100))
		if v != nil && len(v.tokens) > 0 {
			if k := pick(r, v.tokens...); !k.deleted || r.IntN(8) == 0 {
				tokens[i] = k.token
			}
		}
	}
	return tokens
}

func (r *run) detokenize() {
	p, org, name := r.process(), r.org(), r.vaultName()
	v, tokens := r.vault(org, name), r.someTokens(r.vault(org, name))
	r.Say("%s detokenizes in %s/%s %q", p.name, org, name, tokens)
	items := make([]vault.DetokenizeItem, len(tokens))
	var want []string
	wantErr := error(nil)
	if v == nil {
		wantErr = mortise.ErrNotFound
	}
	for i, token := range tokens {
		items[i].Token = token
		if v == nil {
			continue
		}
		if k := v.live(token); k != nil {
			want = append(want, k.value)
		} else {
			wantErr = vault.ErrTokenNotFound
		}
	}
	got, err := p.Detokenize(r.Context(), org, p.name, name, items, plainText)
	if !p.agrees(wantErr, err) {
		return
	}
	r.happened(org, name, mortise.KindDetokenized, tokens...)
	for i := range got {
		r.Same("the value of "+tokens[i], want[i], got[i].Value.Reveal())
	}
}

func plainText(vault.Field) vault.Redaction { return vault.PlainText }

func (r *run) delete() {
	p, org, name := r.process(), r.org(), r.vaultName()
	v, token := r.vault(org, name), r.someTokens(r.vault(org, name))[0]
	r.Say("%s deletes %s of %s/%s", p.name, token, org, name)
	err := p.Delete(r.Context(), org, p.name, name, token)
	var k *modelToken
	want := mortise.ErrNotFound
	if v != nil {
		if k, want = v.live(token), nil; k == nil {
			want = vault.ErrTokenNotFound
		}
	}
	if p.agrees(want, err) {
		k.deleted = true
		r.happened(org, name, mortise.KindDeleted, token)
	}
}

func (r *run) export() {
	p, org, name := r.process(), r.org(), r.vaultName()
	r.Say("%s exports %s/%s", p.name, org, name)
	r.compareExport(p, org, name)
}

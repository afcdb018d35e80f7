package vaulttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// compareAll compares everything that can be seen, by both services.
func (r *run) compareAll() {
	r.Say("everything is compared")
	for _, org := range []string{orgA, orgB, "org-c"} {
		for _, name := range []string{"v1", "v2"} {
			for _, p := range r.processes {
				r.compareVault(p, org, name)
				r.compareExport(p, org, name)
			}
		}
		r.compareVaults(org)
		r.compareAudit(org)
	}
	r.compareKeys()
}

// compareVaults compares the list of an organization's vaults.
func (r *run) compareVaults(org string) {
	var want, got []string
	for _, name := range []string{"v1", "v2"} {
		if v := r.vault(org, name); v != nil {
			want = append(want, fmt.Sprintf("%s of %s: %v", name, v.updated, schemaOf(v.columns)))
		}
	}
	for v, err := range r.process().Vaults(r.Context(), org) {
		r.SameError(nil, err)
		got = append(got, fmt.Sprintf("%s of %s: %v", v.ID, v.UpdatedAt, v.Schema))
	}
	r.Same("the vaults of "+org, want, got)
}

func (r *run) compareVault(p *process, org, name string) {
	v := r.vault(org, name)
	got, err := p.Vault(r.Context(), org, name)
	if v == nil {
		r.SameError(mortise.ErrNotFound, err)
		return
	}
	r.SameError(nil, err)
	r.Same("its times", []time.Time{v.created, v.updated}, []time.Time{got.CreatedAt, got.UpdatedAt})
	r.Same("the schema", fmt.Sprint(schemaOf(v.columns)), fmt.Sprint(got.Schema))
	for _, k := range v.tokens {
		if k.deleted {
			_, err := p.Detokenize(r.Context(), org, p.name, name, []vault.DetokenizeItem{{Token: k.token}}, plainText)
			p.agrees(vault.ErrTokenNotFound, err)
		}
	}
	if known := v.someKnown(r); len(known) > 0 {
		var want []string
		for _, it := range known {
			want = append(want, v.tokenOf(v.scopeOf(it), it.Value.Reveal()).token)
		}
		tokens, err := p.Tokenize(r.Context(), org, name, known)
		if p.agrees(nil, err) {
			r.Same("the tokens of values", want, tokens)
		}
	}
}

// compareExport compares all tokens of a vault, with their values.
func (r *run) compareExport(p *process, org, name string) {
	v := r.vault(org, name)
	var want, got, tokens []string
	wantErr := error(nil)
	if v == nil {
		wantErr = mortise.ErrNotFound
	} else {
		live := slices.DeleteFunc(slices.Clone(v.tokens), func(k *modelToken) bool { return k.deleted })
		slices.SortFunc(live, func(a, b *modelToken) int { return strings.Compare(a.token, b.token) })
		for _, k := range live {
			want, tokens = append(want, fmt.Sprintf("%s %s %q", k.token, k.scope, k.value)), append(tokens, k.token)
		}
	}
	var err error
	for e, failure := range p.Export(r.Context(), org, p.name, name, plainText) {
		if err = failure; err == nil {
			got = append(got, fmt.Sprintf("%s %s %q", e.Token, e.Scope, e.Value.Reveal()))
		}
		if len(got) > len(want) {
			break // it may have no end
		}
	}
	if !p.agrees(wantErr, err) {
		return
	}
	r.Same("the tokens of "+org+"/"+name, want, got)
	if len(tokens) > 0 {
		r.happened(org, name, mortise.KindExported, tokens...)
	}
}

// compareAudit compares the trail, which orders events of one time by IDs that the model
// does not know.
func (r *run) compareAudit(org string) {
	q := vault.AuditQuery{Kind: pick(r, "", "", mortise.KindDeleted, mortise.KindDetokenized), Vault: pick(r, "", "v2"), Limit: 1 + r.IntN(200)}
	line := func(e modelEvent) string {
		return fmt.Sprintf("%s %s of %s with %q", e.at.Format(time.RFC3339Nano), e.kind, e.vault, e.tokens)
	}
	var want, got []string
	for _, e := range r.events {
		if e.org == org && cmp.Or(q.Kind, e.kind) == e.kind && cmp.Or(q.Vault, e.vault) == e.vault {
			want = append(want, line(e))
		}
	}
	var last mortise.Position
	for e, err := range r.process().AuditEvents(r.Context(), org, q) {
		r.SameError(nil, err)
		if len(got) > 0 && last.Compare(e.Position()) <= 0 {
			r.Fatalf("the audit trail of %s is out of order at %v", org, e.Position())
		}
		last = e.Position()
		var tokens []string
		for _, k := range e.Tokens {
			tokens = append(tokens, k.Token)
		}
		got = append(got, line(modelEvent{e.Organization, e.Vault, e.At, e.Kind, tokens}))
	}
	slices.Sort(want)
	slices.Sort(got)
	r.Same("the audit trail of "+org, want, got)
}

// compareKeys compares what is known of the keys, and what is stored under them.
func (r *run) compareKeys() {
	k := &r.rotation
	usage, err := r.process().KeyUsage(r.Context())
	r.SameError(nil, err)
	keys, err := r.backend.Store.Keys(r.Context())
	r.SameError(nil, err)
	for _, key := range keys {
		r.Same(fmt.Sprintf("whether %s key %d is retired", key.Purpose, key.Version), k.retired[modelKey{key.Purpose, key.Version}], key.Retired)
		r.Same(fmt.Sprintf("whether %s key %d is required", key.Purpose, key.Version), key.Purpose == keyring.FingerprintKey && k.required[key.Version], key.Required)
	}
	rows, deterministic := 0, 0
	for _, v := range r.vaults {
		for _, t := range v.tokens {
			if !t.deleted {
				rows++
				if t.deterministic {
					deterministic++
				}
			}
		}
	}
	u := &usage
	r.Same("rows", []int{rows, deterministic}, []int{u.Rows, u.Deterministic})
	sealed := 0
	for version, n := range u.Sealed {
		sealed += n
		if n > 0 && k.retired[modelKey{keyring.SealKey, version}] {
			r.Fatalf("%d rows are sealed under version %d, which is retired", n, version)
		}
	}
	r.Same("sealed rows", rows, sealed)
	for version := range k.removed {
		r.Same(fmt.Sprint("fingerprints of version ", version), 0, u.Fingerprints[version])
	}
	if k.filled {
		r.Same("fingerprints of the next version", deterministic, u.Fingerprints[max(k.next, k.current)])
	}
}

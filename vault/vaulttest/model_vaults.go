package vaulttest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// modelColumn is a column that the vaults of the model may have.
type modelColumn struct {
	table, column string
	kind          vault.Tokenization
}

func (c modelColumn) name() string { return c.table + "." + c.column }

var columns = []modelColumn{
	{"persons", "email", vault.Deterministic}, {"persons", "contact", vault.Deterministic}, {"orders", "email", vault.Deterministic},
	{"persons", "name", vault.Deterministic}, {"persons", "phone", vault.Random}, {"orders", "note", vault.NoTokenization},
}

// place is where the values of a column are, in a schema.
type place int

const (
	missing place = iota // the schema has no such column
	alone
	grouped
)

// groupName is the only group.
const groupName = "emails"

// modelVault is a vault and all tokens that it ever gave.
type modelVault struct {
	org, name        string
	columns          map[string]place
	last             map[string]place // where each column was when it was there last
	tokens           []*modelToken
	created, updated time.Time
}

func (r *run) org() string       { return pick(r, orgA, orgA, orgB) }
func (r *run) vaultName() string { return pick(r, "v1", "v1", "v1", "v2") }

// vault returns a vault, or nil.
func (r *run) vault(org, name string) *modelVault {
	for _, v := range r.vaults {
		if v.org == org && v.name == name {
			return v
		}
	}
	return nil
}

// find returns the column of an item, and where it is; of a group, the first column. One
// that no vault has is the zero modelColumn.
func (v *modelVault) find(it vault.Item) (modelColumn, place) {
	for _, c := range columns {
		at := v.columns[c.name()]
		if it.Place == vault.InGroup(groupName) && at == grouped || it.Place == vault.InColumn(c.table, c.column) {
			return c, at
		}
	}
	return modelColumn{}, missing
}

func (v *modelVault) hasTable(table string) bool {
	return slices.ContainsFunc(columns, func(c modelColumn) bool { return c.table == table && v.columns[c.name()] != missing })
}

func (v *modelVault) allDeterministic(items []vault.Item) bool {
	return !slices.ContainsFunc(items, func(it vault.Item) bool { c, at := v.find(it); return at == missing || c.kind != vault.Deterministic })
}

// somePlaces returns where columns may be.
func (r *run) somePlaces() map[string]place {
	places := make(map[string]place)
	for _, c := range columns {
		places[c.name()] = pick(r, missing, alone, alone, alone)
		if c.kind == vault.Deterministic && c.column != "name" && r.IntN(2) == 0 {
			places[c.name()] = grouped
		}
	}
	return places
}

// schemaOf returns the schema with columns at their places. A table without columns is
// none.
func schemaOf(places map[string]place) vault.Schema {
	var s vault.Schema
	for _, table := range []string{"persons", "orders"} {
		t := vault.Table{Name: table}
		for _, c := range columns {
			if at := places[c.name()]; c.table == table && at != missing {
				group := ""
				if at == grouped {
					group = groupName
				}
				t.Columns = append(t.Columns, vault.Column{Name: c.column, Tokenization: c.kind, Group: group})
			}
		}
		if len(t.Columns) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	return s
}

func (r *run) createVault() {
	p, org, name, places := r.process(), r.org(), r.vaultName(), r.somePlaces()
	r.Say("%s makes the vault %s/%s", p.name, org, name)
	_, err := p.CreateVault(r.Context(), org, p.name, name, schemaOf(places))
	var want error
	if r.vault(org, name) != nil {
		want = mortise.ErrExists
	}
	if r.SameError(want, err) {
		r.vaults = append(r.vaults, &modelVault{org: org, name: name, created: r.Clock.Now(), updated: r.Clock.Now()})
		r.vault(org, name).move(places)
		r.happened(org, name, mortise.KindVaultCreated)
	}
}

// move takes the columns to their places.
func (v *modelVault) move(places map[string]place) {
	if v.last == nil {
		v.last = make(map[string]place)
	}
	v.columns = places
	for name, at := range places {
		if at != missing {
			v.last[name] = at
		}
	}
}

// inUse says whether a scope has values.
func (v *modelVault) inUse(scope string) bool {
	return slices.ContainsFunc(v.tokens, func(k *modelToken) bool { return k.deterministic && !k.deleted && k.scope == scope })
}

// refusesPlaces says whether a change would take values away from their tokens: a column
// with tokens enters the group, or leaves it.
func (v *modelVault) refusesPlaces(places map[string]place) bool {
	for _, c := range columns {
		before, after := v.last[c.name()], places[c.name()]
		if after == grouped && v.inUse(c.name()) || before == grouped && after == alone && v.inUse(groupName) {
			return true
		}
	}
	return false
}

var errNoChange = errors.New("no change")

func (r *run) changeSchema() {
	p, org, name := r.process(), r.org(), r.vaultName()
	v, places := r.vault(org, name), r.somePlaces()
	if v != nil {
		some := pick(r, columns...).name()
		for name, at := range v.columns {
			if name != some || r.IntN(5) == 0 { // as a rule one column changes
				places[name] = at
			}
		}
	}
	var words []string
	for _, c := range columns {
		words = append(words, fmt.Sprint(c.name(), []string{" missing", "", " grouped"}[places[c.name()]]))
	}
	cancel := r.IntN(10) == 0
	r.Say("%s changes the schema of %s/%s to %s (cancelled: %v)", p.name, org, name, strings.Join(words, ", "), cancel)
	_, err := p.ChangeSchema(r.Context(), org, p.name, name, func(s *vault.Schema) error {
		*s = schemaOf(places)
		if cancel {
			return errNoChange
		}
		return nil
	})
	var want error
	switch {
	case v == nil:
		want = mortise.ErrNotFound
	case cancel:
		want = errNoChange
	case v.refusesPlaces(places):
		want = vault.ErrScopeInUse
	}
	if r.SameError(want, err) {
		v.move(places)
		v.updated = r.Clock.Now()
		r.happened(org, name, mortise.KindSchemaChanged)
	}
}

package vault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// CreateVault makes a vault. The error is [mortise.ErrExists] if the organization has
// one of this ID, [mortise.ErrDeleted] if it had one that was deleted, or was deleted
// itself. For a vault that a program needs at every start there is
// [Service.EnsureVault].
func (s *Service) CreateVault(ctx context.Context, org string, by mortise.Actor, id string, schema Schema) (Vault, error) {
	start := s.start()
	v, err := s.createVault(ctx, org, by, id, schema)
	s.observe(ctx, start, mortise.Observation{Kind: mortise.KindVaultCreated, Organization: org, Object: id, Actor: by, Items: 1, Err: err})
	return v, err
}

func (s *Service) createVault(ctx context.Context, org string, by mortise.Actor, id string, schema Schema) (Vault, error) {
	if err := s.checkVault(org, id, &schema); err != nil {
		return Vault{}, err
	}
	now := s.now()
	v := Vault{Organization: org, ID: id, Schema: schema.Clone(), Revision: 1, CreatedAt: now, UpdatedAt: now}
	v.remember()
	if err := s.putVault(ctx, &v, nil, mortise.KindVaultCreated, by); err != nil {
		return Vault{}, err
	}
	return v, nil
}

// checkVault finds everything that is wrong with a new vault.
func (s *Service) checkVault(org, id string, schema *Schema) error {
	var p problems
	p.Name("organization", org)
	if p.Name("id", id); isDots(id) {
		p.Add("id", "must not be . or ..: the ID stands in paths")
	}
	schema.check(&p, s.opts.Tokenizer)
	return p.Err()
}

// Vault returns a vault, or [mortise.ErrNotFound].
func (s *Service) Vault(ctx context.Context, org, id string) (Vault, error) {
	if !isVaultID(org, id) {
		return Vault{}, ofVault(id, mortise.ErrNotFound)
	}
	v, err := s.store.Vault(ctx, org, id)
	return v, unavailable("read a vault", ofVault(id, err))
}

// isVaultID reports whether these can be the names of a vault. A store need not know how
// to look for others.
func isVaultID(org, id string) bool { return name.Problem(org) == "" && name.Problem(id) == "" }

// isDots reports whether an ID would be taken for a step in a path.
func isDots(id string) bool { return id == "." || id == ".." }

// ChangeSchema changes a vault's schema by a function, which may be called more than
// once. No token changes: tokens of columns that are gone can still be detokenized and
// deleted, and are found again when the column comes back.
//
// A column that has tokens can neither enter a column group nor leave one: its values
// would lose their tokens. That is [ErrScopeInUse].
func (s *Service) ChangeSchema(ctx context.Context, org string, by mortise.Actor, id string, change func(*Schema) error) (Vault, error) {
	start := s.start()
	v, err := s.changeSchema(ctx, org, by, id, change)
	s.observe(ctx, start, mortise.Observation{Kind: mortise.KindSchemaChanged, Organization: org, Object: id, Actor: by, Items: 1, Err: err})
	return v, err
}

func (s *Service) changeSchema(ctx context.Context, org string, by mortise.Actor, id string, change func(*Schema) error) (Vault, error) {
	for {
		before, err := s.Vault(ctx, org, id)
		if err != nil {
			return Vault{}, err
		}
		after := before.Clone()
		if err := change(&after.Schema); err != nil {
			return Vault{}, err
		}
		after.Schema = after.Schema.Clone() // what the function keeps of it is its own
		var p problems
		after.Schema.check(&p, s.opts.Tokenizer)
		if err := p.Err(); err != nil {
			return Vault{}, err
		}
		after.Revision++
		after.UpdatedAt = s.now()
		after.remember()
		err = s.putVault(ctx, &after, leftScopes(&before, &after), mortise.KindSchemaChanged, by)
		switch {
		case errors.Is(err, ErrConflict) && ctx.Err() == nil:
			continue
		case err != nil:
			return Vault{}, err
		}
		return after, nil
	}
}

func (s *Service) putVault(ctx context.Context, v *Vault, left []string, kind mortise.Kind, by mortise.Actor) error {
	e, err := s.event(v.Organization, v.ID, kind, by)
	if err != nil {
		return err
	}
	schema := v.Schema.Clone()
	e.Schema = &schema
	if err := s.store.PutVault(ctx, v.Clone(), left, e); err != nil {
		return unavailable("store a vault", ofVault(v.ID, err))
	}
	return nil
}

// leftScopes returns the scopes whose values a change takes away from a column: the one
// that it was in when it was deterministic last.
func leftScopes(before, after *Vault) []string {
	old := make(map[[2]string]string)
	for _, c := range before.Past {
		f := Field{Table: c.Table, Column: c.Column, Group: c.Group}
		old[[2]string{c.Table, c.Column}] = scopeName(&f)
	}
	var left []string
	add := func(scope string) {
		if !slices.Contains(left, scope) {
			left = append(left, scope)
		}
	}
	for f := range after.fields {
		if !f.deterministic {
			continue
		}
		name := f.scope
		if was, ok := old[[2]string{f.Table, f.Column}]; ok && was != name {
			add(was)
		}
	}
	return left
}

// column is a field of a schema and what becomes of its values.
type column struct {
	Field
	scope         string // see scopeName
	tokenized     bool
	deterministic bool
	novelty       *novelty // the scope's, see newKnownVault
}

// fields iterates over the columns of a vault.
func (v *Vault) fields(yield func(*column) bool) {
	for i := range v.Schema.Tables {
		t := &v.Schema.Tables[i]
		for j := range t.Columns {
			c := &t.Columns[j]
			f := column{
				Field: Field{Organization: v.Organization, Vault: v.ID, Table: t.Name, Column: c.Name,
					Group: c.Group, Format: c.Format, Mask: c.Mask},
				tokenized:     c.Tokenization == Deterministic || c.Tokenization == Random,
				deterministic: c.Tokenization == Deterministic,
			}
			f.scope = scopeName(&f.Field)
			if !yield(&f) {
				return
			}
		}
	}
}

// knownVault is a vault as it was at some revision, with its columns in a form to look
// things up in. It does not change, but for the novelty of its scopes.
type knownVault struct {
	revision int64
	tables   map[string]map[string]*column
	groups   map[string]*column   // the first column of each
	scopes   map[string][]*column // by scope
	past     map[string][]Field   // by scope, columns that were in it and are no longer
}

func newKnownVault(v *Vault) *knownVault {
	k := &knownVault{revision: v.Revision, tables: make(map[string]map[string]*column), groups: make(map[string]*column), scopes: make(map[string][]*column),
		past: make(map[string][]Field)}
	for i := range v.Schema.Tables {
		k.tables[v.Schema.Tables[i].Name] = make(map[string]*column)
	}
	for c := range v.fields {
		k.tables[c.Table][c.Column] = c
		if same := k.scopes[c.scope]; len(same) > 0 {
			c.novelty = same[0].novelty
		} else {
			c.novelty = new(novelty)
		}
		k.scopes[c.scope] = append(k.scopes[c.scope], c)
		if c.Group != "" && k.groups[c.Group] == nil {
			k.groups[c.Group] = c
		}
	}
	for _, p := range v.Past {
		f := Field{Organization: v.Organization, Vault: v.ID, Table: p.Table, Column: p.Column, Group: p.Group}
		scope := scopeName(&f)
		if !slices.ContainsFunc(k.scopes[scope], func(c *column) bool { return c.Table == p.Table && c.Column == p.Column }) {
			k.past[scope] = append(k.past[scope], f)
		}
	}
	return k
}

// column finds a column by its names.
func (k *knownVault) column(table, name string) (*column, error) {
	t, ok := k.tables[table]
	if !ok {
		return nil, &namedError{err: ErrTableNotFound, join: " ", name: table, none: true}
	}
	c, ok := t[name]
	if !ok {
		return nil, &namedError{err: ErrColumnNotFound, join: " ", name: name, in: table, none: true}
	}
	return c, nil
}

// vaultCache remembers schemas. It needs no end: the store refuses a revision that is not
// the vault's any more. One that was never committed does not belong here: its revision may
// become another schema's.
type vaultCache struct {
	mu     sync.RWMutex
	vaults map[[2]string]*knownVault
}

// maxKnownVaults bounds the cache. Hosts with more vaults read their schemas more often.
const maxKnownVaults = 1024

func (c *vaultCache) get(org, id string) *knownVault {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.vaults[[2]string{org, id}]
}

func (c *vaultCache) put(org, id string, k *knownVault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.vaults == nil || len(c.vaults) >= maxKnownVaults {
		c.vaults = make(map[[2]string]*knownVault)
	}
	c.vaults[[2]string{org, id}] = k
}

// withVault calls do with the vault as the service remembers it. If the store has another
// revision by now, it calls do again, with that.
func (s *Service) withVault(ctx context.Context, org, id string, do func(*knownVault) error) error {
	known := s.vaults.get(org, id)
	const tries = 10 // a vault whose schema changes faster than that is no use to anybody
	for range tries {
		remembered := known != nil
		if !remembered {
			var err error
			if known, err = s.rememberVault(ctx, org, id); err != nil {
				return err
			}
		}
		err := do(known)
		if err == nil {
			return nil
		}
		var refused *BatchError
		switch {
		case errors.Is(err, ErrConflict):
			known = nil
		case remembered && errors.As(err, &refused) && !errors.Is(err, ErrValueNotFound): // perhaps by a schema of yesterday
			now, readErr := s.rememberVault(ctx, org, id)
			if readErr != nil {
				return readErr
			}
			if now.revision == known.revision {
				return err
			}
			known = now
		default:
			return err
		}
	}
	return fmt.Errorf("%w: the schema changes without end", mortise.ErrUnavailable)
}

// rememberVault reads a vault.
func (s *Service) rememberVault(ctx context.Context, org, id string) (*knownVault, error) {
	v, err := s.Vault(ctx, org, id)
	if err != nil {
		return nil, err
	}
	known := newKnownVault(&v)
	if !s.hosted(ctx) {
		s.vaults.put(org, id, known)
	}
	return known, nil
}

package memory

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// deletedVaults is what was deleted of an organization: the marks, and what has not been
// removed yet. It is out of the way of everything else.
type deletedVaults struct {
	all    bool                 // the organization was deleted
	since  time.Time            // when it was
	vaults map[string]time.Time // when a vault of an organization that is there was deleted, by ID

	rest  map[string]*vaultEntry // vaults that may have rows, by ID
	audit []vault.AuditEvent     // of an organization that was deleted
}

// deletedOf returns what was deleted of an organization.
func (t *vaultTables) deletedOf(org string) *deletedVaults {
	d, ok := t.deleted[org]
	if !ok {
		d = &deletedVaults{vaults: make(map[string]time.Time), rest: make(map[string]*vaultEntry)}
		t.deleted[org] = d
	}
	return d
}

// isDeleted reports whether a vault was deleted, or its organization was.
func (t *vaultTables) isDeleted(org, id string) bool {
	d, ok := t.deleted[org]
	if !ok || d.all {
		return ok
	}
	_, ok = d.vaults[id]
	return ok
}

// isGoing reports whether a row is of a vault that was deleted.
func (t *vaultTables) isGoing(r *vaultRow) bool {
	if t.going == 0 { // as a rule
		return false
	}
	_, there := t.vaults[ownedID{r.Organization, r.Vault}]
	return !there
}

// MarkDeleted implements [vault.Deletion].
func (s *Vault) MarkDeleted(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (since time.Time, err error) {
	db, err := s.db.write(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer db.end()
	t := &db.vault
	d := t.deletedOf(org)
	if d.all {
		return d.since, nil
	}
	d.all, d.since = true, at.UTC()
	for _, id := range t.ids[org] {
		t.takeAway(d, ownedID{org, id})
	}
	delete(t.ids, org)
	d.vaults, d.audit = nil, t.audit[org]
	delete(t.audit, org)
	t.addEvent(a)
	db.revocations.count(at)
	return d.since, nil
}

// takeAway moves a vault to what is to be removed.
func (t *vaultTables) takeAway(d *deletedVaults, id ownedID) {
	d.rest[id.id] = t.vaults[id]
	delete(t.vaults, id)
	t.going++
}

// RemoveDeleted implements [vault.Deletion].
func (s *Vault) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	db, err := s.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	t := &db.vault
	d, ok := t.deleted[org]
	if !ok || !d.all {
		return 0, false, mortise.ErrNotFound
	}
	step := boundedStep{limit: limit}
	for id := range d.rest {
		t.remove(d, id, &step)
	}
	events := 0
	for range d.audit {
		if !step.takes(true) {
			break
		}
		events++
	}
	clear(d.audit[:events])
	if d.audit = d.audit[events:]; !step.more {
		d.rest, d.audit = nil, nil
	}
	return step.n, step.more, nil
}

// remove removes rows of a vault, and at last the vault, each of which the step counts.
func (t *vaultTables) remove(d *deletedVaults, id string, step *boundedStep) {
	e, ok := d.rest[id]
	if !ok {
		return
	}
	for token, r := range e.rows {
		if !step.takes(true) {
			return
		}
		t.rows[r.place] = nil // the others keep their places, which are positions of scans
		delete(e.rows, token)
	}
	if step.takes(true) {
		delete(d.rest, id)
		t.going--
	}
}

// MarkVaultDeleted implements [vault.Deletion].
func (s *Vault) MarkVaultDeleted(
	ctx context.Context, org, id string, at time.Time, a vault.AuditEvent,
) (since time.Time, err error) {
	db, err := s.db.write(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer db.end()
	t := &db.vault
	if _, there := t.vaults[ownedID{org, id}]; !there {
		if d, ok := t.deleted[org]; ok {
			if since, ok = d.vaults[id]; ok {
				return since, nil
			}
		}
		return time.Time{}, mortise.ErrNotFound
	}
	d := t.deletedOf(org)
	t.takeAway(d, ownedID{org, id})
	t.removeID(ownedID{org, id})
	d.vaults[id] = at.UTC()
	t.addEvent(a)
	db.revocations.count(at)
	return d.vaults[id], nil
}

// RemoveDeletedVault implements [vault.Deletion].
func (s *Vault) RemoveDeletedVault(ctx context.Context, org, id string, limit int) (n int, more bool, err error) {
	db, err := s.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	d, ok := db.vault.deleted[org]
	if ok {
		_, ok = d.vaults[id]
	}
	if !ok {
		return 0, false, mortise.ErrNotFound
	}
	step := boundedStep{limit: limit}
	db.vault.remove(d, id, &step)
	return step.n, step.more, nil
}

package vaultdb

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/vault"
)

const (
	deletedVaultOrg = "SELECT at, rest FROM @.vault_deleted_orgs WHERE organization = $1"
	markVaultOrg    = "INSERT INTO @.vault_deleted_orgs (organization, at, rest) VALUES ($1, $2, true)"
	markVault       = "UPDATE @.vault_vaults SET (deleted_at, rest, schema) = ($2, true, '') WHERE seq = $1"
	vaultIsRemoved  = "UPDATE @.vault_vaults SET rest = false WHERE seq = $1"
	vaultHasRest    = "SELECT rest FROM @.vault_vaults WHERE seq = $1"
	orgIsRemoved    = "UPDATE @.vault_deleted_orgs SET rest = false WHERE organization = $1"

	anyVault      = "SELECT seq FROM @.vault_vaults WHERE organization = $1 ORDER BY id LIMIT 1"
	removeVault   = "DELETE FROM @.vault_vaults WHERE seq = $1"
	someTokens    = "SELECT seq FROM @.vault_tokens WHERE vault = $1 ORDER BY token LIMIT $2 FOR UPDATE"
	removeTokens  = "DELETE FROM @.vault_tokens WHERE seq = ANY ($1::bigint[])"
	removeScopes  = "DELETE FROM @.vault_scopes WHERE seq = ANY (ARRAY(SELECT seq FROM @.vault_scopes WHERE vault = $1 ORDER BY name LIMIT $2 FOR UPDATE))"
	removeVaultEv = "DELETE FROM @.vault_audit WHERE ctid = ANY (ARRAY(SELECT ctid FROM @.vault_audit" +
		" WHERE organization = $1 AND NOT mark ORDER BY at, id LIMIT $2 FOR UPDATE))"
)

// vaultOrgIsDeleted reports whether an organization was deleted.
func vaultOrgIsDeleted(s *engine.Session, org string) (bool, error) {
	return s.Exists(deletedVaultOrg, org)
}

// MarkDeleted implements [vault.Deletion].
func (s *Store) MarkDeleted(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (since time.Time, err error) {
	event, err := newVaultEvent(&a)
	if err != nil {
		return time.Time{}, err
	}
	err = s.db.Transact(ctx, org, func(q *engine.Session) error {
		if err := q.Lock(lockVaultOrg, org, false); err != nil {
			return err
		}
		var first pgtype.Timestamptz
		var rest bool
		err := q.Row(deletedVaultOrg, []any{org}, &first, &rest)
		since = sqltext.TimeOf(first)
		if !engine.IsNoRow(err) {
			return err
		}
		since = at.UTC().Truncate(time.Microsecond)
		if _, err := q.Exec(markVaultOrg, org, sqltext.Bound(at)); err != nil {
			return err
		}
		if err := q.TookAway(at); err != nil {
			return err
		}
		return addVaultEvent(q, event.asMark())
	})
	if err != nil {
		return time.Time{}, err
	}
	return since, nil
}

// MarkVaultDeleted implements [vault.Deletion].
func (s *Store) MarkVaultDeleted(ctx context.Context, org, id string, at time.Time, a vault.AuditEvent) (since time.Time, err error) {
	event, err := newVaultEvent(&a)
	if err != nil {
		return time.Time{}, err
	}
	err = s.db.Transact(ctx, org, func(q *engine.Session) error {
		if err := q.Lock(lockVaultOrg, org, true); err != nil {
			return err
		}
		if err := q.Lock(lockVault, vaultLock(org, id), false); err != nil {
			return err
		}
		v, err := stateOf(q, org, id)
		switch {
		case err != nil:
			return err
		case !v.known:
			return mortise.ErrNotFound
		case v.deleted:
			since = sqltext.TimeOf(v.since)
			return nil
		}
		since = at.UTC().Truncate(time.Microsecond)
		if _, err := q.Exec(markVault, v.seq, sqltext.Bound(at)); err != nil {
			return err
		}
		if err := q.TookAway(at); err != nil {
			return err
		}
		return addVaultEvent(q, event)
	})
	if err != nil {
		return time.Time{}, err
	}
	return since, nil
}

// removalStep is how many rows a call removes at most.
const removalStep = 500

// RemoveDeleted implements [vault.Deletion].
func (s *Store) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	err = s.db.Transact(ctx, org, func(q *engine.Session) error {
		n = 0
		if err := q.NeedsLatest(); err != nil {
			return err
		}
		var since pgtype.Timestamptz
		err := q.Row(deletedVaultOrg, []any{org}, &since, &more)
		if engine.IsNoRow(err) {
			err = mortise.ErrNotFound
		}
		if err != nil || !more || limit <= 0 {
			return err
		}
		r := &vaultRemoval{s: q, left: min(limit, removalStep)}
		done, err := r.organization(org)
		if n = r.removed; err != nil || !done {
			return err
		}
		more = false
		_, err = q.Exec(orgIsRemoved, org)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return n, more, nil
}

// RemoveDeletedVault implements [vault.Deletion].
func (s *Store) RemoveDeletedVault(ctx context.Context, org, id string, limit int) (n int, more bool, err error) {
	err = s.db.Transact(ctx, org, func(q *engine.Session) error {
		n = 0
		if err := q.NeedsLatest(); err != nil {
			return err
		}
		v, err := stateOf(q, org, id)
		if err == nil && !v.deleted {
			err = mortise.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := q.Row(vaultHasRest, []any{v.seq}, &more); err != nil || !more || limit <= 0 {
			return err
		}
		r := &vaultRemoval{s: q, left: min(limit, removalStep)}
		done, err := r.vault(v.seq)
		if n = r.removed; err != nil || !done {
			return err
		}
		more = false
		_, err = q.Exec(vaultIsRemoved, v.seq)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return n, more, nil
}

// vaultRemoval is a step of a deletion.
type vaultRemoval struct {
	s       *engine.Session
	left    int // rows that it may still remove
	removed int // rows that it has removed
}

// count notes rows that were removed.
func (r *vaultRemoval) count(rows int) {
	r.left -= rows
	r.removed += rows
}

// organization reports whether nothing is left of an organization.
func (r *vaultRemoval) organization(org string) (done bool, err error) {
	for {
		var seq int64
		err := r.s.Row(anyVault, []any{org}, &seq)
		if engine.IsNoRow(err) {
			break
		}
		if err != nil {
			return false, err
		}
		if done, err := r.vault(seq); err != nil || !done || r.left == 0 {
			return false, err
		}
		n, err := r.s.Exec(removeVault, seq)
		if r.count(int(n)); err != nil {
			return false, err
		}
	}
	return r.rows(removeVaultEv, org)
}

// vault reports whether nothing is left of a vault but its row.
func (r *vaultRemoval) vault(seq int64) (done bool, err error) {
	var tokens []int64
	err = r.s.Query(func(rows pgx.Rows) error {
		var token int64
		err := rows.Scan(&token)
		tokens = append(tokens, token)
		return err
	}, someTokens, seq, r.left)
	if err != nil {
		return false, err
	}
	if len(tokens) > 0 {
		for _, statement := range []string{deleteFingerprints, removeTokens} {
			if _, err := r.s.Exec(statement, tokens); err != nil {
				return false, err
			}
		}
	}
	if r.count(len(tokens)); r.left == 0 {
		return false, nil
	}
	return r.rows(removeScopes, seq)
}

// rows runs a statement that removes so many rows at most as may be removed, and reports
// whether there are no others.
func (r *vaultRemoval) rows(statement string, of any) (done bool, err error) {
	if r.left == 0 {
		return false, nil
	}
	n, err := r.s.Exec(statement, of, r.left)
	r.count(int(n))
	return r.left > 0, err
}

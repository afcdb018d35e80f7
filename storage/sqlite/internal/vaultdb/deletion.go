package vaultdb

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
)

// A vault that was deleted keeps its row in vault_vaults until its tokens are removed,
// but under another key: the same bytes as BLOBs, which no text equals. So whatever looks
// for a vault does not find it, and looks no longer than before. An organization can have
// too many vaults to do so in one step. Until it is their turn, statements tell them by
// the organization's row in vault_deleted_orgs.
const (
	// orgIsThere is the condition that the organization ?1 was not deleted, and
	// vaultIsThere that a vault's was not, for statements without numbered arguments: the
	// driver makes a text of each number.
	orgIsThere   = " AND NOT EXISTS (SELECT 1 FROM vault_deleted_orgs WHERE organization = ?1)"
	vaultIsThere = " AND NOT EXISTS (SELECT 1 FROM vault_deleted_orgs d WHERE d.organization = vault_vaults.organization)"

	// goneVaults are the numbers of all vaults that were deleted, or whose organization
	// was, and that are not removed. goneScopes are those of their scopes.
	goneVaults = "SELECT seq FROM vault_vaults WHERE organization >= x'' UNION ALL SELECT v.seq FROM vault_deleted_orgs d" +
		" CROSS JOIN vault_vaults v ON v.organization = d.organization WHERE d.rest = 1"
	goneScopes = "SELECT s.seq FROM (" + goneVaults + ") g CROSS JOIN vault_scopes s ON s.vault = g.seq"

	deletedVaultOrg = "SELECT at, event, rest FROM vault_deleted_orgs WHERE organization = ?"
	deletedVault    = "SELECT at FROM vault_deleted_vaults WHERE organization = ? AND id = ?"
	isDeleted       = "SELECT 1 FROM vault_deleted_orgs WHERE organization = ?1 UNION ALL SELECT 1 FROM vault_deleted_vaults WHERE organization = ?1 AND id = ?2"
	markOrg         = "INSERT INTO vault_deleted_orgs (organization, at, event, rest) VALUES (?,?,?,1)"
	markVault       = "INSERT INTO vault_deleted_vaults (organization, id, at) VALUES (?,?,?)"
	hideVault       = "UPDATE vault_vaults SET (organization, id, schema) = (CAST(organization AS BLOB), CAST(id AS BLOB), '') WHERE seq = ?"
	vaultEventByID  = "SELECT seq FROM vault_audit WHERE organization = ? AND at = ? AND id = ?"
	nothingIsLeft   = "UPDATE vault_deleted_orgs SET rest = 0 WHERE organization = ?"

	hiddenVault = "SELECT seq FROM vault_vaults WHERE organization = CAST(? AS BLOB) AND id = CAST(? AS BLOB)"
	anyVault    = "SELECT seq FROM vault_vaults WHERE organization = ?1" +
		" UNION ALL SELECT seq FROM vault_vaults WHERE organization = CAST(?1 AS BLOB) LIMIT 1"

	// What can be removed, with its size: for a length, SQLite reads no further than the
	// row's head. Tokens go by stretches of their numbers, from one that has any on: what
	// was stored together stands together, and in any other order each token would stand
	// on a page of its own.
	tokenToRemove  = "SELECT seq FROM vault_tokens WHERE vault = ? LIMIT 1"
	tokensToRemove = "SELECT seq, octet_length(ciphertext), scope, deterministic, sealed FROM vault_tokens NOT INDEXED" +
		" WHERE seq >= ? AND seq < ? AND vault = ? LIMIT 0 + ?"
	scopesToRemove = "SELECT seq, 0 FROM vault_scopes WHERE vault = ? LIMIT 0 + ?"
	eventsToRemove = "SELECT seq, ifnull(octet_length(tokens), 0) + ifnull(octet_length(schema), 0)" +
		" FROM vault_audit INDEXED BY vault_audit_listing WHERE organization = ?1" +
		" AND seq IS NOT (SELECT event FROM vault_deleted_orgs WHERE organization = ?1) LIMIT 0 + ?2"

	removeFingerprintsOf = storedVersions + " DELETE FROM vault_fingerprints WHERE (fingerprint, scope, version) IN" +
		" (SELECT f.fingerprint, f.scope, f.version FROM stored CROSS JOIN json_each(?1) j" +
		" CROSS JOIN vault_fingerprints f INDEXED BY vault_fingerprints_row ON f.version = stored.version AND f.row = j.value)"
	removeTokens = "DELETE FROM vault_tokens WHERE seq IN (SELECT value FROM json_each(?1))"
	removeScopes = "DELETE FROM vault_scopes WHERE seq IN (SELECT value FROM json_each(?1))"
	removeEvents = "DELETE FROM vault_audit WHERE seq IN (SELECT value FROM json_each(?1))"
	removeVault  = "DELETE FROM vault_vaults WHERE seq = ?"
	removeMarks  = "DELETE FROM vault_deleted_vaults WHERE (organization, id) IN" +
		" (SELECT organization, id FROM vault_deleted_vaults WHERE organization = ? LIMIT 0 + ?)"
)

// MarkDeleted implements [vault.Deletion].
func (s *Store) MarkDeleted(ctx context.Context, org string, at time.Time, a vault.AuditEvent) (since time.Time, err error) {
	event, err := vaultAuditChange(&a)
	if err != nil {
		return time.Time{}, err
	}
	where := []any{a.Organization, a.At.UnixMicro(), append([]byte(nil), a.ID[:]...)}
	var first time.Time
	err = s.db.Write(ctx, func(tx *file.Tx) error {
		marked := false
		err := tx.Query(deletedVaultOrg, []any{org}, func(r *file.Row) error {
			first, marked = r.Moment(0), true
			return nil
		})
		if err != nil || marked {
			return err
		}
		if err := tx.Apply(event...); err != nil {
			return err
		}
		var seq any
		if event != nil {
			err := tx.Query(vaultEventByID, where, func(r *file.Row) error {
				seq = int64(r.Number(0))
				return nil
			})
			if err != nil {
				return err
			}
		}
		first = time.UnixMicro(at.UnixMicro()).UTC()
		return tx.Apply(file.Do(markOrg, org, at.UnixMicro(), seq), file.TookAway(at))
	})
	if err != nil { // the writer may still be at it
		return time.Time{}, err
	}
	return first, nil
}

// MarkVaultDeleted implements [vault.Deletion].
func (s *Store) MarkVaultDeleted(
	ctx context.Context, org, id string, at time.Time, a vault.AuditEvent,
) (since time.Time, err error) {
	event, err := vaultAuditChange(&a)
	if err != nil {
		return time.Time{}, err
	}
	var first time.Time
	err = s.db.Write(ctx, func(tx *file.Tx) error {
		seq, _, err := revisionOf(tx, org, id)
		if err != nil {
			return err
		}
		if seq == noVault {
			first, err = findDeletedVault(tx, org, id)
			return err
		}
		first = time.UnixMicro(at.UnixMicro()).UTC()
		return tx.Apply(append([]file.Change{file.Do(hideVault, seq), file.Do(markVault, org, id, at.UnixMicro()), file.TookAway(at)}, event...)...)
	})
	if err != nil { // the writer may still be at it
		return time.Time{}, err
	}
	return first, nil
}

// findDeletedVault returns when a vault was deleted, or ErrNotFound, as it is if the
// organization was deleted.
func findDeletedVault(t *file.Tx, org, id string) (since time.Time, err error) {
	if gone, err := t.Exists(deletedVaultOrg, org); err != nil {
		return since, err
	} else if gone {
		return since, mortise.ErrNotFound
	}
	found := false
	err = t.Query(deletedVault, []any{org, id}, func(r *file.Row) error {
		since, found = r.Moment(0), true
		return nil
	})
	if err == nil && !found {
		err = mortise.ErrNotFound
	}
	return since, err
}

// RemoveDeleted implements [vault.Deletion].
func (s *Store) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	left, did := false, 0
	err = s.db.Write(ctx, func(tx *file.Tx) error {
		marked, rest := false, false
		err := tx.Query(deletedVaultOrg, []any{org}, func(r *file.Row) error {
			marked, rest = true, r.Number(2) == 1
			return nil
		})
		if err == nil && !marked {
			err = mortise.ErrNotFound
		}
		if left, did = rest, 0; err != nil || !rest {
			return err
		}
		removal := vaultRemoval{tx: tx, limit: min(limit, removalRows)}
		done, err := removal.organization(org)
		did = removal.done
		if err == nil && done {
			_, err = tx.Exec(nothingIsLeft, org)
		}
		left = !done
		return err
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	return did, left, nil
}

// RemoveDeletedVault implements [vault.Deletion].
func (s *Store) RemoveDeletedVault(ctx context.Context, org, id string, limit int) (n int, more bool, err error) {
	left, did := false, 0
	err = s.db.Write(ctx, func(tx *file.Tx) error {
		if _, err := findDeletedVault(tx, org, id); err != nil {
			return err
		}
		seq, err := firstNumber(tx, hiddenVault, org, id)
		if err != nil || seq == noVault {
			left, did = false, 0
			return err
		}
		removal := vaultRemoval{tx: tx, limit: min(limit, removalRows)}
		done, err := removal.vault(seq)
		left, did = !done, removal.done
		return err
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	return did, left, nil
}

// firstNumber returns the number that a query finds, or noVault.
func firstNumber(t *file.Tx, query string, args ...any) (seq int, err error) {
	seq = noVault
	err = t.Query(query, args, func(r *file.Row) error {
		seq = r.Number(0)
		return nil
	})
	return seq, err
}

// vaultRemoval is a step of a deletion: other writes wait for so long.
type vaultRemoval struct {
	tx    *file.Tx
	limit int // rows that it may still remove
	done  int // rows that it has removed
	bytes int // that those had
}

// count notes rows that were removed.
func (m *vaultRemoval) count(rows int) {
	m.limit -= rows
	m.done += rows
}

// removalRows and removalBytes bound what a step removes, but for one row more than the
// bytes. A token and its fingerprints stand on pages of their own in four trees, and the
// file gives back each page of a large row by itself.
const (
	removalRows  = 100
	removalBytes = 4 << 20
)

// full reports whether the step ends here.
func (m *vaultRemoval) full() bool { return m.limit <= 0 || m.bytes >= removalBytes }

// organization reports whether nothing is left of an organization.
func (m *vaultRemoval) organization(org string) (done bool, err error) {
	for {
		seq, err := firstNumber(m.tx, anyVault, org)
		if err != nil {
			return false, err
		}
		if seq == noVault {
			break
		}
		if done, err := m.vault(seq); err != nil || !done {
			return false, err
		}
	}
	if done, err := m.rows(eventsToRemove, []any{org}, nil, removeEvents); err != nil || !done {
		return false, err
	}
	if m.full() {
		return false, nil
	}
	n, err := m.tx.Exec(removeMarks, org, m.limit)
	done = int(n) < m.limit
	m.count(int(n))
	return done, err
}

// vault reports whether nothing is left of a vault.
func (m *vaultRemoval) vault(seq int) (done bool, err error) {
	// The number of a row is given again once it is free, and so is a scope's: what
	// refers to them goes first.
	if done, err := m.tokens(seq); err != nil || !done {
		return false, err
	}
	if done, err := m.rows(scopesToRemove, []any{seq}, nil, removeScopes); err != nil || !done {
		return false, err
	}
	if m.full() {
		return false, nil
	}
	m.count(1)
	_, err = m.tx.Exec(removeVault, seq)
	return true, err
}

// tokens reports whether a vault has no tokens any more.
func (m *vaultRemoval) tokens(vault int) (done bool, err error) {
	for {
		seq, err := firstNumber(m.tx, tokenToRemove, vault)
		if err != nil || seq == noVault {
			return err == nil, err
		}
		first := seq - seq%removalRows
		count := func(r *file.Row) {
			if !r.Null(4) {
				noteSealed(m.tx, sealCount{r.Number(2), r.Number(3) != 0, r.Number(4)}, -1)
			}
		}
		done, err := m.rows(tokensToRemove, []any{first, first + removalRows, vault}, count, removeFingerprintsOf, removeTokens)
		if err != nil || !done {
			return false, err
		}
	}
}

// rows removes rows that a query finds, and reports whether there are no others. Each of
// them is shown to each, which may be nil.
func (m *vaultRemoval) rows(find string, args []any, each func(*file.Row), remove ...string) (done bool, err error) {
	if m.full() {
		return false, nil
	}
	var found []int
	left := false
	err = m.tx.Query(find, append(args, m.limit+1), func(r *file.Row) error {
		if left = left || m.full(); left {
			return nil
		}
		found = append(found, r.Number(0))
		m.count(1)
		m.bytes += r.Number(1)
		if each != nil {
			each(r)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		return !left, err
	}
	list, err := json.Marshal(found)
	if err != nil {
		return false, fmt.Errorf("sqlite: list what is to be removed: %w", err)
	}
	for _, statement := range remove {
		if _, err := m.tx.Exec(statement, string(list)); err != nil {
			return false, err
		}
	}
	return !left, nil
}

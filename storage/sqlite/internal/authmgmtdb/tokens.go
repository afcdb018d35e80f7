package authmgmtdb

import (
	"bytes"
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/roletext"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	// tokenColumns are the columns of a token with its client, in the order of scanToken.
	tokenColumns = "t.digest, t.id, t.organization, t.subject, t.client, t.secret, coalesce(t.roles, c.roles)," +
		" t.created_at, t.expires_at, t.revoked_at"
	withClient = " LEFT JOIN authmgmt_clients c ON c.organization = t.organization AND c.id = t.client AND c.deleted_at IS NULL"

	tokenByDigest = "SELECT " + tokenColumns + " FROM authmgmt_tokens t" + withClient + " WHERE t.digest = ?" + notDeletedOf + "t.organization)"
	tokenByID     = "SELECT " + tokenColumns + " FROM authmgmt_tokens t" + withClient + " WHERE t.organization = ? AND t.id = ?" + notDeleted

	insertToken = "INSERT INTO authmgmt_tokens (organization, digest, id, subject, client, secret, roles, created_at, expires_at, revoked_at)" +
		" VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
	// For an organization and a client: its tokens but for the newest ones.
	forgetOldTokens = "DELETE FROM authmgmt_tokens WHERE digest IN (SELECT t.digest FROM authmgmt_secrets s CROSS JOIN authmgmt_tokens t ON t.secret = s.digest" +
		" WHERE s.organization = ? AND s.client = ? ORDER BY t.created_at DESC, t.id DESC LIMIT -1 OFFSET ?)"
	clientSecret = "SELECT 1 FROM authmgmt_secrets WHERE organization = ? AND digest = ? AND client = ?" + notDeleted
	revokeToken  = "UPDATE authmgmt_tokens SET revoked_at = ? WHERE id = ?"
)

var tokensOf = (&placedRows{
	key:     "digest",
	from:    " FROM authmgmt_tokens WHERE organization = ?1" + notDeleted,
	columns: tokenColumns,
	join:    " CROSS JOIN authmgmt_tokens t ON t.digest = p.digest" + withClient,
	alias:   "t", desc: true,
}).list()

// CreateToken implements [authmgmt.Tokens].
func (a *Store) CreateToken(ctx context.Context, t authmgmt.Token, e authmgmt.AuditEvent) error {
	event, err := auditChange(&e)
	if err != nil {
		return err
	}
	isClients := t.Client != ""
	secret := bytes.Clone(t.Secret[:])
	args := []any{
		t.Organization, bytes.Clone(t.Digest[:]), bytes.Clone(t.ID[:]), t.Subject, file.Text(t.Client, isClients), file.Blob(secret, isClients),
		file.Text(roletext.Format(t.Roles), !isClients), t.CreatedAt.UnixMicro(), file.Micros(t.ExpiresAt), file.Micros(t.RevokedAt),
	}
	return a.db.Write(ctx, func(tx *file.Tx) error {
		has, err := false, error(nil)
		if isClients {
			has, err = tx.Exists(clientSecret, t.Organization, secret, t.Client)
		}
		if err == nil && !has {
			err = mayCreate(tx, t.Organization)
		}
		if err == nil && isClients && !has {
			err = mortise.ErrNotFound
		}
		if err != nil {
			return err
		}
		if isClients {
			if _, err := tx.Exec(forgetOldTokens, t.Organization, t.Client, authmgmt.MaxClientTokens-1); err != nil {
				return err
			}
		}
		if err := tx.Insert(insertToken, args...); err != nil {
			return err
		}
		return tx.Apply(event...)
	})
}

// TokenByDigest implements [authmgmt.Tokens].
func (a *Store) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	var t authmgmt.Token
	found := false
	err := a.db.Find(ctx, file.NoOrg, tokenByDigest, []any{digest[:]}, func(r *file.Row) error {
		found = true
		return scanToken(r, &t)
	})
	if err == nil && !found {
		err = mortise.ErrNotFound
	}
	if err != nil {
		return authmgmt.Token{}, err
	}
	return t, nil
}

// UpdateToken implements [authmgmt.Tokens].
func (a *Store) UpdateToken(ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error {
	return a.db.Write(ctx, func(tx *file.Tx) error {
		var kept authmgmt.Token
		found := false
		err := tx.Query(tokenByID, []any{org, id[:]}, func(r *file.Row) error {
			found = true
			return scanToken(r, &kept)
		})
		if err != nil {
			return err
		}
		if !found {
			return mortise.ErrNotFound
		}
		var changes []file.Change
		err = tx.Host(func() error {
			given := kept.Clone()
			e, err := update(&given)
			if err != nil {
				return err
			}
			if revoked := file.Micros(given.RevokedAt); revoked != file.Micros(kept.RevokedAt) {
				changes = append(changes, file.Do(revokeToken, revoked, id[:]))
			}
			event, err := auditChange(&e)
			changes = append(changes, event...)
			return err
		})
		if err != nil {
			return err
		}
		return tx.Apply(changes...)
	})
}

// ListTokens implements [authmgmt.Tokens].
func (a *Store) ListTokens(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[authmgmt.Token], err error) {
	at, id, behind, err := pages.ByUUID(after)
	if err != nil {
		return page, err
	}
	statement, args := tokensOf.page([]any{org}, at, id[:], behind, limit)
	var tokens []authmgmt.Token
	err = a.db.List(ctx, org, statement, args, func(r *file.Row) error {
		tokens = append(tokens, authmgmt.Token{})
		return scanToken(r, &tokens[len(tokens)-1])
	})
	if err != nil {
		return page, err
	}
	return pages.Cut(tokens, limit, (*authmgmt.Token).Position), nil
}

// CountTokens implements [authmgmt.Counter].
func (a *Store) CountTokens(ctx context.Context, org string, most int) (mortise.Count, error) {
	return a.countListed(ctx, org, &tokensOf, []any{org}, most)
}

var errNoClient = errors.New("sqlite: a row is damaged: a token's client is not there")

// scanToken reads a row of tokenColumns.
func scanToken(r *file.Row, t *authmgmt.Token) (err error) {
	if r.Null(6) { // which must not be taken for a client without roles
		return errNoClient
	}
	r.Blob(0, t.Digest[:])
	r.Blob(1, t.ID[:])
	t.Organization, t.Subject, t.Client = r.Text(2), r.Text(3), r.Text(4)
	r.Blob(5, t.Secret[:])
	t.CreatedAt, t.ExpiresAt, t.RevokedAt = r.Moment(7), r.Moment(8), r.Moment(9)
	t.Roles, err = roletext.Parse(r.Text(6))
	return err
}

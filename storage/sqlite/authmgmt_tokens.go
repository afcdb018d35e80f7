package sqlite

import (
	"bytes"
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/roletext"
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
func (a *AuthMgmt) CreateToken(ctx context.Context, t authmgmt.Token, e authmgmt.AuditEvent) error {
	event, err := auditChange(&e)
	if err != nil {
		return err
	}
	isClients := t.Client != ""
	secret := bytes.Clone(t.Secret[:])
	args := []any{
		t.Organization, bytes.Clone(t.Digest[:]), bytes.Clone(t.ID[:]), t.Subject, text(t.Client, isClients), blob(secret, isClients),
		text(roletext.Format(t.Roles), !isClients), t.CreatedAt.UnixMicro(), micros(t.ExpiresAt), micros(t.RevokedAt),
	}
	return a.db.writer.write(ctx, func(tx *tx) error {
		has, err := false, error(nil)
		if isClients {
			has, err = tx.exists(clientSecret, t.Organization, secret, t.Client)
		}
		if err == nil && !has {
			err = tx.mayCreate(t.Organization)
		}
		if err == nil && isClients && !has {
			err = mortise.ErrNotFound
		}
		if err != nil {
			return err
		}
		if isClients {
			if _, err := tx.exec(forgetOldTokens, t.Organization, t.Client, authmgmt.MaxClientTokens-1); err != nil {
				return err
			}
		}
		if err := tx.insert(insertToken, args...); err != nil {
			return err
		}
		return tx.apply(event)
	})
}

// TokenByDigest implements [authmgmt.Tokens].
func (a *AuthMgmt) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	var t authmgmt.Token
	found := false
	err := a.db.find(ctx, noOrg, tokenByDigest, []any{digest[:]}, func(r *row) error {
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
func (a *AuthMgmt) UpdateToken(ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error {
	return a.db.writer.write(ctx, func(tx *tx) error {
		var kept authmgmt.Token
		found := false
		err := tx.query(tokenByID, []any{org, id[:]}, func(r *row) error {
			found = true
			return scanToken(r, &kept)
		})
		if err != nil {
			return err
		}
		if !found {
			return mortise.ErrNotFound
		}
		var changes []change
		err = tx.host(func() error {
			given := kept.Clone()
			e, err := update(&given)
			if err != nil {
				return err
			}
			if revoked := micros(given.RevokedAt); revoked != micros(kept.RevokedAt) {
				changes = append(changes, change{revokeToken, []any{revoked, id[:]}})
			}
			event, err := auditChange(&e)
			changes = append(changes, event...)
			return err
		})
		if err != nil {
			return err
		}
		return tx.apply(changes)
	})
}

// ListTokens implements [authmgmt.Tokens].
func (a *AuthMgmt) ListTokens(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[authmgmt.Token], err error) {
	at, id, behind, err := pages.ByUUID(after)
	if err != nil {
		return page, err
	}
	statement, args := tokensOf.page([]any{org}, at, id[:], behind, limit)
	var tokens []authmgmt.Token
	err = a.db.list(ctx, org, statement, args, func(r *row) error {
		tokens = append(tokens, authmgmt.Token{})
		return scanToken(r, &tokens[len(tokens)-1])
	})
	if err != nil {
		return page, err
	}
	return pages.Cut(tokens, limit, (*authmgmt.Token).Position), nil
}

// CountTokens implements [authmgmt.Counter].
func (a *AuthMgmt) CountTokens(ctx context.Context, org string, most int) (mortise.Count, error) {
	return a.countListed(ctx, org, &tokensOf, []any{org}, most)
}

var errNoClient = errors.New("sqlite: a row is damaged: a token's client is not there")

// scanToken reads a row of tokenColumns.
func scanToken(r *row, t *authmgmt.Token) (err error) {
	if r.null(6) { // which must not be taken for a client without roles
		return errNoClient
	}
	r.blob(0, t.Digest[:])
	r.blob(1, t.ID[:])
	t.Organization, t.Subject, t.Client = r.text(2), r.text(3), r.text(4)
	r.blob(5, t.Secret[:])
	t.CreatedAt, t.ExpiresAt, t.RevokedAt = r.moment(7), r.moment(8), r.moment(9)
	t.Roles, err = roletext.Parse(r.text(6))
	return err
}

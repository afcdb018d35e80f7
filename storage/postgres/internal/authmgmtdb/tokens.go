package authmgmtdb

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/roletext"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

const (
	// tokenColumns are the columns of a token with its client, in the order of scanToken.
	tokenColumns = "t.digest, t.id, t.organization, t.subject, t.client, t.secret, coalesce(t.roles, c.roles)," +
		" t.created_at, t.expires_at, t.revoked_at"
	withClient = " LEFT JOIN @.authmgmt_clients c ON c.organization || '' = t.organization AND c.id = t.client" + clientIsThere

	tokenByDigest = "SELECT " + tokenColumns + " FROM @.authmgmt_tokens t" + withClient + " WHERE t.digest = $1" + oneNotDeletedOf + "t.organization) IS NULL"
	tokenByID     = "SELECT " + tokenColumns + " FROM @.authmgmt_tokens t" + withClient + " WHERE t.organization || '' = $1 AND t.id = $2" + authNotDeleted
	lockToken     = "SELECT FROM @.authmgmt_tokens WHERE organization || '' = $1 AND id = $2 FOR UPDATE"

	insertToken = "INSERT INTO @.authmgmt_tokens (organization, digest, id, subject, client, secret, roles, created_at, expires_at, revoked_at)" +
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING"
	// For an organization, a client and a number: its tokens but for so many of the newest.
	forgetOldTokens = "DELETE FROM @.authmgmt_tokens WHERE digest IN (SELECT t.digest FROM @.authmgmt_secrets s JOIN @.authmgmt_tokens t ON t.secret = s.digest" +
		" WHERE s.organization = $1 AND s.client = $2 ORDER BY t.created_at DESC, t.id DESC OFFSET $3)"
	// Nobody takes the secret away before the transaction ends.
	clientSecret = "SELECT FROM @.authmgmt_secrets WHERE organization = $1 AND digest = $2 AND client = $3 FOR KEY SHARE"
	revokeToken  = "UPDATE @.authmgmt_tokens SET revoked_at = $3 WHERE organization || '' = $1 AND id = $2"
)

var tokensOf = placedRows{
	key:     "digest",
	from:    " FROM @.authmgmt_tokens WHERE organization = $1" + authNotDeleted,
	columns: tokenColumns,
	join:    " JOIN @.authmgmt_tokens t ON t.digest = p.digest" + withClient,
	alias:   "t", desc: true,
}

// CreateToken implements [authmgmt.Tokens].
func (a *Store) CreateToken(ctx context.Context, t authmgmt.Token, e authmgmt.AuditEvent) error {
	isClients := t.Client != ""
	return a.db.Transact(ctx, t.Organization, func(s *engine.Session) error {
		if err := mayCreate(s, t.Organization); err != nil {
			return err
		}
		if isClients {
			has, err := s.Exists(clientSecret, t.Organization, t.Secret[:], t.Client)
			if err == nil && !has {
				err = mortise.ErrNotFound
			}
			if err == nil {
				_, err = s.Exec(forgetOldTokens, t.Organization, t.Client, authmgmt.MaxClientTokens-1)
			}
			if err != nil {
				return err
			}
		}
		err := s.Insert(insertToken, t.Organization, t.Digest[:], t.ID, t.Subject, sqltext.TextIf(t.Client, isClients),
			sqltext.BytesIf(t.Secret[:], isClients), sqltext.TextIf(roletext.Format(t.Roles), !isClients), sqltext.Bound(t.CreatedAt), sqltext.Stamp(t.ExpiresAt), sqltext.Stamp(t.RevokedAt))
		if err != nil {
			return err
		}
		return audit(s, &e)
	})
}

// TokenByDigest implements [authmgmt.Tokens].
func (a *Store) TokenByDigest(ctx context.Context, digest [32]byte) (t authmgmt.Token, err error) {
	return engine.FirstOf(ctx, a.db, engine.NoOrg, scanToken, tokenByDigest, digest[:])
}

// UpdateToken implements [authmgmt.Tokens].
func (a *Store) UpdateToken(ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error {
	return a.db.Transact(ctx, org, func(s *engine.Session) error {
		if err := s.Lock(authDeletion, org, true); err != nil {
			return err
		}
		if _, err := s.Exec(lockToken, org, id); err != nil {
			return err
		}
		kept, err := engine.One(engine.Collect(s, scanToken, tokenByID, org, id))
		if err != nil {
			return err
		}
		given := kept.Clone()
		e, err := update(&given)
		if err != nil {
			return err
		}
		if !sameTime(given.RevokedAt, kept.RevokedAt) {
			if _, err := s.Exec(revokeToken, org, id, sqltext.Stamp(given.RevokedAt)); err != nil {
				return err
			}
		}
		e.Organization = org
		return audit(s, &e)
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
	statement, args := tokensOf.page([]any{org}, at, id, behind, limit)
	tokens, err := engine.ListOf(ctx, a.db, org, scanToken, statement, args...)
	if err != nil {
		return page, err
	}
	return pages.Cut(tokens, limit, (*authmgmt.Token).Position), nil
}

// CountTokens implements [authmgmt.Counter].
func (a *Store) CountTokens(ctx context.Context, org string, most int) (mortise.Count, error) {
	return a.countListed(ctx, org, &tokensOf, []any{org}, most)
}

var errNoClient = errors.New("postgres: a row is damaged: a token's client is not there")

// tokenRow has the values of tokenColumns.
type tokenRow struct {
	digest, org, subject, client, secret, roles []byte
	id                                          *uuid.UUID
	created, expires, revoked                   pgtype.Timestamptz
}

// scanToken reads a row of tokenColumns.
func scanToken(rows pgx.Rows) (t authmgmt.Token, err error) {
	var r tokenRow
	err = rows.Scan(&r.digest, &r.id, &r.org, &r.subject, &r.client, &r.secret, &r.roles, &r.created, &r.expires, &r.revoked)
	if err == nil && r.roles == nil { // which must not be taken for a client without roles
		err = errNoClient
	}
	if err != nil {
		return t, err
	}
	t = authmgmt.Token{
		ID: *r.id, Organization: string(r.org), Subject: string(r.subject), Client: string(r.client),
		CreatedAt: sqltext.TimeOf(r.created), ExpiresAt: sqltext.TimeOf(r.expires), RevokedAt: sqltext.TimeOf(r.revoked),
	}
	copy(t.Digest[:], r.digest)
	copy(t.Secret[:], r.secret)
	t.Roles, err = roletext.Parse(string(r.roles))
	return t, err
}

package memory

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// CreateToken implements [authmgmt.Tokens].
func (a *AuthMgmt) CreateToken(ctx context.Context, token authmgmt.Token, e authmgmt.AuditEvent) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	t := &db.authmgmt
	if t.isDeleted(token.Organization) {
		return mortise.ErrDeleted
	}
	if token.Client != "" {
		c, ok := t.client(token.Organization, token.Client)
		if !ok || !hasDigest(c.Secrets, token.Secret) {
			return mortise.ErrNotFound
		}
	}
	_, digestTaken := t.tokens[token.Digest]
	_, idTaken := t.tokenIDs[token.ID]
	if digestTaken || idTaken {
		return mortise.ErrExists
	}
	kept := token.Clone()
	if kept.Client != "" {
		kept.Roles = nil
	} else {
		kept.Secret = [32]byte{}
	}
	if kept.Client != "" {
		t.addClientToken(&kept)
	}
	t.tokens[kept.Digest], t.tokenIDs[kept.ID] = &kept, kept.Digest
	t.tokenList.add(kept.Organization, &kept)
	t.addEvent(e)
	return nil
}

// RemoveTokens implements [authmgmt.Restorable].
func (a *AuthMgmt) RemoveTokens(ctx context.Context, limit int) (n int, more bool, err error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	step := boundedStep{limit: limit}
	db.authmgmt.forgetTokens(func(k *authmgmt.Token) bool { return step.takes(k.RevokedAt.IsZero()) })
	return step.n, step.more, nil
}

// addClientToken enters a new token of a client, and removes the oldest other ones that are
// too many.
func (t *authmgmtTables) addClientToken(token *authmgmt.Token) {
	client := ownedID{token.Organization, token.Client}
	for len(t.clientTokens[client]) >= authmgmt.MaxClientTokens {
		oldest := t.clientTokens[client][0]
		list := t.tokenList[client.org]
		at := place(list, oldest.Position())
		t.tokenList[client.org] = slices.Delete(list, at, at+1)
		t.forget(oldest)
	}
	list := t.clientTokens[client]
	t.clientTokens[client] = slices.Insert(list, place(list, token.Position()), token)
}

// forget removes a token that tokenList has no more.
func (t *authmgmtTables) forget(token *authmgmt.Token) {
	delete(t.tokens, token.Digest)
	delete(t.tokenIDs, token.ID)
	client := ownedID{token.Organization, token.Client}
	left := slices.DeleteFunc(t.clientTokens[client], func(other *authmgmt.Token) bool { return other == token })
	if t.clientTokens[client] = left; len(left) == 0 {
		delete(t.clientTokens, client)
	}
}

// forgetTokens removes the tokens that a condition selects.
func (t *authmgmtTables) forgetTokens(selects func(*authmgmt.Token) bool) {
	for org := range t.tokenList {
		t.tokenList.remove(org, func(token *authmgmt.Token) bool {
			gone := selects(token)
			if gone {
				t.forget(token)
			}
			return gone
		})
	}
}

// shown returns a token as a caller sees it, with its client's roles. The caller holds
// the lock.
func (t *authmgmtTables) shown(token *authmgmt.Token) authmgmt.Token {
	shown := token.Clone()
	if token.Client != "" {
		shown.Roles = slices.Clone(t.clients[ownedID{token.Organization, token.Client}].Roles)
	}
	return shown
}

// TokenByDigest implements [authmgmt.Tokens].
func (a *AuthMgmt) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return authmgmt.Token{}, err
	}
	defer db.end()
	if token, ok := db.authmgmt.tokens[digest]; ok && !db.authmgmt.isDeleted(token.Organization) {
		return db.authmgmt.shown(token), nil
	}
	return authmgmt.Token{}, mortise.ErrNotFound
}

// UpdateToken implements [authmgmt.Tokens].
func (a *AuthMgmt) UpdateToken(ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	t := &db.authmgmt
	token, ok := t.tokens[t.tokenIDs[id]]
	if !ok || token.ID != id || token.Organization != org || t.isDeleted(org) {
		return mortise.ErrNotFound
	}
	changed := t.shown(token)
	e, err := update(&changed)
	if err != nil {
		return err
	}
	token.RevokedAt = changed.RevokedAt
	t.addEvent(e)
	db.revocations.countEvent(&e)
	return nil
}

// ListTokens implements [authmgmt.Tokens].
func (a *AuthMgmt) ListTokens(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[authmgmt.Token], err error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	return latest(db.authmgmt.tokensOf(org), after, limit, func(*authmgmt.Token) bool { return true }, db.authmgmt.shown)
}

// CountTokens implements [authmgmt.Counter].
func (a *AuthMgmt) CountTokens(ctx context.Context, org string, most int) (n mortise.Count, err error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return n, err
	}
	defer db.end()
	return mortise.CountUpTo(len(db.authmgmt.tokensOf(org)), most), nil
}

// tokensOf returns the tokens of an organization, oldest first.
func (t *authmgmtTables) tokensOf(org string) []*authmgmt.Token {
	if t.isDeleted(org) {
		return nil
	}
	return t.tokenList[org]
}

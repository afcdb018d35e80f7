package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// CreateToken implements [authmgmt.Tokens].
func (a *AuthMgmt) CreateToken(ctx context.Context, token authmgmt.Token, e authmgmt.AuditEvent) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	t := &a.db.authmgmt
	if token.Client != "" {
		c, ok := t.client(token.Organization, token.Client)
		if !ok || !hasDigest(c.Secrets, token.Secret) {
			return authmgmt.ErrNotFound
		}
	}
	_, digestTaken := t.tokens[token.Digest]
	_, idTaken := t.tokenIDs[token.ID]
	if digestTaken || idTaken {
		return authmgmt.ErrExists
	}
	kept := token.Clone()
	if kept.Client != "" {
		kept.Roles = nil
	} else {
		kept.Secret = [32]byte{}
	}
	t.tokens[kept.Digest], t.tokenIDs[kept.ID] = &kept, kept.Digest
	t.addEvent(e)
	return nil
}

// forgetTokens removes the tokens that a condition selects.
func (t *authmgmtTables) forgetTokens(selects func(*authmgmt.Token) bool) {
	for digest, token := range t.tokens {
		if selects(token) {
			delete(t.tokens, digest)
			delete(t.tokenIDs, token.ID)
		}
	}
}

// shown returns a token as a caller sees it, with its client's roles. The caller holds the lock.
func (t *authmgmtTables) shown(token *authmgmt.Token) authmgmt.Token {
	shown := token.Clone()
	if token.Client != "" {
		shown.Roles = slices.Clone(t.clients[ownedID{token.Organization, token.Client}].Roles)
	}
	return shown
}

// TokenByDigest implements [authmgmt.Tokens].
func (a *AuthMgmt) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	if err := ctx.Err(); err != nil {
		return authmgmt.Token{}, err
	}
	a.db.mu.RLock()
	defer a.db.mu.RUnlock()
	if token, ok := a.db.authmgmt.tokens[digest]; ok {
		return a.db.authmgmt.shown(token), nil
	}
	return authmgmt.Token{}, authmgmt.ErrNotFound
}

// UpdateToken implements [authmgmt.Tokens].
func (a *AuthMgmt) UpdateToken(ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	t := &a.db.authmgmt
	token, ok := t.tokens[t.tokenIDs[id]]
	if !ok || token.ID != id || token.Organization != org {
		return authmgmt.ErrNotFound
	}
	changed := t.shown(token)
	e, err := update(&changed)
	if err != nil {
		return err
	}
	token.RevokedAt = changed.RevokedAt
	t.addEvent(e)
	return nil
}

// ListTokens implements [authmgmt.Tokens].
func (a *AuthMgmt) ListTokens(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.TokenPage, error) {
	if err := ctx.Err(); err != nil {
		return authmgmt.TokenPage{}, err
	}
	a.db.mu.RLock()
	defer a.db.mu.RUnlock()
	var all []*authmgmt.Token
	for _, token := range a.db.authmgmt.tokens {
		if token.Organization == org {
			all = append(all, token)
		}
	}
	slices.SortFunc(all, func(x, y *authmgmt.Token) int {
		return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), slices.Compare(y.ID[:], x.ID[:]))
	})
	page := authmgmt.TokenPage{Total: len(all)}
	for _, token := range stretch(all, p) {
		page.Tokens = append(page.Tokens, a.db.authmgmt.shown(token))
	}
	return page, nil
}

package memory

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// client returns a client that is not deleted, nor its organization. The caller holds the
// lock.
func (t *authmgmtTables) client(org, id string) (*authmgmt.Client, bool) {
	c, ok := t.clients[ownedID{org, id}]
	return c, ok && c.DeletedAt.IsZero() && !t.isDeleted(org)
}

// CreateClient implements [authmgmt.Clients].
func (a *AuthMgmt) CreateClient(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	t := &db.authmgmt
	if t.isDeleted(c.Organization) {
		return mortise.ErrDeleted
	}
	id := ownedID{c.Organization, c.ID}
	if _, taken := t.clients[id]; taken || !t.free(nil, c.Secrets) {
		return mortise.ErrExists
	}
	kept := c.Clone()
	t.clients[id] = &kept
	t.clientList.add(c.Organization, &kept)
	for _, s := range kept.Secrets {
		t.secrets[s.Digest] = id
	}
	t.addEvent(e)
	return nil
}

// free reports whether secrets can be stored in the place of those before: their digests
// are not in use, nor twice among them.
func (t *authmgmtTables) free(before, secrets []authmgmt.ClientSecret) bool {
	seen := make(map[[32]byte]bool)
	for _, s := range secrets {
		_, used := t.secrets[s.Digest]
		own := hasDigest(before, s.Digest)
		if used && !own || seen[s.Digest] {
			return false
		}
		seen[s.Digest] = true
	}
	return true
}

func hasDigest(secrets []authmgmt.ClientSecret, digest [32]byte) bool {
	return slices.ContainsFunc(secrets, func(s authmgmt.ClientSecret) bool { return s.Digest == digest })
}

// Client implements [authmgmt.Clients].
func (a *AuthMgmt) Client(ctx context.Context, org, id string) (authmgmt.Client, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return authmgmt.Client{}, err
	}
	defer db.end()
	if c, ok := db.authmgmt.client(org, id); ok {
		return c.Clone(), nil
	}
	return authmgmt.Client{}, mortise.ErrNotFound
}

// ClientBySecret implements [authmgmt.Clients].
func (a *AuthMgmt) ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return authmgmt.Client{}, err
	}
	defer db.end()
	if id, ok := db.authmgmt.secrets[digest]; ok && !db.authmgmt.isDeleted(id.org) {
		return db.authmgmt.clients[id].Clone(), nil
	}
	return authmgmt.Client{}, mortise.ErrNotFound
}

// UpdateClient implements [authmgmt.Clients].
func (a *AuthMgmt) UpdateClient(ctx context.Context, org, id string, update func(*authmgmt.Client) (authmgmt.AuditEvent, error)) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	t := &db.authmgmt
	kept, ok := t.client(org, id)
	if !ok {
		return mortise.ErrNotFound
	}
	given := kept.Clone()
	e, err := update(&given)
	if err != nil {
		return err
	}
	changed := given.Clone()
	changed.Organization, changed.ID, changed.CreatedAt = kept.Organization, kept.ID, kept.CreatedAt
	if !changed.DeletedAt.IsZero() {
		changed.Secrets = nil
	}
	if !t.free(kept.Secrets, changed.Secrets) {
		return mortise.ErrExists
	}
	for _, s := range kept.Secrets {
		delete(t.secrets, s.Digest)
		if !hasDigest(changed.Secrets, s.Digest) {
			t.forgetTokens(func(token *authmgmt.Token) bool { return token.Client != "" && token.Secret == s.Digest })
		}
	}
	for _, s := range changed.Secrets {
		t.secrets[s.Digest] = ownedID{org, id}
	}
	*kept = changed
	if !kept.DeletedAt.IsZero() {
		t.clientList.remove(org, func(c *authmgmt.Client) bool { return c == kept })
	}
	t.addEvent(e)
	db.revocations.countEvent(&e)
	return nil
}

// ListClients implements [authmgmt.Clients].
func (a *AuthMgmt) ListClients(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[authmgmt.Client], err error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	return oldestFirst(db.authmgmt.clientsOf(org), after, limit, (*authmgmt.Client).Clone)
}

// CountClients implements [authmgmt.Counter].
func (a *AuthMgmt) CountClients(ctx context.Context, org string, most int) (n mortise.Count, err error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return n, err
	}
	defer db.end()
	return mortise.CountUpTo(len(db.authmgmt.clientsOf(org)), most), nil
}

// clientsOf returns the clients of an organization, oldest first.
func (t *authmgmtTables) clientsOf(org string) []*authmgmt.Client {
	if t.isDeleted(org) {
		return nil
	}
	return t.clientList[org]
}

package sqlite

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/roletext"
)

const (
	// clientColumns are the columns of a client with one of its secrets, in the order of
	// appendClient.
	clientColumns = "c.organization, c.id, c.name, c.roles, c.created_at, c.updated_at, s.digest, s.id, s.created_at, s.last_used_at, s.expires_at"
	withSecrets   = " LEFT JOIN authmgmt_secrets s ON s.organization = c.organization AND s.client = c.id"

	clientByID = "SELECT " + clientColumns + " FROM authmgmt_clients c" + withSecrets +
		" WHERE c.organization = ? AND c.id = ? AND c.deleted_at IS NULL" + notDeleted + " ORDER BY s.position"
	clientBySecret = "SELECT " + clientColumns + " FROM authmgmt_secrets k" +
		" JOIN authmgmt_clients c ON c.organization = k.organization AND c.id = k.client" + withSecrets +
		" WHERE k.digest = ? AND c.deleted_at IS NULL" + notDeletedOf + "k.organization) ORDER BY s.position"

	insertClient = "INSERT INTO authmgmt_clients (organization, name, roles, updated_at, id, created_at, deleted_at)" +
		" VALUES (?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
	// An UPDATE renews the indexes of every column that it names, so the usual one names
	// none of theirs.
	updateClient = "UPDATE authmgmt_clients SET (name, roles, updated_at) = (?,?,?) WHERE organization = ? AND id = ?"
	deleteClient = "UPDATE authmgmt_clients SET deleted_at = ? WHERE organization = ? AND id = ?"
)

var clientsOf = (&placedRows{
	key:     "organization, id",
	from:    " FROM authmgmt_clients WHERE organization = ?1 AND deleted_at IS NULL" + notDeleted,
	columns: clientColumns,
	join:    " CROSS JOIN authmgmt_clients c ON c.organization = p.organization AND c.id = p.id" + withSecrets,
	alias:   "c", last: ", s.position",
}).list()

// CreateClient implements [authmgmt.Clients].
func (a *AuthMgmt) CreateClient(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
	fresh, changes := secretChanges(&authmgmt.Client{Organization: c.Organization, ID: c.ID}, c.Secrets)
	event, err := auditChange(&e)
	if err != nil {
		return err
	}
	changes = append(changes, event...)
	args := append([]any{c.Organization}, clientArgs(&c)...)
	args = append(args, c.ID, c.CreatedAt.UnixMicro(), micros(c.DeletedAt))
	return a.db.writer.write(ctx, func(tx *tx) error {
		if err := tx.mayCreate(c.Organization); err != nil {
			return err
		}
		if err := tx.checkSecrets(fresh); err != nil {
			return err
		}
		if err := tx.insert(insertClient, args...); err != nil {
			return err
		}
		return tx.apply(changes)
	})
}

// Client implements [authmgmt.Clients].
func (a *AuthMgmt) Client(ctx context.Context, org, id string) (authmgmt.Client, error) {
	return a.client(ctx, org, clientByID, org, id)
}

// ClientBySecret implements [authmgmt.Clients].
func (a *AuthMgmt) ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
	return a.client(ctx, noOrg, clientBySecret, digest[:])
}

func (a *AuthMgmt) client(ctx context.Context, org, query string, args ...any) (authmgmt.Client, error) {
	var found []authmgmt.Client
	err := a.db.find(ctx, org, query, args, func(r *row) error { return appendClient(&found, r) })
	return one(found, err)
}

// UpdateClient implements [authmgmt.Clients].
func (a *AuthMgmt) UpdateClient(ctx context.Context, org, id string, update func(*authmgmt.Client) (authmgmt.AuditEvent, error)) error {
	return a.db.writer.write(ctx, func(tx *tx) error {
		var found []authmgmt.Client
		err := tx.query(clientByID, []any{org, id}, func(r *row) error { return appendClient(&found, r) })
		kept, err := one(found, err)
		if err != nil {
			return err
		}
		var fresh [][]byte
		var changes []change
		err = tx.host(func() error {
			given := kept.Clone()
			e, err := update(&given)
			if err != nil {
				return err
			}
			fresh, changes = clientChanges(&kept, &given)
			event, err := auditChange(&e)
			changes = append(changes, event...)
			return err
		})
		if err != nil {
			return err
		}
		if err := tx.checkSecrets(fresh); err != nil {
			return err
		}
		return tx.apply(changes)
	})
}

// clientChanges returns what makes kept what the update function has left, and the
// digests of its new secrets.
func clientChanges(kept, given *authmgmt.Client) (fresh [][]byte, changes []change) {
	if !sameClient(kept, given) {
		changes = append(changes, change{updateClient, append(clientArgs(given), kept.Organization, kept.ID)})
	}
	secrets := given.Secrets
	if !given.DeletedAt.IsZero() {
		secrets = nil
		changes = append(changes, change{deleteClient, []any{given.DeletedAt.UnixMicro(), kept.Organization, kept.ID}})
	}
	fresh, changed := secretChanges(kept, secrets)
	return fresh, append(changes, changed...)
}

// ListClients implements [authmgmt.Clients].
func (a *AuthMgmt) ListClients(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[authmgmt.Client], err error) {
	at, id, behind, err := pages.ByName(after)
	if err != nil {
		return page, err
	}
	statement, args := clientsOf.page([]any{org}, at, id, behind, limit)
	var clients []authmgmt.Client
	err = a.db.list(ctx, org, statement, args, func(r *row) error { return appendClient(&clients, r) })
	if err != nil {
		return page, err
	}
	return pages.Cut(clients, limit, (*authmgmt.Client).Position), nil
}

// CountClients implements [authmgmt.Counter].
func (a *AuthMgmt) CountClients(ctx context.Context, org string, most int) (mortise.Count, error) {
	return a.countListed(ctx, org, &clientsOf, []any{org}, most)
}

// clientArgs returns the values of a client that can change, as updateClient takes them.
func clientArgs(c *authmgmt.Client) []any {
	return []any{c.Name, roletext.Format(c.Roles), micros(c.UpdatedAt)}
}

// sameClient reports whether the values of clientArgs are equal.
func sameClient(a, b *authmgmt.Client) bool {
	return a.Name == b.Name && slices.Equal(a.Roles, b.Roles) && micros(a.UpdatedAt) == micros(b.UpdatedAt)
}

// appendClient reads a row of clientColumns: the next client, or the next secret of the
// last one, or nothing.
func appendClient(clients *[]authmgmt.Client, r *row) (err error) {
	id := r.text(1)
	if n := len(*clients); n == 0 || (*clients)[n-1].ID != id { // all rows are of one organization
		c := authmgmt.Client{Organization: r.text(0), ID: id, Name: r.text(2), CreatedAt: r.moment(4), UpdatedAt: r.moment(5)}
		if c.Roles, err = roletext.Parse(r.text(3)); err != nil {
			return err
		}
		*clients = append(*clients, c)
	}
	if r.null(6) {
		return nil
	}
	s := authmgmt.ClientSecret{CreatedAt: r.moment(8), LastUsedAt: r.moment(9), ExpiresAt: r.moment(10)}
	r.blob(6, s.Digest[:])
	r.blob(7, s.ID[:])
	last := &(*clients)[len(*clients)-1]
	last.Secrets = append(last.Secrets, s)
	return nil
}

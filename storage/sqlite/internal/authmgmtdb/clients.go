package authmgmtdb

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/roletext"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
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
func (a *Store) CreateClient(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
	fresh, changes := secretChanges(&authmgmt.Client{Organization: c.Organization, ID: c.ID}, c.Secrets)
	event, err := auditChange(&e)
	if err != nil {
		return err
	}
	changes = append(changes, event...)
	args := append([]any{c.Organization}, clientArgs(&c)...)
	args = append(args, c.ID, c.CreatedAt.UnixMicro(), file.Micros(c.DeletedAt))
	return a.db.Write(ctx, func(tx *file.Tx) error {
		if err := mayCreate(tx, c.Organization); err != nil {
			return err
		}
		if err := checkSecrets(tx, fresh); err != nil {
			return err
		}
		if err := tx.Insert(insertClient, args...); err != nil {
			return err
		}
		return tx.Apply(changes...)
	})
}

// Client implements [authmgmt.Clients].
func (a *Store) Client(ctx context.Context, org, id string) (authmgmt.Client, error) {
	return a.client(ctx, org, clientByID, org, id)
}

// ClientBySecret implements [authmgmt.Clients].
func (a *Store) ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
	return a.client(ctx, file.NoOrg, clientBySecret, digest[:])
}

func (a *Store) client(ctx context.Context, org, query string, args ...any) (authmgmt.Client, error) {
	var found []authmgmt.Client
	err := a.db.Find(ctx, org, query, args, func(r *file.Row) error { return appendClient(&found, r) })
	return one(found, err)
}

// UpdateClient implements [authmgmt.Clients].
func (a *Store) UpdateClient(ctx context.Context, org, id string, update func(*authmgmt.Client) (authmgmt.AuditEvent, error)) error {
	return a.db.Write(ctx, func(tx *file.Tx) error {
		var found []authmgmt.Client
		err := tx.Query(clientByID, []any{org, id}, func(r *file.Row) error { return appendClient(&found, r) })
		kept, err := one(found, err)
		if err != nil {
			return err
		}
		var fresh [][]byte
		var changes []file.Change
		err = tx.Host(func() error {
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
		if err := checkSecrets(tx, fresh); err != nil {
			return err
		}
		return tx.Apply(changes...)
	})
}

// clientChanges returns what makes kept what the update function has left, and the
// digests of its new secrets.
func clientChanges(kept, given *authmgmt.Client) (fresh [][]byte, changes []file.Change) {
	if !sameClient(kept, given) {
		changes = append(changes, file.Do(updateClient, append(clientArgs(given), kept.Organization, kept.ID)...))
	}
	secrets := given.Secrets
	if !given.DeletedAt.IsZero() {
		secrets = nil
		changes = append(changes, file.Do(deleteClient, given.DeletedAt.UnixMicro(), kept.Organization, kept.ID))
	}
	fresh, changed := secretChanges(kept, secrets)
	return fresh, append(changes, changed...)
}

// ListClients implements [authmgmt.Clients].
func (a *Store) ListClients(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[authmgmt.Client], err error) {
	at, id, behind, err := pages.ByName(after)
	if err != nil {
		return page, err
	}
	statement, args := clientsOf.page([]any{org}, at, id, behind, limit)
	var clients []authmgmt.Client
	err = a.db.List(ctx, org, statement, args, func(r *file.Row) error { return appendClient(&clients, r) })
	if err != nil {
		return page, err
	}
	return pages.Cut(clients, limit, (*authmgmt.Client).Position), nil
}

// CountClients implements [authmgmt.Counter].
func (a *Store) CountClients(ctx context.Context, org string, most int) (mortise.Count, error) {
	return a.countListed(ctx, org, &clientsOf, []any{org}, most)
}

// clientArgs returns the values of a client that can change, as updateClient takes them.
func clientArgs(c *authmgmt.Client) []any {
	return []any{c.Name, roletext.Format(c.Roles), file.Micros(c.UpdatedAt)}
}

// sameClient reports whether the values of clientArgs are equal.
func sameClient(a, b *authmgmt.Client) bool {
	return a.Name == b.Name && slices.Equal(a.Roles, b.Roles) && file.Micros(a.UpdatedAt) == file.Micros(b.UpdatedAt)
}

// appendClient reads a row of clientColumns: the next client, or the next secret of the
// last one, or nothing.
func appendClient(clients *[]authmgmt.Client, r *file.Row) (err error) {
	id := r.Text(1)
	if n := len(*clients); n == 0 || (*clients)[n-1].ID != id { // all rows are of one organization
		c := authmgmt.Client{Organization: r.Text(0), ID: id, Name: r.Text(2), CreatedAt: r.Moment(4), UpdatedAt: r.Moment(5)}
		if c.Roles, err = roletext.Parse(r.Text(3)); err != nil {
			return err
		}
		*clients = append(*clients, c)
	}
	if r.Null(6) {
		return nil
	}
	s := authmgmt.ClientSecret{CreatedAt: r.Moment(8), LastUsedAt: r.Moment(9), ExpiresAt: r.Moment(10)}
	r.Blob(6, s.Digest[:])
	r.Blob(7, s.ID[:])
	last := &(*clients)[len(*clients)-1]
	last.Secrets = append(last.Secrets, s)
	return nil
}

package authmgmtdb

import (
	"context"
	"slices"
	"strconv"
	"strings"

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
	// clientColumns are the columns of a client with one of its secrets, in the order of
	// clientRow.
	clientColumns = ownColumns + ", " + secretColumns
	ownColumns    = "c.organization, c.id, c.name, c.roles, c.created_at, c.updated_at"
	secretColumns = "s.digest, s.id, s.created_at, s.last_used_at, s.expires_at"
	withSecrets   = " LEFT JOIN @.authmgmt_secrets s ON s.organization = c.organization AND s.client = c.id"

	// Written as deleted_at IS NULL, it would have PostgreSQL take the index of the listing.
	clientIsThere = " AND coalesce(c.deleted_at, '-infinity') = '-infinity'"

	// At READ COMMITTED a statement that waits for a row reads the others as they were
	// before. So the client is locked first, and then read.
	lockClient = "SELECT FROM @.authmgmt_clients WHERE organization || '' = $1 AND id = $2 FOR UPDATE"
	clientByID = "SELECT " + clientColumns + " FROM @.authmgmt_clients c" + withSecrets +
		" WHERE c.organization || '' = $1 AND c.id = $2" + clientIsThere + authNotDeleted + " ORDER BY s.position"
	// The version of a row that PostgreSQL keeps itself: each change of the row has another.
	// Two statements of one table each take the server less time than one of both.
	versionedClient = "SELECT " + ownColumns + ", c.xmin FROM @.authmgmt_clients c" +
		" WHERE c.organization || '' = $1 AND c.id = $2" + clientIsThere + authNotDeleted
	secretsOf = "SELECT " + secretColumns + " FROM @.authmgmt_secrets s" +
		" WHERE s.organization = $1 AND s.client = $2 ORDER BY s.position"
	clientBySecret = "SELECT " + clientColumns + " FROM @.authmgmt_secrets k" +
		" JOIN @.authmgmt_clients c ON c.organization || '' = k.organization AND c.id = k.client" + withSecrets +
		" WHERE k.digest = $1" + clientIsThere + oneNotDeletedOf + "k.organization) IS NULL ORDER BY s.position"

	insertClient = "INSERT INTO @.authmgmt_clients (organization, id, name, roles, created_at, updated_at)" +
		" VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING"
	updateClient = "UPDATE @.authmgmt_clients SET name = $3, roles = $4, updated_at = $5 WHERE organization || '' = $1 AND id = $2"
	deleteClient = "UPDATE @.authmgmt_clients SET deleted_at = $3 WHERE organization || '' = $1 AND id = $2"
)

// These are for an organization, an ID, a version, and the values of updateClient. They
// return a row if they have changed the client.
var (
	updateIfSameClient = "UPDATE @.authmgmt_clients SET name = $4, roles = $5, updated_at = $6" +
		" WHERE organization || '' = $1 AND id = $2 AND xmin = $3::text::xid" + authNotDeleted + " RETURNING 1::bigint, true"

	// The values of insertAudit follow, and the number of revocations, 0 or 1.
	updateAndAudit = &engine.Shared{
		One: "WITH changed AS (" + updateIfSameClient + "), event AS (INSERT INTO @.authmgmt_audit (" + auditColumns + ")" +
			" SELECT $7::uuid, $8::text, $9::timestamptz, $10::text, $11::text, $12::text, $13::text, $14::text FROM changed)" +
			", took AS (INSERT INTO @.revocations (n, last) SELECT $15::bigint, $9::timestamptz FROM changed WHERE $15::bigint > 0)" +
			" SELECT 1::bigint, true FROM changed",
		Many: sqltext.RowsOf(updateAndAuditTypes, "org, client, version, name, roles, updated_at, "+auditColumns+", taken") +
			", changed AS (UPDATE @.authmgmt_clients AS c SET name = r.name, roles = r.roles, updated_at = r.updated_at FROM r" +
			" WHERE c.organization || '' = r.org AND " + sqltext.IsOne("c.id", "client") + " AND c.xmin = r.version::xid" + authNotDeletedOf + "r.org) RETURNING r.n)" +
			", event AS (INSERT INTO @.authmgmt_audit (" + auditColumns + ") SELECT " + auditColumns + " FROM r WHERE " + sqltext.IsIn("n", "changed") + " ORDER BY n)" +
			", took AS (INSERT INTO @.revocations (n, last) SELECT sum(taken), max(at) FROM r WHERE " + sqltext.IsIn("n", "changed") + " HAVING sum(taken) > 0)" +
			" SELECT n, true FROM changed",
		Types: updateAndAuditTypes,
	}
	updateAndAuditTypes = strings.Fields("text text text text text timestamptz uuid text timestamptz text text text text text bigint")
)

var clientsOf = placedRows{
	key:     "organization, id",
	from:    " FROM @.authmgmt_clients WHERE organization = $1 AND deleted_at IS NULL" + authNotDeleted,
	columns: clientColumns,
	join:    " JOIN @.authmgmt_clients c ON c.organization || '' = p.organization AND c.id = p.id" + withSecrets,
	alias:   "c", last: ", s.position",
}

// CreateClient implements [authmgmt.Clients].
func (a *Store) CreateClient(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
	return a.db.Transact(ctx, c.Organization, func(s *engine.Session) error {
		if err := mayCreate(s, c.Organization); err != nil {
			return err
		}
		err := s.Insert(insertClient, c.Organization, c.ID, c.Name, roletext.Format(c.Roles),
			sqltext.Bound(c.CreatedAt), sqltext.Stamp(c.UpdatedAt))
		if err != nil {
			return err
		}
		if err := setSecrets(s, &authmgmt.Client{Organization: c.Organization, ID: c.ID}, c.Secrets); err != nil {
			return err
		}
		return audit(s, &e)
	})
}

// Client implements [authmgmt.Clients].
func (a *Store) Client(ctx context.Context, org, id string) (authmgmt.Client, error) {
	return a.client(ctx, org, clientByID, org, id)
}

// ClientBySecret implements [authmgmt.Clients].
func (a *Store) ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
	return a.client(ctx, engine.NoOrg, clientBySecret, digest[:])
}

func (a *Store) client(ctx context.Context, org, query string, args ...any) (authmgmt.Client, error) {
	return engine.ReadOf(ctx, a.db, org, func(s *engine.Session) (authmgmt.Client, error) { return client(s, query, args...) })
}

func client(s *engine.Session, query string, args ...any) (authmgmt.Client, error) {
	var found []authmgmt.Client
	err := s.Query(clientsTo(&found), query, args...)
	return engine.One(found, err)
}

// clientsTo reads rows of clientColumns, all of one organization.
func clientsTo(clients *[]authmgmt.Client) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var r clientRow
		if err := rows.Scan(r.to()...); err != nil {
			return err
		}
		return r.appendTo(clients)
	}
}

// UpdateClient implements [authmgmt.Clients].
func (a *Store) UpdateClient(ctx context.Context, org, id string, update func(*authmgmt.Client) (authmgmt.AuditEvent, error)) error {
	if done, err := a.updateClientTogether(ctx, org, id, update); done || err != nil {
		return err
	}
	return a.db.Transact(ctx, org, func(s *engine.Session) error {
		key := []any{org, id}
		reads := s.Queued()
		reads.LockShared(authDeletion, org)
		reads.Add(lockClient, key...)
		var found []authmgmt.Client
		reads.Query(clientsTo(&found), clientByID, key...)
		err := reads.Send()
		kept, err := engine.One(found, err)
		if err != nil {
			return err
		}
		given := kept.Clone()
		e, err := update(&given)
		if err != nil {
			return err
		}
		if !given.DeletedAt.IsZero() {
			given.Secrets = nil
		}
		if err := setSecrets(s, &kept, given.Secrets); err != nil {
			return err
		}
		writes := s.Queued()
		// With its secrets the row changes, too: updateClientTogether goes by that.
		if !sameClient(&kept, &given) || !sameSecrets(kept.Secrets, given.Secrets) {
			writes.Add(updateClient, append(key, given.Name, roletext.Format(given.Roles), sqltext.Stamp(given.UpdatedAt))...)
		}
		if !given.DeletedAt.IsZero() {
			writes.Add(deleteClient, append(key, sqltext.Stamp(given.DeletedAt))...)
		}
		e.Organization = org
		if e.ID != uuid.Nil {
			event, err := auditArgs(&e)
			if err != nil {
				return err
			}
			writes.Add(insertAudit, event...)
			if e.Kind.TakesAway() {
				writes.TookAway(e.At)
			}
		}
		return writes.Send()
	})
}

// updateClientTogether reads a client, and writes what update makes of it if nobody else has
// changed it meanwhile. So update holds up nobody, and the write is one of many. If done is
// false, nothing is changed.
func (a *Store) updateClientTogether(
	ctx context.Context, org, id string, update func(*authmgmt.Client) (authmgmt.AuditEvent, error),
) (done bool, err error) {
	if a.db.IsHosted(ctx) {
		return false, nil
	}
	kept, version, err := a.versionedClient(ctx, org, id)
	if err != nil {
		return false, err
	}
	given := kept.Clone()
	e, err := update(&given)
	if err != nil {
		return false, nil // the secrets may be newer than the rest
	}
	if !given.DeletedAt.IsZero() || !sameSecrets(kept.Secrets, given.Secrets) {
		return false, nil // it is seldom, and a digest may be taken: that is the failure of one
	}
	e.Organization = org
	if e.ID == uuid.Nil {
		return false, nil // the service has none only if nothing is changed
	}
	event, err := auditArgs(&e)
	if err != nil {
		return false, err
	}
	args := append([]any{
		org, id, version, given.Name, roletext.Format(given.Roles), sqltext.Stamp(given.UpdatedAt),
	}, event...)
	taken := int64(0)
	if e.Kind.TakesAway() {
		taken = 1
	}
	args = append(args, taken)
	changed := false
	size := 1024
	for _, arg := range args {
		if text, is := arg.(string); is {
			size += len(text)
		}
	}
	err = a.db.InOrder(ctx, org, org+" "+id, size, func(b *engine.Batch) {
		changed = false
		b.LockShared(authDeletion, org)
		b.Share(updateAndAudit, func(bool) { changed = true }, args...)
	})
	if err != nil { // and the pipeline may still be under way
		return false, err
	}
	return changed, nil
}

// versionedClient reads a client and the version of its row. If the client is changed in this
// moment, its secrets may be newer than the rest, and the row has another version then.
func (a *Store) versionedClient(ctx context.Context, org, id string) (c authmgmt.Client, version string, err error) {
	key := []any{org, id}
	var found []authmgmt.Client
	var xmin uint32
	err = a.db.Read(ctx, org, func(s *engine.Session) error {
		found = nil
		var r clientRow
		reads := s.Queued()
		reads.Query(func(rows pgx.Rows) error {
			if err := rows.Scan(append(r.own(), &xmin)...); err != nil {
				return err
			}
			return r.appendTo(&found)
		}, versionedClient, key...)
		reads.Query(func(rows pgx.Rows) error {
			if err := rows.Scan(r.secret()...); err != nil {
				return err
			}
			return r.appendTo(&found)
		}, secretsOf, key...)
		return reads.Send()
	})
	c, err = engine.One(found, err)
	return c, strconv.FormatUint(uint64(xmin), 10), err
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
	clients, err := engine.ReadOf(ctx, a.db, org, func(s *engine.Session) (clients []authmgmt.Client, err error) {
		err = s.Query(clientsTo(&clients), statement, args...)
		return clients, err
	})
	if err != nil {
		return page, err
	}
	return pages.Cut(clients, limit, (*authmgmt.Client).Position), nil
}

// CountClients implements [authmgmt.Counter].
func (a *Store) CountClients(ctx context.Context, org string, most int) (mortise.Count, error) {
	return a.countListed(ctx, org, &clientsOf, []any{org}, most)
}

// sameClient reports whether what updateClient changes is equal.
func sameClient(a, b *authmgmt.Client) bool {
	return a.Name == b.Name && slices.Equal(a.Roles, b.Roles) && sameTime(a.UpdatedAt, b.UpdatedAt)
}

// clientRow is a row of clientColumns: a client with one of its secrets.
type clientRow struct {
	org, id, name, roles, digest                       []byte
	created, updated, secretCreated, lastUsed, expires pgtype.Timestamptz
	secretID                                           *uuid.UUID
}

func (r *clientRow) to() []any { return append(r.own(), r.secret()...) }

func (r *clientRow) own() []any {
	return []any{&r.org, &r.id, &r.name, &r.roles, &r.created, &r.updated}
}

func (r *clientRow) secret() []any {
	return []any{&r.digest, &r.secretID, &r.secretCreated, &r.lastUsed, &r.expires}
}

// appendTo appends the next client, or the next secret of the last one, or nothing.
func (r *clientRow) appendTo(clients *[]authmgmt.Client) (err error) {
	if r.id == nil {
		return nil
	}
	if n := len(*clients); n == 0 || (*clients)[n-1].ID != string(r.id) { // all rows are of one organization
		c := authmgmt.Client{
			Organization: string(r.org), ID: string(r.id), Name: string(r.name), CreatedAt: sqltext.TimeOf(r.created), UpdatedAt: sqltext.TimeOf(r.updated),
		}
		if c.Roles, err = roletext.Parse(string(r.roles)); err != nil {
			return err
		}
		*clients = append(*clients, c)
	}
	if r.digest == nil {
		return nil
	}
	s := authmgmt.ClientSecret{ID: *r.secretID, CreatedAt: sqltext.TimeOf(r.secretCreated), LastUsedAt: sqltext.TimeOf(r.lastUsed), ExpiresAt: sqltext.TimeOf(r.expires)}
	copy(s.Digest[:], r.digest)
	last := &(*clients)[len(*clients)-1]
	last.Secrets = append(last.Secrets, s)
	return nil
}

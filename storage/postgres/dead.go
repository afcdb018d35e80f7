package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// $1 is the schema. PostgreSQL tells of the transactions of other roles only to a role with
// pg_read_all_stats.
const deadRows = "SELECT (SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1)," +
	" (SELECT statement_timestamp() - min(since) FROM (" +
	"SELECT xact_start AS since FROM pg_stat_activity WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND datname = current_database() AND pid <> pg_backend_pid()" +
	" UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) AS t)"

// DeadRows returns about how many dead rows the tables keep, and for how long the oldest
// transaction has run that may see dead rows; 0 without such a transaction. Autovacuum removes rows
// that no transaction can see. Sessions of other roles count if the role of the pool has
// pg_read_all_stats; standbys with feedback and replication slots, which keep rows as well,
// do not.
func (db *DB) DeadRows(ctx context.Context) (rows int64, oldest time.Duration, err error) {
	var since pgtype.Interval
	err = db.read(ctx, noOrg, func(s *session) error {
		return s.row(deadRows, []any{db.opts.Schema}, &rows, &since)
	})
	if err != nil {
		return 0, 0, err
	}
	day := 24 * time.Hour
	return rows, time.Duration(since.Days)*day + time.Duration(since.Microseconds)*time.Microsecond, nil
}

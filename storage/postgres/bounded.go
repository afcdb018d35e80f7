package postgres

import (
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sessionLimits end on the database's side what a program has begun and cannot end, such as
// one whose machine is gone.
var sessionLimits = map[string]string{
	"statement_timeout":                   "10s",
	"lock_timeout":                        "5s",
	"idle_in_transaction_session_timeout": "10s",
}

// option is what sets a parameter in the runtime parameter "options", as psql's PGOPTIONS is.
// A runtime parameter of that name would count instead.
var option = regexp.MustCompile(`(?i)(?:^|\s)(?:-c\s*|--)([a-z_-]+)=`)

// Bounded returns a copy of a pool's configuration for a program that answers requests. It
// sets a statement_timeout and an idle_in_transaction_session_timeout of 10 s, and a
// lock_timeout of 5 s; those that the configuration has already stay. When the context of a
// statement ends, the statement is cancelled on the server, and its connection stays open. By
// itself pgx closes that. The connection of [Migrate] needs no such limits: it may wait for
// another program's.
func Bounded(config *pgxpool.Config) *pgxpool.Config {
	config = config.Copy()
	params, others := config.ConnConfig.RuntimeParams, make(map[string]bool)
	for _, o := range option.FindAllStringSubmatch(params["options"], -1) {
		others[strings.ReplaceAll(strings.ToLower(o[1]), "-", "_")] = true
	}
	for name, value := range sessionLimits {
		if _, given := params[name]; !given && !others[name] {
			params[name] = value
		}
	}
	config.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
	}
	return config
}

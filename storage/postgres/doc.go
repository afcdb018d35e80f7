// Package postgres keeps a queue, and what the packages trigger, vault, authmgmt and
// audiosearch keep, in a PostgreSQL database (https://www.postgresql.org), by way of pgx, so
// that workers and servers run on any number of machines.
//
// [Migrate] makes the tables, in a schema of their own, and [New] takes the host's pool
// and never changes a table. No superuser and no extension is needed, and the programs may
// have a role with fewer rights than that of Migrate, which says which. Package fromsqlite
// fills the tables from a file of storage/sqlite. Any number of programs share them: some
// that only call the services, and some that also run workers.
//
// What a call has written is durable as far as the database's synchronous_commit says when
// it returns without error. A claim of jobs alone does not wait for the disk: if it is lost
// in a crash of the database, the job runs elsewhere. Calls that write little and come often
// (to add a job, or to end one) wait for each other: those that come while a transaction is
// under way share the next one.
//
// Every operation is right at READ COMMITTED, PostgreSQL's default. Names and JSON are text,
// compared as bytes (COLLATE "C"), in a database whose encoding is UTF8. Texts that may hold
// U+0000, such as instructions and errors, are bytea. Times have microseconds. The clock of
// jobs is the database's.
//
// People and their tools read views (mortise.events and its like), not the tables: docs/views.md
// lists them.
//
// # A slow or absent database
//
// A call that cannot be answered within Options.Timeout fails, with an error that is not a
// sentinel: "unavailable" to the services. That bounds waiting for a connection of the
// pool, for a lock, and for the answer. Nothing needs a restart once the cause is gone.
// The server may go on for a while with a statement whose caller is gone. So give the pool
// a statement_timeout, a lock_timeout and an idle_in_transaction_session_timeout of the
// same length or somewhat more, as runtime parameters of its connections. [Bounded] does,
// or they can stand in the URL:
//
//	postgres://user@host/name?statement_timeout=5s&lock_timeout=5s&...
//
// That is for the pool, and not for Migrate, which may wait for another program's.
//
// # PgBouncer
//
// PgBouncer refuses connections with the time limits above, unless its setting
// ignore_startup_parameters names them. Then it leaves them out: set them for the role
// (ALTER ROLE name SET statement_timeout = '10s').
//
// In transaction mode, PgBouncer knows prepared statements from version 1.21 on
// (max_prepared_statements over 0). With an older one, give the pool pgx's
// QueryExecModeExec, and leave the database's bytea_output and DateStyle as they are by default.
// LISTEN does not work there, so give Options.Listen the address of the
// database itself; without it, jobs of other processes are found at the next poll.
package postgres

// A map for those who work on this package.
//
// postgres.go has the settings and New, intx.go is about the host's own transactions and
// queues, and backends.go gives each domain its Backend. The parts are in internal/, as in
// storage/sqlite: engine is the way to the database, which knows no table of a domain; jobs is
// the one table of jobs; triggerdb, authmgmtdb, vaultdb and audiosearchdb keep a domain each,
// and import the engine, their domain, and jobs. sqltext has values and conditions as they are
// written. Read internal/engine/migrations beside them.

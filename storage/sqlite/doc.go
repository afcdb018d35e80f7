// Package sqlite keeps everything in one file on disk, by way of SQLite
// (https://www.sqlite.org) compiled to Go: no cgo, no server.
//
// What a call has written is on the disk when it returns without error: the database runs
// in WAL mode with synchronous=FULL, so every commit ends with an fsync. To be fast all
// the same, one goroutine does all writes of the process and puts what waits at the
// moment into one transaction (group commit). Reads have connections of their own and
// never wait for a write. While a read goes on, the write-ahead log beside the file
// cannot be used anew and grows; so a long one (a backup) costs space. Beyond 64 MB, and
// once a second, new reads wait for up to 0.2 s, so that the log can begin anew.
//
// People and their tools read views (mortise_events and its like), not the tables: docs/views.md
// lists them. [Options.Domains] names the domains that have tables.
//
// [DB.InTx] makes the calls of the stores, and the host's own statements, one transaction.
//
// A host may have tables, views, indexes and triggers of its own in the file
// ([Options.Adopt]), but no trigger on a table of this package: Open refuses a file with one,
// because it would run unseen. For the same reason views and triggers call no function with
// effects here (PRAGMA trusted_schema=OFF).
//
// Several processes may open one file, on one machine. SQLite's locks keep their
// transactions apart, and the leases of jobs end by time, so that one process takes over
// what another one left. Network file systems are not for this.
//
// A full disk, a locked or a read-only file makes calls fail with an error that is not a
// sentinel: "unavailable" to the services. Nothing that was acknowledged is lost by it,
// and calls succeed again once the cause is gone, without a restart.
//
// A file beside which nothing stands was closed in peace. Of such a file Open checks
// header, schema and freelist only. Otherwise, after a crash or while another process has
// the file open, it checks the structure of all of it, for 2 s at most. What is left is
// checked behind the calls, one table after the other, on a connection of its own. A
// large table is one long read, as a backup is: the log grows meanwhile, and one
// processor is busy. Close ends that at once. What damages a row without its page, such
// as another letter in a text, no check finds.
//
// Damage that is found later, by that or by a call that reads it, ends the service of the
// DB: SQLite's word for damage makes all tables be checked, once a minute at most, and if
// two connections find the same, every call fails from then on with what Open says of
// such a file ([ErrUnusable]), [DB.Ping] too. No call writes any more. Close still puts
// what was acknowledged into the file. After it, and if Close came before everything was
// checked, an empty log stays beside the file, so that the next Open checks again.
//
// Do not open and close the database file by other means within the process, not even to
// copy it: on most systems that drops the locks that SQLite holds on it
// (https://www.sqlite.org/howtocorrupt.html, 2.2). [DB.Backup] makes copies. Connections of
// the host's own by the driver that this package uses are safe: sql.Open("sqlite", path), of
// modernc.org/sqlite. They need a busy_timeout, and their writes and those of this package
// wait for each other. Another build of SQLite in the process, such as a driver with cgo,
// is not safe.
package sqlite

// A map for those who work on this package.
//
// sqlite.go opens a database, intx.go has the host's own transactions, and backends.go gives
// each domain its Backend. The parts are in internal/: file is the engine, which knows no
// table; jobs is the one table of jobs; triggerdb, authmgmtdb, vaultdb and audiosearchdb keep a
// domain each, and import the engine, their domain, and jobs. audit has the queries of two
// audit trails. A call of a store is in the room of its domain, in a file named for the things
// that it keeps: an invitation is accepted in authmgmtdb's invitations. Most files of
// storage/memory are called the same, and do the same without SQL. Read
// internal/file/migrations beside them.

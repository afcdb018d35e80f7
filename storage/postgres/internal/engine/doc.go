// Package engine is the way of storage/postgres to a schema of the host's database: sessions and
// transactions on the pool's connections, the group commit, transactions of the host's, notices,
// and the scripts that make the tables, of which it names none. See package postgres for the
// promises.
//
// A room uses it so: Read, Snapshot and Transact call a function with a Session, Together puts
// the statements of a Batch into a group with other callers' statements. Statements name tables
// as @.table, which becomes the schema's.
package engine

// A map for those who work on this package.
//
// migrate.go makes the tables, and inspect.go compares them with migrations/tables.txt, which a
// test writes. Statements go by session.go, and results.go returns their rows; or by group.go,
// which puts small writes of many callers into one. merge.go has statements that they share.
// group_send.go sends the group, late.go together with the first question of the host's queue.
// If there is a transaction of the host's own, they go within that (intx.go, savepoint.go).
// listen.go and commits.go hear notices, locks.go keeps others out. Package turns shares the
// connections. errors.go says which failures may be tried again. probe.go is for tests.

// Package file is the engine of storage/sqlite: an open file, its connections, the group
// commit, reads, the host's transactions, checks and backups. It has the scripts that make the
// tables, and names no table. See package sqlite for the promises.
//
// A room uses it so: Write runs an operation in a transaction, which it shares with others;
// inside it Tx.Host alone runs code of the caller's, and Tx.OnCommit has a function called
// after the commit. Find and List run a query, Read and ReadLong several of one connection.
// MemoryOf keeps a value of the room's own type as long as a transaction, a connection or the
// writer.
package file

// A map for those who work on this package.
//
// file.go opens a file, inspect.go looks at it first, scripts.go makes its tables, and
// schema.go compares them. Every change is an operation that writer.go puts into a group with
// others; tx.go is an operation's view of the transaction. intx.go has the host's own
// transactions, for which the writer stands aside. Reads go by reader.go (Find for rows that an
// index has, List for reads that may take long), where package turns shares the connections
// among organizations. conn.go calls the driver, row.go reads columns, values.go makes values
// of them. check.go looks for damage when the file is opened, and checker.go behind the calls.
// checkpoint.go keeps the log short, busy.go waits for other processes. probe.go is for tests.

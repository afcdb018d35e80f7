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
// The file and its connections: sqlite.go opens it, inspect.go looks at it first,
// scripts.go makes its tables, and schema.go compares them. Every change is an operation
// that writer.go puts into a group with others; tx.go is what an operation sees, and
// host the only place where it runs code of the caller's. intx.go has the host's own
// transactions, for which the writer stands aside. Reads go by reader.go (find for rows
// that an index has, list for reads that may take long), where package turns shares the connections
// among organizations. conn.go calls the driver, row.go reads columns. check.go looks
// for damage when the file is opened, and checker.go behind the calls. checkpoint.go
// keeps the log short, busy.go waits for other processes. jobs.go is the one table of
// jobs, audit.go what two audit trails share. The files of a domain begin with its name.
// Most of storage/memory's are called the same, and do the same without SQL. Read
// migrations/ beside them.
//
// # Where the scores of audiosearch are
//
// Read in this order: audiosearch_layout.go, _scores_put.go, _view.go, _view_blocks.go,
// _search.go, _compact_pack.go. The rest explains itself after that.
//
//	dataset - video - scoring, one by each model: places = (block 8, part 1), ...
//	    |
//	    +---- model, a row for each shelf
//	            +---- block 7, a segment: windows of one video, loose
//	            +---- block 8, packed: 4334 windows of many videos
//	                    layout:  part 0            part 1              part 2
//	                             video 1, 0-899    video 2, 0-1023     video 9, 0-2409
//	                    dead:                                          part 2
//	                    maxima:  of class 0, of class 1, ...
//	                    chunks:  4334 scores of class 0
//	                             4334 scores of class 1, ...
//
//   - window: what a model scores at once; a score is two bytes. vocabulary: a list of
//     classes, stored once for all datasets. shelf: at most 1024 (blockRoom) of them. A
//     model has a row of audiosearch_models for each shelf; all below is of one such row.
//   - block: the scores of some windows. It is a segment at first: at most 1024 windows
//     (segmentWindows) of a video that was scored just now, all classes in one BLOB. It
//     is packed later: at most 4334 windows (chunkWindows) of any videos, and a BLOB for
//     each class, a chunk. The chunks of a block stand side by side. A search of one
//     class reads that class's alone, and not those whose maximum is too small.
//   - layout: whose windows a block has, as parts. place: in which block and part windows
//     of a video are. The two say the same from both ends. dead: a part of a packed block
//     whose scores were replaced or deleted. A segment is removed instead.
//   - loose: a block that is to be packed with others, because it is a segment, or not
//     full, or more than half dead. packing: the step of Compact that makes one full
//     block of loose ones, and another one of what is left.
//   - unfinished: a scoring that comes in parts (audiosearch.Part), over hours. These
//     stand as segments without a block, which searches do not see. PutScoring, at the
//     end, makes blocks of them. So "part" has two meanings: this one, and that of a
//     layout.
//   - change: what a revision of a dataset was about, as a range of videos or of blocks.
//
// What a process keeps in memory for searches:
//
//   - view: a dataset at one revision. It has the metadata (columnar.Columns) by row,
//     which is a small number of each video, and the blocks of each row of a model
//     (scored) with their maxima, but no scores. A search first brings it to the present
//     revision, by the changes since its own.
//   - piece: a part in a view that is not dead, as columnar takes it. spot: the same from
//     the video's end: in which block it is, and where.
//   - view cache: the views of the datasets that were searched last, within
//     Options.AudioSearchMemory. view lock: many searches read a view, or one updates it.
//
// What a run found stands apart, in result sets: the results (_results_put.go), and the
// videos as they were (_results_videos.go), whose metadata is stored once for all runs of
// an organization.

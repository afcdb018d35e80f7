// Package storage is documentation: how to write a backend. The backends are the packages
// below it, but for queuetest, which tests them, and provision, which fills them from a
// document.
//
// A backend is what a domain keeps its data in: a database, a file, a broker. The domain
// packages declare small interfaces, and a backend implements those of the domains that
// it serves. The doc comment of an interface is its contract. Package
// [github.com/seed-6363c74e/mortise/storage/memory] is the reference: it does everything
// in the plainest way, so it is the place to read what a sentence of a contract means.
//
// # The interfaces
//
// The documentation of each domain ends with two lists of its names. The one under "For
// backends" is for you, and its names are in files of their own, such as trigger/store.go.
// Of the other list you need the errors, and all that the interfaces take and return.
//
// For the queue, which serves all domains, package
// [github.com/seed-6363c74e/mortise] has the contract:
//
//   - mortise.Queue delivers jobs. A backend that is a table does not write one: it
//     implements the six methods of mortise.Leases, and leases.New makes the
//     queue of it, with polling, heartbeats and retries. A broker implements Queue
//     itself: see A queue on a broker.
//   - mortise.DeadJobs, mortise.Sharer, leases.JobNotifier and mortise.LossReporter are
//     optional abilities of a Leases. A Queue may be a Sharer and a LossReporter, too. See
//     Leases, Transactions and Lost jobs below.
//   - mortise.HostTx is an optional ability of a Store of any package, if its calls can be
//     part of a transaction of the host's. The plainest one is InTx of storage/memory: it
//     writes to a copy of all tables, which takes their place at the commit.
//   - mortise.RevocationCounter is an optional ability of a Store of any package. If all
//     calls changed one row they would wait for each other: storage/postgres adds rows.
//   - mortise.StepQueue is a Queue that tests drive by hand. A leases.Queue is one.
//
// For package [github.com/seed-6363c74e/mortise/trigger]:
//
//   - trigger.Store keeps the events, counts them, and deletes organizations. Every
//     backend needs it.
//   - trigger.TxStore and trigger.Pruner are optional abilities of a Store: to add and
//     remove jobs in its own transactions, and to forget old events.
//   - trigger.Organizations and trigger.APIKeys are for hosts that have no place of their
//     own for these. A backend may be one of them alone: the suite skips the rest then.
//
// Store and Queue need not come from one backend. Where they do, see Transactions below.
//
// For package [github.com/seed-6363c74e/mortise/authmgmt]:
//
//   - authmgmt.Store keeps clients with their secrets, access tokens, invitations, and
//     the audit trail. It is one interface of five parts, because a change and its audit
//     event are one transaction.
//   - authmgmt.Pruner, authmgmt.KeyChecker and authmgmt.Restorable are optional abilities of
//     a Store: to forget, to notice a wrong key, and to notice that it was restored.
//   - authmgmt.Organizations is for hosts without a place of their own for organizations.
//
// For package [github.com/seed-6363c74e/mortise/vault]:
//
//   - vault.Store keeps vaults, tokens with their fingerprints, the audit trail, and what
//     is known of the keys. It is one interface of seven parts, because they share
//     transactions.
//
// For package [github.com/seed-6363c74e/mortise/audiosearch]:
//
//   - audiosearch.Store keeps datasets, videos, scores, parts of scores that are being
//     made, the current models, runs and their results, and counts runs. It is one
//     interface of several parts: a search reads videos and scores at one moment, parts
//     become scores in one step, and a run names its results in the step that ends it.
//   - audiosearch.TxStore and audiosearch.Pruner are optional abilities of a Store: to
//     add and remove jobs in its own transactions, and to forget and tidy up.
//
// By custom a backend has a function Open that returns a *DB, and a method of DB for each
// domain (DB.Trigger), which returns a small type with that domain's interfaces. DB.Jobs
// returns the table of jobs (mortise.JobTable), DB.Queue(options) the leases.Queue over it. All
// services and workers over one DB may share one queue: each takes the kinds of jobs that
// are its own. DB.Close ends it.
//
// # Errors
//
// The sentinels of a domain, mortise.ErrNotFound say, and of the packages under it, such
// as keyring.ErrRetired, mean what their comments say and nothing else. Return them as
// they are or wrapped with %w. Every other error means "unavailable": the caller may try
// again, and the service answers so. So a lost connection, a full disk or a context that
// has ended must never look like a sentinel: an event that could not be read is not an
// event that does not exist. An error that an update function returned comes back so that
// errors.Is finds it.
//
// # Times
//
// Times are UTC and keep microseconds; the services cut them to that before they call. A
// backend with coarser times cannot order a listing. The zero time means "not yet" and
// comes back as the zero time, so keep it as NULL or as a number that nothing else is. A
// store reads no clock: every time that it compares with is an argument. That keeps
// several machines, and tests with a clock of their own, in agreement.
//
// The table of jobs is the exception. When a job is claimable, and when a lease ends, is
// said by the clock of the backend: the server's where there is one (now() of the
// database, TIME of Redis), so that the clocks of its clients need not agree. Read it in
// the statement that uses it. storage/memory and storage/sqlite go by the clock of the
// machine; their Options.Now is for tests, which move it, and for nothing else.
//
// # Bytes
//
// Strings and raw JSON come back byte for byte: spaces, the digits of numbers, the order
// of keys, duplicate keys. All are valid UTF-8: the services see to it. A database type that
// understands JSON changes it, so store JSON as text. Names (organizations, IDs, sources,
// keys, actors, classes) hold no U+0000. Free texts may, and many text types refuse it, so
// store as bytes: instructions, errors, summaries of outcomes, problems of scorings, messages
// of runs. Fingerprints and ciphertexts are bytes anyway: no error or log line has
// one. Compare names as bytes too: a collation that folds case or ignores trailing spaces
// lets one organization read another one's events. IDs are ordered as 16 bytes.
//
// # Copies and concurrency
//
// Arguments and results belong to the caller. A backend in memory copies at its boundary
// (trigger.Event.Clone). Every method is safe for concurrent use. An update function is
// pure and may be called more than once, so a backend may run it in an optimistic loop or
// under a row lock. It must not be called for what does not exist. If it panics, nothing
// is stored and nothing stays locked.
//
// # Transactions
//
// Each method is one transaction. trigger.Store.CreateEvent is the delicate one: it looks
// for the idempotency key, may take it from an old event, and stores the new one, while
// others do the same with the same key. A unique constraint on organization and key, over
// the events that have a key, settles it.
//
// A backend that keeps events, or runs, and jobs in one database should let its Store be
// a trigger.TxStore, or an audiosearch.TxStore, and its Leases be a mortise.Sharer. Then
// an event and its job are stored together, the event's end and the job's are, too, and
// no crash can come between. Shares must say yes only to a Store of the same database. In
// UpdateEventAndJobs and UpdateRunAndJobs a lost lease is not an error: the update is
// stored, its jobs are added, and the job is left to its holder. A job that
// CreateEventAndAdd or CreateRunAndAdd adds is told of as one of Leases.Add is. Without a
// TxStore the service stores first and enqueues then: see Lost jobs.
//
// A change of authmgmt.Store and the audit event that its update function returns are
// stored together or not at all. Where update functions run one after the other, the
// trail has the order of the changes: each event's Before is the After of the one before
// it. A backend that runs them side by side (optimistic loops) keeps that only for
// changes of one thing.
//
// Two rules of authmgmt.Store are a backend's own to keep: a client's tokens end in the
// transaction that removes their secret, which a foreign key with ON DELETE CASCADE does;
// and of two exclusive invitations of one address at the same moment one is refused,
// which needs a lock, a serializable transaction, or one writer.
//
// Of vault.Store, InsertTokens is the delicate one. The fingerprints of a value stand in
// a table of their own, unique on organization, vault, scope, version and fingerprint:
// that gives two insertions of one value, by whatever processes, one token. The same
// transaction looks at the vault's revision and at the versions of keys that are required
// or retired, so that neither a schema nor a key of yesterday gets anything in. Find out
// first which tokens are taken, then write: a TakenError changes nothing. ImportTokens
// checks the same in one transaction, and gives way to nobody: a token or a fingerprint
// that is there otherwise refuses the whole call, and a row that is there exactly as it
// is brought counts as stored. Tokenizing is the hot path: FindTokens answers a whole
// batch with one query, the revision included.
//
// Deletion marks first, in one small step, and removes later, in steps that hold up
// nobody. From the mark on nothing may show what was deleted, nor make it again, nor
// count it for a rotation. Where a read goes through a row that the mark can change, it
// needs no other look: storage/sqlite gives a vault that was deleted another key in the
// same table, which nobody asks for. Of an organization it looks for the mark by its key,
// in the same statement. The numbers of rows that were removed may be given again, so
// what refers to a row goes in the same transaction.
//
// The scans of vault.KeyRotation go by the order in which the rows stand on the disk. As
// a rule that is the order of their insertion, and never that of their tokens, which are
// random. A cursor has the place of the last row that was looked at, by something that no
// change of a row moves. Look at a bounded number of rows a call, and return a page
// without rows if it selects none of them: over millions of rows that are done already,
// that is many short reads in place of a long one. Bound the bytes of a page, too. Say in
// each row's Place where it stands, if you can. AddFingerprints and Reseal get it back,
// and need not go through the index of the tokens, whose order is not that of the disk. If
// another row stands there by now, or none, look for the row by its token.
//
// # Lists
//
// Every list has one contract. A method takes a cursor and a limit, or a query with After
// and Limit, and returns a mortise.Page:
//
//   - The order of a list is a time, then an ID, both as the comment of the method says;
//     or an ID alone. IDs are compared as bytes, not in the order of a language. The
//     position of an item (trigger.Event.Position, and so on) is both.
//   - A page begins behind its cursor, or at the start of the list for "". The item at the
//     cursor may have gone, or may never have existed: the page goes on with the items
//     that come after the place. An index on (organization, time, ID) answers it, with
//     (time, ID) > (?, ?), or < where the newest item is first.
//   - The limit is 1 to mortise.MaxPageSize. A page has at most limit items, and may have fewer.
//   - Next is the Cursor of the position of the last item of the page, if other items
//     follow it, and else "". Look for one item more than the limit to tell. A page with
//     a Next has an item at least.
//   - Cursor.Position reads a cursor, and Position.UUID and Number read its ID. For a text
//     that they cannot read, return their error. A service asks for no page with such a
//     text; a caller of the store may.
//
// The scans of vault.KeyRotation are lists with an order of the backend's own, and with
// empty pages. A count beside a list (CountClients) counts the items that its pages return.
//
// # On a key-value store
//
// An ordered key-value store with transactions will do. What is a secondary index or a
// unique constraint elsewhere is an entry of its own there, which is written in the
// transaction of its row. A trigger backend needs these:
//
//	events                                  found by
//	id                                      Event, UpdateEvent, CreateEvent (the ID is unique)
//	organization, submitted, id             ListEvents, backwards
//	organization, idempotency key           CreateEvent, ListEvents: there is one event at most
//	wake, id                                Overdue: events that have a WakeAt
//	has a key, status, finished, id         Prune, AllEvents of failed events
//	status, due, id                         Backlog, AllEvents of received and processing ones
//
//	API keys
//	digest                                  KeyByDigest, CreateKey (unique)
//	id                                      UpdateKey, CreateKey (unique)
//	organization, created, id               ListKeys
//
// and organizations by ID. Counts needs an entry of (organization, status). The entries of
// jobs are under Leases. ListEvents
// scans, and asks trigger.EventQuery.Matches for each event; more entries, with the status
// or the source behind the organization, make filters that select little fast. UpdateEvent
// may change anything, so write one function that returns all entries of an event, call it
// with the event before and after, delete the entries that only the first has and put the
// entries that only the second has.
//
// A key of several parts must tell where each part ends, and sort as its parts do. Side
// by side, organization "a" with key "bc" is organization "ab" with key "c", and one
// reads what is the other's. A separator that a part may hold only moves that: with a
// slash, "a/b" with "c" is "a" with "b/c". A length in front tells them apart, but sorts
// short names before long ones. This does both: write each byte 0x00 of a string as 0x00
// 0xFF, and 0x00 0x01 behind its end. Times are their microseconds as eight bytes,
// big-endian, with the sign bit flipped; IDs are 16 bytes. Where no order by name is
// asked for, a hash of the name, which has a fixed length, will do as well.
//
// Updates are best optimistic: read the event and a number that each write of it counts
// up, call update without a transaction or a lock, and then store in a short transaction
// what it left, if the number is still the same; else begin again. Compare the number and
// not the content. What is gone meanwhile is mortise.ErrNotFound and not stored again. So
// a panic of update, or its runtime.Goexit, stays with its caller and holds up nobody.
//
// Such a store syncs to the disk at each commit, so let the calls that wait share one
// (see Durability). With optimistic updates the goroutine that commits runs no code of
// others: it is given rows and the numbers that they must have, and answers a caller
// whose number is another one without a write. So one caller's failure fails nobody else,
// and a caller may leave. What it is given must be copies, and what it reads must be
// copied before the transaction ends, where the store lends its memory. Nobody waits for
// it within a transaction of their own.
//
// # Scores
//
// One row for each segment and class costs 13 to 44 kB a segment with 527 classes; packed
// columns of 16 bits cost about 1 kB. A search reads one class over many videos, so
// scores stand by class, many segments in one piece, with the greatest score beside each
// piece: what cannot come among the best need not be read. Metadata is asked for each
// video of a dataset, so it must not be parsed for that: package
// [github.com/seed-6363c74e/mortise/audiosearch/columnar] holds it typed and
// dictionary-coded, ranks, and is what memory and sqlite build on. The rules that are
// easy to get wrong: ties are ordered by video ID as bytes, then by segment; an offset
// may be anything; PutScoring replaces in one step, and only if the video still has the
// path that was scored.
//
// A model has up to 10,000 classes, each with a name of up to 255 bytes. Keep a list of
// names once, for all datasets, and number the classes for yourself: package
// storage/sqlite keeps at most 1024 of them by one number, so that no step of packing is
// large. Hand out the names as one list that all scorings share: copies would cost more
// than the scores of a short video.
//
// Parts of a scoring are not scores yet: no search, no list of unscored videos and no
// model sees them. PutScoring makes them scores without copying them. So store them in
// the form that they will have, and in the end note only where they are. SetModel
// compares two sets of videos, which can be large: do that outside of the write, and
// write only if nothing has changed meanwhile, or return ErrConflict.
//
// # Results
//
// What a search found can be large: up to 64 MB of metadata. So it comes in pieces before
// the run ends, and the transaction that ends the run only names it. Encode before you
// take a lock or a connection, and keep a video's metadata once, not once for each
// result. Package storage/sqlite keeps equal metadata of an organization once for all
// runs. Remove what was put and never named, in bounded steps: Compact of a Pruner
// is a good place for that.
//
// # Wrappers
//
// A type of the host's that stands round a Store, to count calls or to encrypt, has only
// the optional interfaces that it implements itself, and no backend takes it for its own
// in Shares: its CreateEvent must not be passed by. To keep the shared transaction, wrap
// store and queue together. The store's wrapper has CreateEventAndAdd and
// UpdateEventAndJobs of its own, which call the methods of the store behind it. The queue's
// answers Shares for the wrapper, and passes LostJobs on. The wrappers of
// trigger/triggertest and audiosearch/audiosearchtest do so. There is deliberately no way
// to unwrap a store.
//
// # Durability
//
// What a call acknowledged must outlive the process, and the machine if the backend says
// so. Where every commit costs an fsync, put the calls that wait into one transaction:
// package [github.com/seed-6363c74e/mortise/storage/sqlite] shows how, and what it takes
// so that one caller's failure does not become another's. A caller whose context has
// ended has left: their update function must not run any more, and nothing that they
// passed may be read. What they asked for may still happen.
//
// # Leases
//
// Kind, organization and ID together say which job it is. All three are compared as
// bytes, and must not run together in a key: see On a key-value store. There is one table
// for all kinds, those of hosts included; a backend knows none of them.
//
// A job is claimable from a time on: its At, or the time at which it was added. Claim
// takes jobs of the kinds that it is asked for. It serves one organization after the
// other, in an order of its own that comes to each of them (by name, say), so that an
// organization with many jobs does not hold up the others. It picks those jobs of each that
// have been claimable for longest. It remembers which organization it served
// last, for each set of kinds that is claimed; in memory is enough. An index on (kind,
// organization, the time, the order of arrival) lets it step from one organization to the
// next without a look at the jobs between. It sets the time of a job to the end of the
// lease, counts the delivery, and writes the claim's token beside it; in one statement,
// or so that two claims at once never pick the same row. Extend, Release and Remove do
// their work only where the token is still the same, and return mortise.ErrLeaseLost
// where it is not. Release takes the token away. Nothing else is needed: a consumer that
// dies stops extending, and its jobs become claimable by themselves. A dead job stays as
// a row that no Claim returns and that Add does not replace. mortise.DeadJobs needs an index
// on (kind, the order of arrival) over the dead rows alone, so that other jobs cost nothing.
//
// Cancel removes the row if it has no token and is not dead, whatever its time. A job
// whose lease has run out still has its token: its holder may be at work, so it stays.
//
// An idle consumer looks at the table twice a second, and at once when a job was added
// through its own queue. A backend that is a leases.JobNotifier wakes the consumers of
// every queue over the table: it keeps one list of wake functions for each open database,
// and calls them with the kind of a job that has been committed, outside of what guards
// the table. If it hears of the jobs of other processes, it calls them for those too.
// Polling goes on beside it, so a notice that is lost costs time and no job.
//
// # Transactions of a store's own
//
// A store may be a mortise.Transactor: Transact calls a function with a context under which its
// calls are one transaction, with the host's own statements. Workers end events so, and write
// rows of the host's exactly once (trigger.Outcome.Apply).
//
//   - The context carries the transaction, like the context of a host's InTx. Calls of other
//     callers are no part of it. An event that a call has changed stays locked until the end.
//   - Nothing is called after a commit that is not known to have failed: a lost connection at
//     COMMIT is an error, and the worker reads the event before it tries again.
//
// # Jobs of a host's own
//
// A host may put jobs of its own kinds onto the queue of its database, db.Queue(nil), and have
// them worked beside the jobs of the services (see the example JobsOfAHost). Do not use the kinds
// trigger, audiosearch, authmgmt and vault, which are the domains'; any other is free.
//
//   - Queue.Enqueue adds a job, also in a transaction of the host's own (sqlite.DB.InTx,
//     postgres.InTx): then the job comes if the host's rows are committed, and else not. A job
//     has no content. Its ID names a row of the host's.
//   - Queue.Consume hands out the jobs of the kinds that it is given, and a worker takes only
//     its own. So each kind needs a consumer of its own, and a limit of its own (Workers).
//   - A handler that has given up returns mortise.VerdictDead. db.Jobs() lists, counts and
//     revives these jobs (mortise.DeadJobs). Watch their count: they stay until they are revived.
//   - OnEnd of trigger.Options and of audiosearch.Options returns jobs that tell of an
//     event, or of a run, which has ended: the transaction that ends it adds them, if the
//     queue shares the database. So a job of the host's follows each piece of work (see
//     the example Options (OnEnd) of package trigger).
//   - The jobs of a kind of the host's stay when an organization is deleted. The host removes
//     them, or its handler finds that the organization is gone.
//
// # Lost jobs
//
// Where the store is no TxStore of the queue, a crash may come between the event and its
// job, and a broker may lose jobs that it has acknowledged. So a service looks for events
// and runs whose job may be gone, and adds it again: nothing happens where it is there,
// for Enqueue is idempotent. A store has this part in it:
//
//   - It keeps WakeAt of events and runs as it is given it. It never sets it by itself.
//   - trigger.Store.Overdue and audiosearch.Runs.Overdue return the events and runs whose
//     WakeAt is before a time, the earliest first. An index on WakeAt, over the rows that
//     have one, answers it. The sweeper queues each of them and moves its WakeAt on, so
//     work that merely waits hides no lost job, however much it is.
//   - An event or a run that has ended with a WakeAt is not pruned. Its end is still to
//     be told (OnEnd of the services' Options): the sweeper queues the jobs, and clears
//     its WakeAt.
//
// A job is taken for lost an hour after it was queued (LostAfter), and never sooner than a
// quarter of an hour. A queue that knows of a loss need not be waited for so long. It is a
// mortise.LossReporter, and says before which time jobs were added that may be gone: work
// that was queued before is queued again at the next sweep. The time is compared with the
// clock of the services, so rather name one that is some seconds too late.
//
// A job may also come before the transaction that made its event is committed, if a host
// has the store write in a transaction of its own. A worker tries a job of an unknown
// event again for a minute.
//
// # Counts
//
// A backend that can keep much counts no further than it is asked to (mortise.CountUpTo),
// by runs of entries of an index: each number has a LIMIT. A call must cost little
// however much is kept. An index over the received, processing and failed events serves
// Backlog: it stays small, and its first entries say what is due next. Nothing needs a
// counter that each write changes.
//
// # Bounded steps
//
// Work whose size nothing bounds is done in steps, each of one short transaction or of few:
// what is old is pruned, the score columns are compacted, the fingerprints of a retired key
// are removed, and the rows of what is deleted. All steps have one contract. A step takes a
// limit as its last argument and returns (n int, more bool, err error):
//
//   - n is how many units of the work are done, at most limit. A unit is what the comment
//     of the method names, or a row.
//   - more says that something may be left. Only more ends the loop of a caller. If it is
//     false, no unit is left, except units that another call works at just then.
//   - A step may do less than its limit, whatever is left: a backend bounds a transaction
//     as it needs to, by rows or by bytes.
//   - If more is true and there is no error, n is 1 at least. A service takes a step that
//     has done nothing, and says more, for a failure: its loop would not end.
//   - A limit of 0 does nothing: n is 0, and more may be true.
//   - If there is an error, n units at least are done, and the next call goes on. more
//     means nothing then.
//
// A step of several callers at once must not say more for rows that it has only waited
// for: in SQL, lock the rows that go (FOR UPDATE, below the LIMIT) before they are counted.
//
// These are the bounded steps: trigger.Pruner.Prune, the three methods of authmgmt.Pruner,
// PruneAudit of vault.Audit, RemoveFingerprints of vault.KeyRotation, the three methods of
// audiosearch.Pruner, RemoveDeleted of each Deletion, and RemoveDeletedVault. A method that
// returns a page of rows for a caller to work on, such as Overdue or DueGrants, is not a step.
//
// # Deletion
//
// In every domain an organization is deleted in two ways at once: a mark hides it in one
// transaction, whatever it has, and bounded steps remove its rows (the interface Deletion
// of the domain). The mark is a tombstone: a row with the ID and the time of the first
// mark, in a table of its own, by domain. It stays for good, so that an ID, and what was
// given under it, is never given again.
//
//   - Every read looks at the tombstone, by its key, in its own statement or transaction,
//     and finds nothing if there is one. In SQL that is a NOT EXISTS; where a row that is
//     read anyway can carry the mark, that is cheaper. Do not keep in memory who is
//     deleted, or who is not: another process marks.
//   - Every creation looks at it in the transaction that stores, and is
//     mortise.ErrDeleted. A look before that transaction lets in what comes between: where
//     others can mark at that moment, lock the tombstone's key, or let a constraint decide.
//   - An update goes by what it finds, so it finds nothing, and its function is not
//     called. What was put off (views, caches, compaction) must not write what is hidden.
//   - Maintenance over all organizations leaves the hidden rows out, where that costs no
//     index; a count over all may say that it does not. It looks for tombstones only
//     while something is left of one (audiosearch.Counter.Backlog): storage/sqlite notes
//     there when all is removed.
//   - A step selects rows by an index that begins with the organization, and no more than
//     some MB of them: other writes wait for so long. A row that has many others goes
//     after them. A job goes with what it is for, held or not: whoever holds it finds its
//     lease lost.
//   - Nothing remembers how far the steps are: each removes what it finds first. So they
//     can be cut off, and taken by several callers at once.
//
// # Organizations
//
// Every method takes the organization, and what belongs to another one reads exactly like
// what does not exist. The exceptions are these. A host must not make them reachable for
// its own users.
//
//   - trigger.APIKeys.KeyByDigest: the key itself says which organization is asking.
//   - trigger.Store.Overdue and Progress: maintenance. Sweepers and workers serve every
//     organization.
//   - trigger.Store.AllEvents: maintenance. It is for operators.
//   - trigger.Counter.Backlog and audiosearch.Counter.Backlog: maintenance. They say
//     what workers have to do, who serve every organization.
//   - trigger.Pruner.Prune: maintenance. Retention is the same for all.
//   - authmgmt.Clients.ClientBySecret and authmgmt.Tokens.TokenByDigest: the secret
//     itself says which organization is asking.
//   - authmgmt.Invitations.DueGrants and authmgmt.Pruner: maintenance.
//   - authmgmt.KeyChecker: the key is the installation's.
//   - vault.Keys and vault.KeyRotation: keys are the installation's, and a rotation goes
//     through everything that is stored under one.
//   - The method PruneAudit of vault.Audit: maintenance.
//   - audiosearch.Runs.Overdue and audiosearch.Pruner: maintenance. The ID of a run is
//     unique over all. ModelOrder: models are the host's.
//   - mortise.Leases and mortise.Queue.Consume: a worker serves every organization; the
//     job names its own. mortise.DeadJobs: maintenance.
//
// # Proof
//
// The conformance suites are in packages
// [github.com/seed-6363c74e/mortise/trigger/triggertest],
// [github.com/seed-6363c74e/mortise/authmgmt/authmgmttest],
// [github.com/seed-6363c74e/mortise/vault/vaulttest],
// [github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest], and for queues and
// tables of jobs [github.com/seed-6363c74e/mortise/storage/queuetest]. Every sentence of
// a contract that can be tested is a rule, and a failing rule prints the sentence. A
// backend passes it with a harness of a few lines. Give it Reopen if the data outlives
// the process, and Break if you can make the backend fail: the tests of storage/sqlite
// hold its locks as another process would. Give queuetest SetNow if the table of jobs has
// a clock that can be moved: it is what Options.Now is there for.
//
//	func TestTrigger(t *testing.T) {
//		triggertest.Run(t, triggertest.Harness{Open: open, Reopen: reopen})
//	}
//
// The suites of the domains have the rules of their stores, those of TxStore included;
// all that a queue or a table of jobs promises has its rules in queuetest, which runs
// without any domain.
package storage

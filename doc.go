// Package mortise is the root of an embeddable library for services written in Go. Its
// parts are packages of their own, each of which a service can use alone:
//
//   - [github.com/seed-6363c74e/mortise/trigger] accepts requests to update documentation
//     and sees each one through.
//   - [github.com/seed-6363c74e/mortise/vault] hands out deterministic tokens for
//     sensitive values.
//   - [github.com/seed-6363c74e/mortise/authmgmt] manages machine credentials and
//     invitations.
//   - [github.com/seed-6363c74e/mortise/audiosearch] finds sounds in a collection of
//     videos.
//
// Package [github.com/seed-6363c74e/mortise/httpadapter] serves them over HTTP. Package
// [github.com/seed-6363c74e/mortise/storage] says how to write a backend, and the
// packages below it are backends.
//
// # What the domains share
//
// An [Env] is the clock, the randomness, the logger, the [Observer] and the [Tracer] that a
// host gives to all services. The Observer hears of each thing that happens as an
// [Observation], whose [Kind] and [Reason] are closed lists. An [Actor] names the caller.
// The Tracer carries a trace across the queue, to the worker that does the job.
//
// [ErrNotFound], [ErrExists], [ErrDeleted] and [ErrUnavailable] are the errors of all
// domains. Wrong arguments are a [ValidationError], with a [Problem] for each thing that is
// wrong and a [Path] to it.
//
// A [Count] is how all domains count what can be many: exactly up to [MaxCount], and "at
// least" that beyond. A [Backlog] is the work that the workers of a domain have.
//
// A [Secret] is a text that was made just now and is shown once, such as an API key or an
// access token. It does not print itself.
//
// A [Page] of a list has its items and the [Cursor] of the next page, which goes into a
// link. [Position] is for backends.
//
// A [ManualClock] stands until a test moves it. The fakes of all domains go by one.
//
// # The queue
//
// The other names of this package are the contract between those who have work to be done
// later (trigger, audiosearch, and a host with kinds of its own) and those who deliver
// it. A host that uses a backend of package storage as it is needs none of them, unless it
// has jobs of its own (package storage says how), or looks at [DeadJobs].
//
// A [Job] names work and carries nothing of it, so a job may be lost, or come twice, and
// nothing is lost or done twice: what is to be done, and whether it is done, stands in
// the store of its domain. A [Queue] delivers jobs at least once. All kinds of jobs go
// through one Queue, so an adapter to a broker is written once.
//
// A backend that is a table does not write a Queue. It implements [Leases], and package
// [github.com/seed-6363c74e/mortise/storage/leases] makes the queue of it, with polling,
// heartbeats and retries. A [JobTable] lists its dead letters, too. Package
// [github.com/seed-6363c74e/mortise/storage/queuetest] has the rules that prove a Queue and
// Leases. A [HostTx] is a Store whose calls can be part of a transaction
// of the host's.
package mortise

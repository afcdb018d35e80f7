// Package trigger accepts requests to update documentation, keeps every accepted request
// in a history, and sees each one through to a result.
//
// A request is free-text instructions plus optional JSON metadata. [Service.Submit]
// stores it as an [Event] and puts its job ([Event.Job]) on a queue; a [Worker] takes the
// job and runs the embedder's [Processor], with retries, and writes what came of it into
// the history.
//
// The promise: every accepted event is in the history and is processed at least once,
// whatever crashes. "At least once" means that a Processor may see one event twice, so
// its work must be idempotent.
//
// # Parts
//
// [New] makes a [Service] over a [Backend], whose parts come from a package under storage
// or are the host's own: a [Store] and a [Queue], and two that may be nil. A
// [Directory] says whether an organization is set up and which of its doc collections are
// ready (without one, every organization is), and [APIKeys] stores API keys (without one,
// the host authenticates callers by its own means).
//
// # States
//
//	received -> processing -> completed | failed
//
// An event that waits for another attempt is received again. [Service.Retry] sends a
// failed one back by hand.
//
// # What a host must run
//
// One [Worker] wherever events are to be processed. A worker also runs the [Sweeper],
// which puts on the queue what a crash left stored but not queued, and what the queue may
// have lost. A host whose workers live in other programs, or which is pushed jobs
// ([Worker.Handle]), runs a Sweeper of its own.
//
// [Service.Backlog] says whether the workers keep up, for metrics; [Service.Counts] is for
// an organization's dashboard.
//
// # Deletion
//
// [Service.DeleteOrganization] deletes an organization: from its first call on nothing of
// it can be read, its keys are refused, and its ID is not given again. The calls after it
// remove what is stored.
//
// # For applications
//
// The service: [New], [Service], [Backend], [Options].
//
// Package mortise has the names of all domains: Env, Actor, Observer, Observation, Kind,
// MaxPageSize, Page, Cursor, and the errors ErrNotFound, ErrExists, ErrDeleted,
// ErrUnavailable and ValidationError.
//
// Requests: [Submission], [Event], [Status], [Statuses], [Outcome].
//
// Lists of them: [EventQuery].
//
// The work: [Processor], [Permanent], [RetryAfter], [ErrTimeout], [ErrShutdown],
// [Worker], [NewWorker], [WorkerOptions], [Sweeper], [NewSweeper], [SweeperOptions].
//
// Organizations: [Directory], [Organization], [Collection].
//
// API keys: [APIKey].
//
// How much there is: [Counts].
//
// Errors: of a request [ErrNotConfigured], [ErrNoEligibleCollection],
// [ErrIdempotencyKeyReused], [ErrEnqueueFailed]; of a retry by hand [ErrNotFailed]; of API
// keys [ErrInvalidKey].
//
// # For backends
//
// A [Store] is made of [Unfinished], [Counter] and [Deletion], and may be a [Pruner] and
// a [TxStore]. [APIKeys] and [Organizations] are for hosts that keep these nowhere else.
//
// A [Queue] is one for all domains, mortise.Queue. Who pushes its jobs to Worker.Handle
// tells those of events by [JobKind].
//
// Package triggertest proves a store, and package storage/queuetest a queue.
package trigger

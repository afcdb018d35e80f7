// Package trigger accepts requests to update documentation, keeps every accepted request
// in a history, and sees each one through to a result.
//
// A request is free-text instructions plus optional JSON metadata. [Service.Submit]
// stores it as an [Event] and puts its job ([Event.Job]) on a queue; a [Worker] takes the
// job and runs the embedder's [Processor], with retries, and writes what came of it into
// the history.
//
// The promise: every accepted event is in the history, until it is pruned, and is
// processed at least once unless it is cancelled, whatever crashes. "At least once" means
// that a Processor may see one event twice, so its work must be idempotent. Rows in the
// database of the events are the exception: [Outcome].Apply writes them in the transaction that
// ends the event, and so exactly once.
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
//	received | processing -> cancelled
//	failed | cancelled -> received
//
// An event that waits for its time ([Submission.NotBefore]) or for another attempt is
// received. [Service.Cancel] ends an event that has not ended. [Service.RunNow] makes one due
// that waits. [Service.Retry] sends one back that has failed or was cancelled.
//
// # What a host must run
//
// One [Worker] wherever events are to be processed. A worker also runs the [Sweeper],
// which queues each event that a worker should have by now ([Event].WakeAt): a crash left it
// without a job, its queue refused or lost the job, or its time has come. A host whose workers
// live in other programs, or which is pushed jobs ([Worker.Handle]), runs a Sweeper of its own.
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
// Requests: [Submission], [MaxNotBefore], [MaxSubmissions], [Event], [Status], [Statuses],
// [Outcome], [Attempt], [MaxAttemptsLog].
//
// Lists of them: [EventQuery], and for operators [AllQuery].
//
// The work: [Processor], [Permanent], [RetryAfter], [ErrTimeout], [ErrShutdown],
// [ErrCancelled], [Worker], [NewWorker], [WorkerOptions], [Sweeper], [NewSweeper],
// [SweeperOptions], [Retention].
//
// Organizations: [Directory], [Organization], [Collection].
//
// API keys: [APIKey].
//
// How much there is: [Counts].
//
// Errors: of a request [ErrNotConfigured], [ErrNoEligibleCollection],
// [ErrIdempotencyKeyReused], [ErrTooManyWaiting], [ErrEnqueueFailed]; of actions
// [ErrNotCancellable], [ErrNotRetryable], [ErrNotRunnable]; of API keys [ErrInvalidKey].
//
// # For backends
//
// A [Store] is made of [Maintenance] ([Progress]), [Counter] and [Deletion], and may be a
// [Pruner] and a [TxStore]. [APIKeys] and [Organizations] are for hosts that keep these
// nowhere else.
//
// A [Queue] is one for all domains, mortise.Queue. A host that pushes jobs to Worker.Handle
// recognizes the jobs of events by [JobKind].
//
// Package triggertest proves a store, and package storage/queuetest a queue.
package trigger

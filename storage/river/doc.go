// Package river is a mortise.Queue on River (https://riverqueue.com), for teams that run it.
// A job that Enqueue has accepted is a row in PostgreSQL, and people see it in River's UI
// beside their own. Who does not run River takes the queue of storage/postgres, which needs
// nothing of this, serves organizations in turn, and notices within seconds that a worker
// has died.
//
// There are two ways to have it:
//
//   - [New] takes the host's pool, and [Migrate] makes River's tables in a schema of their
//     own. Each call of Consume runs a client of River's in it.
//   - [NewOver] adds jobs by the host's own client, to its schema. That client works them: it
//     gets the worker of [NewWorker], with the Handle of a trigger.Worker in it, and a queue
//     named by [QueueName] for each kind of jobs. A trigger.Sweeper runs beside it, and the
//     Worker's Run is not called. docs/embedding.md has it as code: client, queue, stores,
//     service and worker need each other in this order, and so the function that NewWorker
//     gets calls a worker that is made last. A program that only submits makes a client
//     without workers, and does not start it.
//
// # What is in River's tables
//
// All jobs are of River's kind "mortise". The queue is the kind of a Job, such as
// "trigger", and the arguments name the work:
//
//	{"kind": "trigger", "organization": "acme", "id": "0198..."}
//
// and nothing of it: no instruction, no context, no result. An organization that JSON would
// not keep is "=" and its base64url. A trace is added as a form. Job.At is River's
// scheduled_at.
//
// A job that is to be retried is snoozed, for the attempts and the backoff are the domain's.
// River counts that in the job's metadata and takes the attempt back, so a Delivery's number
// is the sum of both. Attempts which remain, and errors, are of jobs that were rescued, and of
// handlers that panicked, whose text is in the log and not in the tables: such a job comes
// again with River's own backoff, the fourth power of the attempt in seconds. A dead job is
// "cancelled", is shown by River's UI, and can be added anew; one that is done is "completed".
//
// Leave it to the domain to cancel, delete or retry work. A job that somebody has cancelled or
// deleted in River's UI is gone for good, and the domain does not learn of it. Cancelled while
// it is handled, its handler's context ends with the cause mortise.ErrLeaseLost.
//
// # When a worker dies
//
// River knows no heartbeat. It rescues a job by its age alone: once it has been handled for
// Options.RescueAfter, an hour by default, whether its worker is alive or not. So a job whose
// process died comes again after that time. A handler's context ends shortly before, by a
// tenth of it or a minute, with the cause mortise.ErrLeaseLost. Consume refuses a MaxHandle
// that is longer; make RescueAfter no longer than it need be.
//
// With a client of the host's, that is its RescueStuckJobsAfter, and NewWorker is to be told
// it if it is below an hour.
//
// # Leaders
//
// The clients in one schema elect a leader, by a row in its tables. It alone rescues, removes
// what is old, and makes scheduled jobs available, for all clients, with its own settings:
// so the Options of all programs should agree. While there is no client there is no leader,
// and nothing becomes due. A leader throws stuck jobs away whose kind it has no worker for
// (riverqueue/river#342, #742, #1105). That is why New has a schema of its own and all jobs
// are of one kind; and why, with a client of the host's, each client in its schema that may
// lead needs the worker of NewWorker. One that has not got it sets LeaderElectionDisabled.
//
// A leader looks at scheduled jobs every five seconds. So a job that is added for later, or
// retried after more than that, may come up to five seconds late. One that is retried sooner
// is found at the next poll, a second later at most.
//
// # Transactions
//
// [Queue.EnqueueTx] adds a job in a transaction of the host's. With the stores of
// storage/postgres on the same database, event and job are stored together or not at all, and
// under postgres.InTx together with the host's own rows:
//
//	queue, err := river.New(pool, &river.Options{Tx: postgres.HostTx})
//	db, err := postgres.New(ctx, pool, &postgres.Options{Queue: queue})
//	service, err := trigger.New(db.Trigger(), nil)
//
// A job is done in a transaction of its own, after that of the event: River may hand out once
// more what has been done, and the service sees that there is nothing left to do.
//
// # What it does not do
//
//   - Organizations are not served in turn: River hands out the jobs of a queue in the order
//     in which they became due, and one organization with 10,000 jobs is before all that
//     comes after.
//   - A verdict is written in a batch, shortly after the handler has returned: until then the
//     job is in the queue.
//   - The workers of Consume are of all its kinds, and River's are of one queue. So a consumer
//     of several kinds may be handed more jobs than it has workers. One that has waited for a
//     second is given back, and may be handed to somebody else.
package river

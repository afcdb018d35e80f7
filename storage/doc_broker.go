// # A queue on a broker
//
// A broker is a mortise.Queue, and one adapter serves all domains. These sketches show
// where the contract and the brokers differ. They were written against River 0.43 and
// Redis 6.2; none was compiled or tried by queuetest. What an adapter cannot do is named in
// queuetest.Harness.Skip. Where a sketch names no rule, it is meant to pass.
//
// River, on PostgreSQL:
//
//	type args struct {
//		Job   string            `json:"job" river:"unique"` // kind/organization in hex/ID
//		Trace map[string]string `json:"trace,omitempty"`
//	}
//
//	func (q *queue) Enqueue(ctx context.Context, j mortise.Job) error { // after j.Check
//		_, err := q.client.Insert(ctx, argsOf(j), &river.InsertOpts{
//			Queue: queueOf(j.Kind), ScheduledAt: j.At, MaxAttempts: math.MaxInt16,
//			UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: unfinished},
//		})
//		return err
//	}
//
//	func (q *queue) Consume(ctx context.Context, o mortise.ConsumeOptions, h mortise.Handler) error {
//		c, err := river.NewClient(q.driver, &river.Config{Schema: "mortise_river",
//			Queues: queuesOf(o), Workers: workers(h), JobTimeout: -1,
//			RescueStuckJobsAfter: max(time.Hour, o.MaxHandle+time.Minute)})
//		if err == nil {
//			err = c.Start(context.WithoutCancel(ctx)) // whose end would cut off the handlers
//		}
//		if err != nil {
//			return err
//		}
//		<-ctx.Done()
//		return c.Stop(context.WithoutCancel(ctx))
//	}
//
//	func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
//		switch v := w.handle(ctx, deliveryOf(job)); v.Kind { // Deliveries: attempts and snoozes
//		case mortise.VerdictRetry:
//			return river.JobSnooze(max(v.After, 0))
//		case mortise.VerdictDead:
//			_ = river.MetadataSet(ctx, "mortise", "dead")
//			return river.JobCancel(errDead)
//		}
//		return nil
//	}
//
// The states in unfinished are available, pending, retryable, running and scheduled.
// River's default has completed, too: then a job that was done could not be added anew
// until it is cleaned out. A retry is a snooze and never an error, or River's attempts
// and backoff compete with those of the domain. Since River 0.16 a snooze takes the
// attempt back and counts snoozes in the job's metadata, so Deliveries is the sum of
// both. JobTimeout is a minute by default, and would cut attempts off. River knows no
// heartbeat: a job whose worker died is rescued by its age alone, an hour by default, and
// never before MaxHandle is over. The leader rescues for the whole schema, so take the
// greatest MaxHandle of all consumers. Two clients in one schema elect one leader, and a
// leader that does not know a kind of job throws stuck ones away (riverqueue/river#342,
// #742, #1105): take a schema of your own, or let the host's client work the jobs and
// call trigger.Worker.Handle. MaxWorkers counts for one River queue: a consumer of
// several kinds needs a semaphore over all. Cancel finds the job by its arguments
// (JobList) and calls JobDelete, which leaves a running one alone, with
// rivertype.ErrJobRunning; JobCancel would not. With InsertTx, the Store can be a TxStore
// and the queue a Sharer: only CreateEventAndAdd is called then, for deliveries have no
// token. MetadataSet is there since River 0.39. Skipped: queue/turns and queue/beside,
// for River does not know
// organizations.
//
// NATS JetStream has an adapter, module storage/jetstream: read it before you write one
// for a broker of that kind. What is said there of the server was found in its source, and
// holds for many brokers. A message that is refused with a delay stays pending and counts
// for a limit. An acknowledgement may come before the disk has the message. A window of
// message IDs is no set of jobs. It skips queue/turns and queue/beside.
//
// Redis, as a mortise.Leases: each method is one script, and all keys have one hash tag.
// Claim is
//
//	local t = redis.call('TIME')
//	local now, got, idle = t[1] * 1000000 + t[2], {}, 0
//	while #got < limit and idle < redis.call('LLEN', ring) do
//		local org = redis.call('LMOVE', ring, ring, 'LEFT', 'RIGHT')
//		local key, first, at
//		for _, kind in ipairs(except[org] and {} or kinds) do
//			local k = prefix .. kind .. ':' .. org
//			local r = redis.call('ZRANGE', k, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
//			if r[1] and (not at or older(r, first, at)) then
//				key, first, at = k, r[1], tonumber(r[2])
//			end
//		end
//		idle = first and 0 or idle + 1
//		if first then
//			redis.call('ZADD', key, now + ttl, first) -- the member stays: so does its order
//			redis.call('HSET', job(first), 'token', token)
//			redis.call('HINCRBY', job(first), 'deliveries', 1)
//			got[#got + 1] = first
//		end
//	end
//
// A sorted set for each kind and organization has the jobs that are not dead: the score
// is when a job is claimable, in microseconds, and the member begins with a sequence of
// 16 digits (INCR at Add and at Release), which orders equal scores. A hash has the rest
// of each job. Organizations are in hex in keys. The ring is a list of the organizations
// that have jobs: take one out, in the script that removes its last job. A number keeps
// its digits as an argument of redis.call, but not through .. or tostring: use
// string.format('%.0f', now). Extend, Release and Remove compare the token first; a dead
// job loses its member and keeps its hash. PUBLISH of the kind in Add is what a
// JobNotifier listens to. appendfsync everysec may lose a second of jobs, always none. So
// be a LossReporter: without always, jobs may be lost that were added before the server
// started (TIME less uptime_in_seconds), and in any case when master_replid has changed,
// for replication is asynchronous. No rule needs to be skipped. The TIME of Redis cannot
// be moved, so the rules of exact times are passed over, unless the scripts take another
// time in tests.
package storage

// # A queue on a broker
//
// A broker is a mortise.Queue, and one adapter serves all domains. These sketches show
// where the contract and the brokers differ. They were written against River 0.43,
// nats.go and the NATS server of August 2026, and Redis 6.2; none was compiled or tried
// by queuetest. What an adapter cannot do is named in queuetest.Harness.Skip. Where a
// sketch names no rule, it is meant to pass.
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
// NATS JetStream, with one subject for each job:
//
//	stream := jetstream.StreamConfig{Name: "MORTISE", Subjects: []string{"mortise.>"},
//		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
//		DiscardNewPerSubject: true, MaxMsgsPerSubject: 1}
//	consumer := jetstream.ConsumerConfig{Durable: "mortise_" + kind,
//		FilterSubject: "mortise." + kind + ".>", AckPolicy: jetstream.AckExplicitPolicy,
//		AckWait: 15 * time.Second, MaxAckPending: -1}
//
//	func (q *queue) Enqueue(ctx context.Context, j mortise.Job) error { // after j.Check
//		_, err := q.js.PublishMsg(ctx, messageOf(j)) // mortise.<kind>.<organization in hex>.<ID>
//		if apiErr := (*jetstream.APIError)(nil); errors.As(err, &apiErr) && isPerSubject(apiErr) {
//			return nil // the job is there
//		}
//		return err
//	}
//
//	func (c *consumer) deliver(ctx context.Context, m jetstream.Msg) error {
//		if wait := time.Until(atOf(m)); wait > 0 {
//			return m.NakWithDelay(wait)
//		}
//		stop := beat(m, 5*time.Second) // m.InProgress
//		v := c.handle(ctx, deliveryOf(m)) // Deliveries: NumDelivered, less a wait for At
//		stop()
//		switch v.Kind {
//		case mortise.VerdictRetry:
//			return m.NakWithDelay(max(v.After, time.Millisecond))
//		case mortise.VerdictDead:
//			return errors.Join(c.keepDead(ctx, m), m.TermWithReason("dead"))
//		}
//		return m.DoubleAck(ctx)
//	}
//
// The work queue removes a message when it is acknowledged, and its subject is free
// again. Nats-Msg-Id will not do in its place: it is forgotten after two minutes, and
// until then it swallows a job that is rightly added anew. A second message is refused
// with the error code 10077, which others have, too; ask for the text "maximum messages
// per subject exceeded". A message that waits after NakWithDelay counts for
// MaxAckPending, 1000 by default: so many failing jobs would stop the queue. A dead
// letter is a copy in another stream; TermWithReason needs server 2.10.4. For an At far
// away there are message schedules since server 2.12 (AllowMsgSchedules, Nats-Schedule:
// "@at ..."), with a target subject that is another one than that of the schedule. Cancel
// is Purge with WithPurgeSubject, which takes a job that is held, too: skip
// queue/cancel-held, or return errors.ErrUnsupported. A publish is acknowledged before it
// is on disk, unless the server has sync_interval: always; the default is two minutes. So
// be a LossReporter: jobs may be lost when the stream was created anew
// (StreamInfo.Created) or its last sequence (StreamState.LastSeq, or that of a PubAck)
// went back. Keep the greatest one outside of NATS, or report a loss at each start, which
// costs one look at what is not finished. Skipped besides: queue/turns and queue/beside.
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

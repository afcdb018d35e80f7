// # A queue on a broker
//
// A broker is a mortise.Queue, and one adapter serves all domains. What it cannot do is
// named in queuetest.Harness.Skip. Two are there to be read before you write one, and a
// sketch shows where the contract and a third one differ. It was written against Redis 6.2
// and neither compiled nor tried by queuetest. Where it names no rule, it is meant to pass.
//
// River, on PostgreSQL, has an adapter, module storage/river: read it before you write one
// for a queue of rows. A retry there is a snooze and never an error, or the broker's attempts
// and backoff compete with those of the domain. What finds stuck jobs may go by their age
// alone, pass over workers that have no timeout, and throw away kinds that it does not know.
// A window of uniqueness that has finished jobs in it refuses a job that is rightly added
// anew. Since it has a method that adds a job in a given transaction, a store on the same
// database is a TxStore with it and it is a Sharer, though its deliveries have no token. It
// skips queue/turns and queue/beside, for River does not know organizations.
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
// be moved, so the rules of Leases are passed over, unless the scripts take another time
// in tests.
package storage

// Package jetstream is a mortise.Queue on NATS JetStream, for teams that run NATS. A job
// that Enqueue has accepted is in a stream and is delivered at least once, whichever
// programs die. Whether it outlives a crash of the server depends on the server:
// JetStream acknowledges a message before it is on disk, and syncs every two minutes
// (nats-server issue 7564). With "sync_interval: always" in the jetstream block of its
// configuration, what was accepted is on disk; say so in [Options].Synced. With the default,
// a crash of the machine may take back two minutes of jobs and of verdicts, of a stream of
// one replica at once and of one of three replicas if several fail together. Then
// [Queue.LostJobs] reports a loss, and the services queue again what is not finished.
//
// [New] takes the host's own connection and creates what is not there: a stream of jobs and
// one of dead letters. Consume creates a consumer for each kind of jobs. It needs
// nats-server 2.12 or later, for message schedules. Streams are for this package alone.
//
// # Where a job stands
//
// Each job has a subject of its own, and the stream keeps one message of a subject:
//
//	MORTISE.ready.<kind>.<organization>.<ID>    due: it waits for a consumer, or is held by one
//	MORTISE.later.<kind>.<organization>.<ID>    to become due: a schedule of the server
//	MORTISE.dead.<kind>.<organization>.<ID>     a dead letter, in the stream MORTISE_DEAD
//
// An organization that is a word of A-Z, a-z, 0-9, '_' and '-' stands there as it is, any
// other as "=" and its base64url. A message carries the job's trace, as a form, and how
// often the job was handed out before, in the header Mortise-Deliveries.
//
// Enqueue publishes with the header Nats-Expected-Last-Subject-Sequence: 0, for ready and
// later together, so the server refuses a job that is there, in the same step that would
// store it. That takes the place of discard-new-per-subject: the server does not allow a
// stream to have that and message schedules, and it could not see that a job which is to
// be ready waits as a schedule. A window of message IDs would forget a job that is still
// there, and refuse one that is done and rightly added anew.
//
// A consumer holds a job for AckWait, and tells the server each third of it that it is at
// work; a job whose consumer died or stalled comes elsewhere once AckWait is over. A
// handler's context ends with the cause mortise.ErrLeaseLost shortly before, if the server
// cannot be told. A verdict is written when the server has answered: until then the job may
// come again.
//
// A job that is to be retried leaves the consumer. It becomes a schedule, or, to be retried
// at once, a message at the end of the stream. So a waiting job holds no worker, does not
// count for any limit of the consumer, and comes after what became due before it. A message
// that is refused with a delay, as is usual on JetStream, would stay pending (the limit is
// 1000 by default, and then nothing is delivered), and come before all that is new. The
// server looks at its schedules four times a second. It compares them with its own clock:
// the clocks of clients should agree with it as closely as At and After are to be met.
//
// A dead letter is a copy, for people: with the nats program,
//
//	nats stream view MORTISE_DEAD
//
// It blocks nothing: a job that is dead can be added anew.
//
// # What it does not do
//
//   - Organizations are not served in turn. A consumer hands out its jobs in the order in
//     which they became due, so one organization with 10,000 jobs is before all that comes
//     after. JetStream has no consumer that goes round the subjects of a stream, and a
//     consumer for each organization would be too many. Who needs turns takes a queue that
//     is a table: that of storage/sqlite, or of PostgreSQL.
//   - Cancel takes out a job that waits for its time, and one that was never handed out. Of
//     a job that comes again since its consumer died it cannot tell whether somebody holds
//     it: then it is errors.ErrUnsupported. A schedule that becomes due in the same moment
//     may still come.
//   - A queue shares no transaction with a store. A crash between the two is what the
//     sweepers of the services are for: a Worker runs one.
//   - Several programs should agree on the Options. The first program's Name,
//     Replicas and AckWait count.
package jetstream

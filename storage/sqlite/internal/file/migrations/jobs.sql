-- The jobs of all kinds: which job waits for a worker, and who holds it.
--
-- Times are microseconds since 1970, UTC.

CREATE TABLE mortise_jobs (
	seq          INTEGER PRIMARY KEY, -- of arrival, or of the latest release: decides between equal times
	id           TEXT    NOT NULL,
	kind         TEXT    NOT NULL,
	organization TEXT    NOT NULL,
	claimable_at INTEGER NOT NULL,    -- when it may be claimed: its due time, or the end of its lease
	ready        INTEGER NOT NULL,    -- 0: held, or to be claimable later
	token        BLOB,                -- of the claim that holds it; NULL: no claim does
	deliveries   INTEGER NOT NULL,
	dead         INTEGER NOT NULL,    -- 1: a dead letter, never claimed
	trace        TEXT                 -- key=value&..., percent-encoded; NULL: none
);

-- The ID first: the IDs of new jobs are the greatest of all, mostly.
CREATE UNIQUE INDEX mortise_jobs_id ON mortise_jobs (id, kind, organization);

-- Claims take organizations in turn. They step from one organization to the next in this
-- index of the jobs that are ready: claimable by now, and not held.
CREATE INDEX mortise_jobs_ready ON mortise_jobs (kind, organization, claimable_at, seq)
	WHERE dead = 0 AND ready = 1;

-- The other jobs, until a claim makes them ready.
CREATE INDEX mortise_jobs_later ON mortise_jobs (claimable_at) WHERE dead = 0 AND ready = 0;

-- The dead letters of a kind, as they are listed and counted.
CREATE INDEX mortise_jobs_dead ON mortise_jobs (kind, seq) WHERE dead = 1;

-- How often something was taken away, in all domains: see mortise.Revocations.
CREATE TABLE mortise_revocations (
	one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	database TEXT NOT NULL,
	n        INTEGER NOT NULL,
	last     INTEGER           -- NULL: nothing that has a time
);

INSERT INTO mortise_revocations VALUES (1, lower(hex(randomblob(16))), 0, NULL);

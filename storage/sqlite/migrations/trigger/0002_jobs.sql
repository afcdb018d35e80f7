-- The job table: which events wait for a worker, and who holds them.

CREATE TABLE trigger_jobs (
	seq          INTEGER PRIMARY KEY, -- of arrival, or of the latest release: decides between equal times
	event        BLOB    NOT NULL,
	generation   INTEGER NOT NULL,
	organization TEXT    NOT NULL,
	claimable_at INTEGER NOT NULL,    -- when it may be claimed: its due time, or the end of its lease
	token        BLOB,                -- of the claim that holds it
	deliveries   INTEGER NOT NULL,
	dead         INTEGER NOT NULL     -- 1: a dead letter, never claimed
);

CREATE UNIQUE INDEX trigger_jobs_id ON trigger_jobs (event, generation);

CREATE INDEX trigger_jobs_due ON trigger_jobs (claimable_at, seq) WHERE dead = 0;

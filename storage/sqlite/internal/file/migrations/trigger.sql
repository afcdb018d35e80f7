-- The tables of package trigger: events, organizations and API keys. The jobs of events are
-- in mortise_jobs.
--
-- Times are microseconds since 1970, UTC; NULL is the zero time. IDs are their 16 bytes.
-- Text is UTF-8 as it came, U+0000 included, and is compared as bytes (the default
-- collation).

CREATE TABLE trigger_events (
	id              BLOB    NOT NULL PRIMARY KEY,
	organization    TEXT    NOT NULL,
	status          INTEGER NOT NULL, -- 0 received, 1 processing, 2 completed, 3 failed, 4 cancelled, 5 superseded
	source          TEXT    NOT NULL,
	submitted_by    TEXT    NOT NULL, -- '': none
	instructions    TEXT    NOT NULL,
	context         TEXT,             -- JSON as submitted
	collection      BLOB,             -- NULL: any
	submitted_at    INTEGER NOT NULL,
	started_at      INTEGER,
	finished_at     INTEGER,
	attempts        INTEGER NOT NULL,
	last_error      TEXT    NOT NULL,
	failures        TEXT,             -- JSON: the newest attempts that did not succeed; NULL: none
	outcome_summary TEXT,             -- NULL: no outcome
	outcome_data    TEXT,             -- JSON
	generation      INTEGER NOT NULL,
	idempotency_key TEXT,             -- NULL: none, or released
	body_digest     BLOB,             -- NULL: none
	trace           TEXT,             -- key=value&..., percent-encoded
	due_at          INTEGER,
	wake_at         INTEGER,          -- when a worker should have it; NULL: the job is in this file, or it has ended and that is told
	supersede_key   TEXT,             -- NULL: none
	supersede_since INTEGER,
	superseded_by   BLOB,             -- the ID of the event that ended this one
	body            INTEGER NOT NULL DEFAULT 0, -- 1: instructions and context are in trigger_bodies
	version         INTEGER NOT NULL DEFAULT 0  -- another one after each change of the row; a new row begins with any
);

-- Every combination of filters of a listing is a stretch of an index, newest first, so that
-- no listing reads events that it leaves out. A listing without a status merges the
-- stretches of all statuses.
CREATE INDEX trigger_events_status ON trigger_events (organization, status, submitted_at, id);

-- The same for one source.
CREATE INDEX trigger_events_source ON trigger_events (organization, source, status, submitted_at, id);

-- For counts and lists of all organizations: events that are received, processing or failed,
-- the earliest due first. Counts of one organization use trigger_events_status.
CREATE INDEX trigger_events_open ON trigger_events (status, due_at) WHERE status <> 2 AND status < 4;

CREATE UNIQUE INDEX trigger_events_key ON trigger_events (organization, idempotency_key)
	WHERE idempotency_key IS NOT NULL;

-- For events whose jobs are in a queue elsewhere. Where the jobs are in this file, it is empty.
CREATE INDEX trigger_events_wake ON trigger_events (wake_at) WHERE wake_at IS NOT NULL;

-- For retention, and for lists of all organizations: an event enters one of them when it ends.
-- Events with a key stay for longer, and events without a key are found beside them.
CREATE INDEX trigger_events_finished ON trigger_events (status, finished_at)
	WHERE finished_at IS NOT NULL AND idempotency_key IS NULL;
CREATE INDEX trigger_events_finished_keyed ON trigger_events (status, finished_at)
	WHERE finished_at IS NOT NULL AND idempotency_key IS NOT NULL;

-- Long instructions and contexts, over 2048 bytes together. SQLite writes a row anew as a
-- whole: apart from their event they are not written again by each attempt.
CREATE TABLE trigger_bodies (
	event        BLOB NOT NULL PRIMARY KEY, -- its ID
	instructions TEXT NOT NULL,
	context      TEXT                       -- JSON as submitted
);

CREATE TRIGGER trigger_events_body AFTER DELETE ON trigger_events WHEN old.body BEGIN
	DELETE FROM trigger_bodies WHERE event = old.id;
END;

-- Which organizations there are, for the default Directory.
CREATE TABLE trigger_organizations (
	id             TEXT    NOT NULL PRIMARY KEY,
	setup_complete INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE trigger_collections (
	organization TEXT    NOT NULL REFERENCES trigger_organizations (id),
	id           BLOB    NOT NULL,
	ready        INTEGER NOT NULL,
	PRIMARY KEY (organization, id)
) WITHOUT ROWID;

CREATE TABLE trigger_api_keys (
	digest       BLOB    NOT NULL PRIMARY KEY, -- SHA-256 of the key
	id           BLOB    NOT NULL UNIQUE,
	organization TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	created_at   INTEGER NOT NULL,
	revoked_at   INTEGER,
	last_used_at INTEGER
) WITHOUT ROWID;

CREATE INDEX trigger_api_keys_listing ON trigger_api_keys (organization, created_at, id);

-- Organizations that were deleted. From then on no row of theirs is read, and none is
-- stored; the rows go later, a few at a time. The rows of this table stay: an ID is never
-- reused.
CREATE TABLE trigger_deleted (
	organization TEXT    NOT NULL PRIMARY KEY,
	since        INTEGER NOT NULL -- when it was marked
) WITHOUT ROWID;

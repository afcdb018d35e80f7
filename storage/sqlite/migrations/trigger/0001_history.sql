-- What package trigger keeps: events, organizations and API keys.
--
-- Times are microseconds since 1970, UTC; NULL is the zero time. IDs are their 16 bytes. Text is UTF-8 as it came, U+0000 included.
-- Text is compared as bytes (the default collation).

CREATE TABLE trigger_events (
	id              BLOB    NOT NULL PRIMARY KEY,
	organization    TEXT    NOT NULL,
	status          INTEGER NOT NULL, -- 0 received, 1 processing, 2 completed, 3 failed
	source          TEXT    NOT NULL,
	instructions    TEXT    NOT NULL,
	context         TEXT,             -- JSON as submitted
	collection      BLOB,             -- NULL: any
	submitted_at    INTEGER NOT NULL,
	started_at      INTEGER,
	finished_at     INTEGER,
	attempts        INTEGER NOT NULL,
	last_error      TEXT    NOT NULL,
	outcome_summary TEXT,             -- NULL: no outcome
	outcome_data    TEXT,             -- JSON
	generation      INTEGER NOT NULL,
	unqueued_since  INTEGER,
	idempotency_key TEXT,             -- NULL: none, or released
	body_digest     BLOB,             -- NULL: none
	trace           TEXT              -- key=value&..., percent-encoded
);

-- The listing, newest first.
CREATE INDEX trigger_events_listing ON trigger_events (organization, submitted_at, id);

-- The listing by status. Most events are completed; for those the index above does.
CREATE INDEX trigger_events_open ON trigger_events (organization, status, submitted_at, id) WHERE status <> 2;

CREATE UNIQUE INDEX trigger_events_key ON trigger_events (organization, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX trigger_events_unqueued ON trigger_events (unqueued_since) WHERE unqueued_since IS NOT NULL;

-- For retention only: an event enters it when it ends.
CREATE INDEX trigger_events_finished ON trigger_events (finished_at) WHERE finished_at IS NOT NULL;

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

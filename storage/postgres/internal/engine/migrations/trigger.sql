-- What package trigger keeps: events, organizations and API keys.
--
-- A time that is NULL is the zero time. Statements know the numbers of the statuses by
-- heart.

CREATE TABLE trigger_events (
	id              uuid             NOT NULL PRIMARY KEY,
	version         bigint           NOT NULL, -- each change of the row counts it up
	organization    text COLLATE "C" NOT NULL,
	submitted_at    timestamptz      NOT NULL,
	started_at      timestamptz,
	finished_at     timestamptz,
	due_at          timestamptz,
	wake_at         timestamptz,      -- when a worker should have it; NULL: its job is in this database, or it has ended and that is told
	attempts        bigint           NOT NULL,
	generation      bigint           NOT NULL,
	status          smallint         NOT NULL, -- 0 received, 1 processing, 2 completed, 3 failed, 4 cancelled, 5 superseded
	collection      uuid,             -- NULL: any
	source          text COLLATE "C" NOT NULL,
	submitted_by    text COLLATE "C" NOT NULL, -- empty: none
	instructions    bytea            NOT NULL,
	context         text,             -- JSON as submitted
	idempotency_key text COLLATE "C", -- NULL: none, or released
	body_digest     bytea,            -- NULL: none
	trace           text,             -- key=value&..., percent-encoded
	supersede_key   text COLLATE "C", -- NULL: none
	supersede_since timestamptz,
	superseded_by   uuid,             -- the event that ended this one
	last_error      bytea            NOT NULL,
	failures        text,             -- JSON: the newest attempts that did not succeed; NULL: none
	outcome_summary bytea,            -- NULL: no outcome
	outcome_data    text              -- JSON
);

-- The listing by status, newest first, and what is counted. A listing without a status
-- merges those of all statuses, so that an event is in few indexes: an attempt changes its
-- status, and writes it to each of them anew.
CREATE INDEX trigger_events_status ON trigger_events (organization, status, submitted_at, id);

-- The same of a source.
CREATE INDEX trigger_events_source ON trigger_events (organization, source, status, submitted_at, id);

CREATE UNIQUE INDEX trigger_events_key ON trigger_events (organization, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Events whose jobs are in a queue elsewhere. Where the jobs are in this database, it is empty.
CREATE INDEX trigger_events_wake ON trigger_events (wake_at) WHERE wake_at IS NOT NULL;

-- For retention, and for lists of all organizations: an event enters one of them when it ends.
-- Events with a key stay for longer, and events without a key are found beside them.
CREATE INDEX trigger_events_finished ON trigger_events (status, finished_at) WHERE finished_at IS NOT NULL AND idempotency_key IS NULL;
CREATE INDEX trigger_events_finished_keyed ON trigger_events (status, finished_at) WHERE finished_at IS NOT NULL AND idempotency_key IS NOT NULL;

-- Events of all organizations that are received, processing or failed, the earliest due first.
CREATE INDEX trigger_events_open ON trigger_events (status, due_at) WHERE status <> 2 AND status < 4;

CREATE TABLE trigger_organizations (
	id             text COLLATE "C" NOT NULL PRIMARY KEY,
	setup_complete boolean          NOT NULL
);

CREATE TABLE trigger_collections (
	organization text COLLATE "C" NOT NULL,
	id           uuid             NOT NULL,
	ready        boolean          NOT NULL,
	PRIMARY KEY (organization, id)
);

CREATE TABLE trigger_api_keys (
	digest       bytea            NOT NULL PRIMARY KEY, -- SHA-256 of the key
	id           uuid             NOT NULL UNIQUE,
	organization text COLLATE "C" NOT NULL,
	name         text COLLATE "C" NOT NULL,
	created_at   timestamptz      NOT NULL,
	revoked_at   timestamptz,
	last_used_at timestamptz
);

CREATE INDEX trigger_api_keys_listing ON trigger_api_keys (organization, created_at, id);

-- Organizations that were deleted. From then on nothing of theirs is read, and nothing is
-- stored; the rows go later, a few at a time. These rows stay: an ID is not given again.
CREATE TABLE trigger_deleted (
	organization text COLLATE "C" NOT NULL PRIMARY KEY,
	since        timestamptz      NOT NULL -- when it was marked
);

-- The tables of package authmgmt: clients and their secrets, access tokens, invitations, the
-- audit trail, organizations.
--
-- Times are microseconds since 1970, UTC; NULL is the zero time. IDs of type BLOB are their
-- 16 bytes, digests are SHA-256. Text is UTF-8 as it came, and is compared as bytes (the
-- default collation). Roles are written role/resource/instance,... with each part
-- percent-encoded; an empty text is no role at all, which means full access.

CREATE TABLE authmgmt_clients (
	organization TEXT    NOT NULL,
	id           TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	roles        TEXT    NOT NULL,
	created_at   INTEGER NOT NULL,
	updated_at   INTEGER,
	deleted_at   INTEGER,          -- set: a tombstone, which keeps the ID from being given again
	PRIMARY KEY (organization, id)
) WITHOUT ROWID;

-- The listing. SQLite counts by an index alone only if it has all columns of the query, those
-- of its own condition included.
CREATE INDEX authmgmt_clients_listing ON authmgmt_clients (organization, created_at, id, deleted_at)
	WHERE deleted_at IS NULL;

CREATE TABLE authmgmt_secrets (
	digest       BLOB    NOT NULL PRIMARY KEY,
	id           BLOB    NOT NULL,
	organization TEXT    NOT NULL,
	client       TEXT    NOT NULL,
	position     INTEGER NOT NULL, -- among the client's secrets, from 0
	created_at   INTEGER NOT NULL,
	last_used_at INTEGER,          -- NULL: never
	expires_at   INTEGER,          -- NULL: never
	FOREIGN KEY (organization, client) REFERENCES authmgmt_clients (organization, id)
) WITHOUT ROWID;

CREATE INDEX authmgmt_secrets_client ON authmgmt_secrets (organization, client, position);

CREATE TABLE authmgmt_tokens (
	digest       BLOB    NOT NULL PRIMARY KEY,
	id           BLOB    NOT NULL UNIQUE,
	organization TEXT    NOT NULL,
	subject      TEXT    NOT NULL,
	client       TEXT,             -- NULL: the subject is no client
	-- The secret that it was got with; NULL: it is no client's.
	secret       BLOB REFERENCES authmgmt_secrets (digest) ON DELETE CASCADE,
	roles        TEXT,             -- NULL: the client's
	created_at   INTEGER NOT NULL,
	expires_at   INTEGER,          -- NULL: never
	revoked_at   INTEGER,
	CHECK ((client IS NULL) = (secret IS NULL) AND (client IS NULL) = (roles IS NOT NULL))
) WITHOUT ROWID;

CREATE INDEX authmgmt_tokens_listing ON authmgmt_tokens (organization, created_at, id);

-- For the tokens that end with a secret, and for the oldest ones of a client, which a login finds
-- in the index alone.
CREATE INDEX authmgmt_tokens_secret ON authmgmt_tokens (secret, created_at, id) WHERE secret IS NOT NULL;

-- For retention only.
CREATE INDEX authmgmt_tokens_expiry ON authmgmt_tokens (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE authmgmt_invitations (
	organization   TEXT    NOT NULL,
	id             TEXT    NOT NULL,
	inviter        TEXT    NOT NULL,
	invited_by     TEXT    NOT NULL,
	email          TEXT    NOT NULL,
	email_key      TEXT    NOT NULL, -- as addresses are compared
	name           TEXT    NOT NULL,
	roles          TEXT    NOT NULL,
	generation     INTEGER NOT NULL,
	created_at     INTEGER NOT NULL,
	lifetime       INTEGER NOT NULL, -- microseconds
	expires_at     INTEGER,
	cancelled_at   INTEGER,
	accepted_at    INTEGER,
	accepted_by    TEXT    NOT NULL,
	granted_at     INTEGER,
	grant_due      INTEGER NOT NULL, -- here the zero time is the smallest one
	grant_attempts INTEGER NOT NULL,
	awaits_person  INTEGER NOT NULL,
	ended_at       INTEGER,          -- granted, cancelled, or when it expires; NULL: accepted, not granted yet
	PRIMARY KEY (organization, id)
) WITHOUT ROWID;

CREATE INDEX authmgmt_invitations_listing ON authmgmt_invitations (organization, created_at, id);

-- The listing of one inviter.
CREATE INDEX authmgmt_invitations_inviter ON authmgmt_invitations (organization, inviter, created_at, id);

-- The listing of pending invitations.
CREATE INDEX authmgmt_invitations_pending
	ON authmgmt_invitations (organization, created_at, id, expires_at, accepted_at, cancelled_at)
	WHERE accepted_at IS NULL AND cancelled_at IS NULL;

-- For counts of pending invitations: those that expire later.
CREATE INDEX authmgmt_invitations_open
	ON authmgmt_invitations (organization, expires_at, accepted_at, cancelled_at)
	WHERE accepted_at IS NULL AND cancelled_at IS NULL;

-- Whether an address has a pending one.
CREATE INDEX authmgmt_invitations_email ON authmgmt_invitations (organization, email_key, expires_at)
	WHERE accepted_at IS NULL AND cancelled_at IS NULL;

-- The grants to be made: few, and not for long.
CREATE INDEX authmgmt_invitations_due ON authmgmt_invitations (grant_due, organization, id)
	WHERE accepted_at IS NOT NULL AND granted_at IS NULL AND awaits_person = 0;

-- For retention only.
CREATE INDEX authmgmt_invitations_ended ON authmgmt_invitations (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE authmgmt_audit (
	seq          INTEGER PRIMARY KEY,
	id           BLOB    NOT NULL,
	organization TEXT    NOT NULL,
	at           INTEGER NOT NULL,
	kind         TEXT    NOT NULL,
	actor        TEXT    NOT NULL,
	target       TEXT    NOT NULL,
	before       TEXT,             -- JSON; NULL: it was not there
	after        TEXT              -- JSON; NULL: it is not there any more
);

-- The trail, newest first.
CREATE INDEX authmgmt_audit_listing ON authmgmt_audit (organization, at, id);

-- The events of one target, however many all others have.
CREATE INDEX authmgmt_audit_target ON authmgmt_audit (organization, target, at, id);

-- For retention only.
CREATE INDEX authmgmt_audit_time ON authmgmt_audit (at);

-- Which organizations there are, for the default Directory.
CREATE TABLE authmgmt_organizations (
	id   TEXT    NOT NULL PRIMARY KEY,
	rbac INTEGER NOT NULL -- has role-based access control
) WITHOUT ROWID;

-- Which key the invitations' links are computed from, as a value that says nothing else
-- about it.
CREATE TABLE authmgmt_key_check (
	only  INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
	value BLOB    NOT NULL
);

-- Organizations that were deleted. A row stays for good: the ID is never reused.
CREATE TABLE authmgmt_deleted (
	organization TEXT    NOT NULL PRIMARY KEY,
	at           INTEGER NOT NULL, -- when it was first deleted
	event        INTEGER           -- seq of the event in the trail that says by whom; NULL: there is none
) WITHOUT ROWID;

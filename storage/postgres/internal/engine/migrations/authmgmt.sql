-- What package authmgmt keeps: clients and their secrets, access tokens, invitations, the
-- audit trail, organizations.
--
-- A time that is NULL is the zero time. Digests are SHA-256. Roles are written
-- role/resource/instance,... with each part percent-encoded; an empty text is no role at
-- all, which means full access.
--
-- Of a table that it does not know yet, PostgreSQL would look for an organization's row by
-- any index that begins with the organization, and read all that it has. So such statements
-- say organization || '' = ..., and the primary keys begin with the ID.

CREATE TABLE authmgmt_clients (
	organization text COLLATE "C" NOT NULL,
	id           text COLLATE "C" NOT NULL,
	name         text COLLATE "C" NOT NULL,
	roles        text             NOT NULL,
	created_at   timestamptz      NOT NULL,
	updated_at   timestamptz,
	deleted_at   timestamptz,      -- set: a tombstone, which keeps the ID from being given again
	PRIMARY KEY (id, organization)
);

CREATE INDEX authmgmt_clients_listing ON authmgmt_clients (organization, created_at, id) WHERE deleted_at IS NULL;

CREATE TABLE authmgmt_secrets (
	digest       bytea            NOT NULL PRIMARY KEY,
	id           uuid             NOT NULL,
	organization text COLLATE "C" NOT NULL,
	client       text COLLATE "C" NOT NULL,
	position     integer          NOT NULL, -- among the client's secrets, from 0
	created_at   timestamptz      NOT NULL,
	last_used_at timestamptz,      -- NULL: never
	expires_at   timestamptz,      -- NULL: never
	FOREIGN KEY (organization, client) REFERENCES authmgmt_clients (organization, id)
);

CREATE INDEX authmgmt_secrets_client ON authmgmt_secrets (organization, client, position);

CREATE TABLE authmgmt_tokens (
	digest       bytea            NOT NULL PRIMARY KEY,
	id           uuid             NOT NULL UNIQUE,
	organization text COLLATE "C" NOT NULL,
	subject      text COLLATE "C" NOT NULL,
	client       text COLLATE "C", -- NULL: it stands for itself
	secret       bytea            REFERENCES authmgmt_secrets (digest) ON DELETE CASCADE, -- that it was got with; NULL: it is no client's
	roles        text,             -- NULL: the client's
	created_at   timestamptz      NOT NULL,
	expires_at   timestamptz,      -- NULL: never
	revoked_at   timestamptz,
	CHECK ((client IS NULL) = (secret IS NULL) AND (client IS NULL) = (roles IS NOT NULL))
);

CREATE INDEX authmgmt_tokens_listing ON authmgmt_tokens (organization, created_at, id);

-- For the tokens that end with a secret.
CREATE INDEX authmgmt_tokens_secret ON authmgmt_tokens (secret) WHERE secret IS NOT NULL;

-- For retention only.
CREATE INDEX authmgmt_tokens_expiry ON authmgmt_tokens (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE authmgmt_invitations (
	organization   text COLLATE "C" NOT NULL,
	id             text COLLATE "C" NOT NULL,
	inviter        text COLLATE "C" NOT NULL,
	invited_by     text COLLATE "C" NOT NULL,
	email          text COLLATE "C" NOT NULL,
	email_key      text COLLATE "C" NOT NULL, -- as addresses are compared
	name           text COLLATE "C" NOT NULL,
	roles          text             NOT NULL,
	generation     bigint           NOT NULL,
	created_at     timestamptz      NOT NULL,
	lifetime       bigint           NOT NULL, -- microseconds
	expires_at     timestamptz,
	cancelled_at   timestamptz,
	accepted_at    timestamptz,
	accepted_by    text COLLATE "C" NOT NULL,
	granted_at     timestamptz,
	grant_due      timestamptz      NOT NULL, -- here the zero time is the first of the year 1
	grant_attempts bigint           NOT NULL,
	awaits_person  boolean          NOT NULL,
	ended_at       timestamptz,      -- when it was granted or cancelled, or expires; NULL: accepted, and not granted yet
	PRIMARY KEY (id, organization)
);

CREATE INDEX authmgmt_invitations_listing ON authmgmt_invitations (organization, created_at, id);

-- The listing of one inviter.
CREATE INDEX authmgmt_invitations_inviter ON authmgmt_invitations (organization, inviter, created_at, id);

-- The listing of those that are pending.
CREATE INDEX authmgmt_invitations_pending ON authmgmt_invitations (organization, created_at, id)
	WHERE accepted_at IS NULL AND cancelled_at IS NULL;

-- How many are pending, and whether an address has one.
CREATE INDEX authmgmt_invitations_open ON authmgmt_invitations (organization, expires_at)
	WHERE accepted_at IS NULL AND cancelled_at IS NULL;
CREATE INDEX authmgmt_invitations_email ON authmgmt_invitations (organization, email_key, expires_at)
	WHERE accepted_at IS NULL AND cancelled_at IS NULL;

-- The grants to be made: few, and not for long.
CREATE INDEX authmgmt_invitations_due ON authmgmt_invitations (grant_due, organization, id)
	WHERE accepted_at IS NOT NULL AND granted_at IS NULL AND NOT awaits_person;

-- For retention only.
CREATE INDEX authmgmt_invitations_ended ON authmgmt_invitations (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE authmgmt_audit (
	seq          bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id           uuid             NOT NULL,
	organization text COLLATE "C" NOT NULL,
	at           timestamptz      NOT NULL,
	kind         text COLLATE "C" NOT NULL,
	actor        text COLLATE "C" NOT NULL,
	target       text COLLATE "C" NOT NULL,
	before       text,             -- JSON; NULL: it was not there
	after        text              -- JSON; NULL: it is not there any more
);

-- The trail, newest first.
CREATE INDEX authmgmt_audit_listing ON authmgmt_audit (organization, at, id);

-- What happened to one thing, however much happened to all others.
CREATE INDEX authmgmt_audit_target ON authmgmt_audit (organization, target, at, id);

-- For retention only.
CREATE INDEX authmgmt_audit_time ON authmgmt_audit (at);

CREATE TABLE authmgmt_organizations (
	id   text COLLATE "C" NOT NULL PRIMARY KEY,
	rbac boolean          NOT NULL -- has role-based access control
);

-- Which keys the invitations' links are computed from, as values that say nothing else
-- about them.
CREATE TABLE authmgmt_key_check (
	one   boolean NOT NULL PRIMARY KEY CHECK (one),
	value bytea   NOT NULL -- 32 bytes of each, one behind the other
);

-- Organizations that were deleted. A row stays for good: the ID is not given again.
CREATE TABLE authmgmt_deleted (
	organization text COLLATE "C" NOT NULL PRIMARY KEY,
	at           timestamptz      NOT NULL, -- when it was first deleted
	event        bigint            -- seq of the event in the trail that says by whom; NULL: there is none
);

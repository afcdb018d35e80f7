-- The tables of package vault: vaults, tokens and their fingerprints, the audit trail, and
-- which versions of keys there are.
--
-- Times are microseconds since 1970, UTC. Text is UTF-8 as it came, and is compared as bytes
-- (the default collation). No column holds a value, a key, or a digest that can be computed
-- without a key.

CREATE TABLE vault_vaults (
	seq          INTEGER PRIMARY KEY,
	organization TEXT    NOT NULL,
	id           TEXT    NOT NULL,
	revision     INTEGER NOT NULL,
	created_at   INTEGER NOT NULL,
	updated_at   INTEGER NOT NULL,
	schema       TEXT    NOT NULL, -- JSON, with the columns that were in it before
	UNIQUE (organization, id)
);

-- The scopes that rows were ever stored in. Each row has a small number instead of two names.
CREATE TABLE vault_scopes (
	seq   INTEGER PRIMARY KEY,
	vault INTEGER NOT NULL REFERENCES vault_vaults (seq),
	name  TEXT    NOT NULL,
	UNIQUE (vault, name)
);

-- A row never goes while its vault is there: the rest of a deleted token keeps its name from
-- being given again.
CREATE TABLE vault_tokens (
	seq           INTEGER PRIMARY KEY,
	vault         INTEGER NOT NULL,
	token         TEXT    NOT NULL,
	scope         INTEGER NOT NULL,
	deterministic INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,
	sealed        INTEGER, -- the version of the key; NULL: the token was deleted
	ciphertext    BLOB,    -- NULL: the token was deleted
	UNIQUE (vault, token)
);

-- How many tokens of a scope are sealed under a version of the keys. The transaction that
-- changes the tokens changes the count, too: an index of all tokens would be written by
-- each insertion. A count of zero has no row.
CREATE TABLE vault_counts (
	scope         INTEGER NOT NULL, -- vault_scopes.seq
	deterministic INTEGER NOT NULL,
	sealed        INTEGER NOT NULL, -- the version of the key
	n             INTEGER NOT NULL,
	PRIMARY KEY (scope, deterministic, sealed)
) WITHOUT ROWID;

-- The key begins with the column that differs: then one comparison tells two rows apart. The
-- token is here, too, so that a lookup reads one row only.
CREATE TABLE vault_fingerprints (
	fingerprint BLOB    NOT NULL,
	scope       INTEGER NOT NULL,
	version     INTEGER NOT NULL,
	row         INTEGER NOT NULL, -- vault_tokens.seq
	token       TEXT    NOT NULL,
	PRIMARY KEY (fingerprint, scope, version)
) WITHOUT ROWID;

-- The fingerprints of a row, and of a version. A row has one of each version at most.
CREATE UNIQUE INDEX vault_fingerprints_row ON vault_fingerprints (version, row);

CREATE TABLE vault_keys (
	purpose     TEXT    NOT NULL,
	version     INTEGER NOT NULL,
	check_value BLOB    NOT NULL, -- tells whether a key is the same one; says nothing else about it
	required    INTEGER NOT NULL,
	retired     INTEGER NOT NULL,
	PRIMARY KEY (purpose, version)
) WITHOUT ROWID;

-- 0 to 1023, to count with: a lookup of many fingerprints joins them with this table. Of all
-- ways to give SQLite a list, it is the fastest.
CREATE TABLE vault_numbers (n INTEGER PRIMARY KEY);

INSERT INTO vault_numbers
	WITH RECURSIVE count (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM count WHERE n < 1023)
	SELECT n FROM count;

CREATE TABLE vault_audit (
	seq          INTEGER PRIMARY KEY,
	id           BLOB    NOT NULL,
	organization TEXT    NOT NULL,
	at           INTEGER NOT NULL,
	kind         TEXT    NOT NULL,
	actor        TEXT    NOT NULL,
	vault        TEXT    NOT NULL,
	tokens       TEXT,             -- JSON; NULL: none
	schema       TEXT              -- JSON; NULL: it was no change of one
);

-- The trail, newest first.
CREATE INDEX vault_audit_listing ON vault_audit (organization, at, id);

-- The events of one vault, however many all others have.
CREATE INDEX vault_audit_vault ON vault_audit (organization, vault, at, id);

-- For retention only.
CREATE INDEX vault_audit_time ON vault_audit (at);

-- Organizations and vaults that were deleted. A row stays for each organization, and for
-- each vault of an organization that is there: their IDs are never reused.
CREATE TABLE vault_deleted_orgs (
	organization TEXT    NOT NULL PRIMARY KEY,
	at           INTEGER NOT NULL,
	event        INTEGER,          -- vault_audit.seq of the event that says so, if it has not been pruned
	rest         INTEGER NOT NULL  -- 1: rows of the organization may be there
) WITHOUT ROWID;

-- For vaults whose rows do not count, though they are there: see vault_deletion.go.
CREATE INDEX vault_deleted_orgs_rest ON vault_deleted_orgs (rest) WHERE rest = 1;

CREATE TABLE vault_deleted_vaults (
	organization TEXT    NOT NULL,
	id           TEXT    NOT NULL,
	at           INTEGER NOT NULL,
	PRIMARY KEY (organization, id)
) WITHOUT ROWID;

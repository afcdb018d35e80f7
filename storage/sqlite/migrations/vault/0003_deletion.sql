-- What was deleted. A row stays for each organization, and for each vault of an organization that is there: their IDs are not given again.

CREATE TABLE vault_deleted_orgs (
	organization TEXT    NOT NULL PRIMARY KEY,
	at           INTEGER NOT NULL,
	event        INTEGER,          -- vault_audit.seq of the event that says so, if it has not been pruned
	rest         INTEGER NOT NULL  -- 1: something of what the organization had may be there
) WITHOUT ROWID;

-- The vaults whose rows count for nothing, though they are there: see vault_delete.go.
CREATE INDEX vault_deleted_orgs_rest ON vault_deleted_orgs (rest) WHERE rest = 1;

CREATE TABLE vault_deleted_vaults (
	organization TEXT    NOT NULL,
	id           TEXT    NOT NULL,
	at           INTEGER NOT NULL,
	PRIMARY KEY (organization, id)
) WITHOUT ROWID;

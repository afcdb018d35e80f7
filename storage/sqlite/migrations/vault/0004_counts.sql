-- How many tokens of a scope are sealed under a version of the keys: kept in the transaction that changes it, in place of an index of all
-- tokens, which each insertion wrote. There is no row with none.
CREATE TABLE vault_counts (
	scope         INTEGER NOT NULL, -- vault_scopes.seq
	deterministic INTEGER NOT NULL,
	sealed        INTEGER NOT NULL, -- the version of the key
	n             INTEGER NOT NULL,
	PRIMARY KEY (scope, deterministic, sealed)
) WITHOUT ROWID;

INSERT INTO vault_counts SELECT scope, deterministic, sealed, count(*) FROM vault_tokens INDEXED BY vault_tokens_sealed
	WHERE sealed IS NOT NULL GROUP BY scope, deterministic, sealed;

DROP INDEX vault_tokens_sealed;

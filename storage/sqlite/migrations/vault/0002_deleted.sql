-- How many tokens of a vault were deleted. An insertion does not touch it. (With sealed, which is always NULL, SQLite counts without
-- reading the rows.)
CREATE INDEX vault_tokens_deleted ON vault_tokens (vault, sealed) WHERE sealed IS NULL;

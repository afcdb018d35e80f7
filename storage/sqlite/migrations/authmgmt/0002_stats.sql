-- What is counted is counted in indexes, by runs of their entries. They have the columns of
-- their own conditions, too, so that nothing else is read.

-- Tokens that work: those that never expire, and those that expire later.
CREATE INDEX authmgmt_tokens_live ON authmgmt_tokens (organization, expires_at, revoked_at)
	WHERE revoked_at IS NULL;

-- Invitations that are pending: those that expire later.
CREATE INDEX authmgmt_invitations_open ON authmgmt_invitations (organization, expires_at, accepted_at, cancelled_at)
	WHERE accepted_at IS NULL AND cancelled_at IS NULL;

-- Invitations that are accepted and not granted yet, oldest first.
CREATE INDEX authmgmt_invitations_waiting ON authmgmt_invitations (organization, accepted_at, granted_at)
	WHERE accepted_at IS NOT NULL AND granted_at IS NULL;

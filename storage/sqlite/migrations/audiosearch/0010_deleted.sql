-- Organizations that were deleted. A row stays for ever: nothing is made for them again.
CREATE TABLE audiosearch_deleted (
	organization TEXT    NOT NULL PRIMARY KEY,
	at           INTEGER NOT NULL,
	removed      INTEGER NOT NULL DEFAULT 0 -- 1: there is nothing of it any more
) WITHOUT ROWID;

-- So that what counts the runs of all organizations looks at each only if there are any of these.
CREATE INDEX audiosearch_deleted_left ON audiosearch_deleted (organization) WHERE removed = 0;

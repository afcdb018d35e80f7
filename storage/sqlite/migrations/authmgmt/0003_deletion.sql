-- Organizations that were deleted. A row stays for good: the ID is not given again.
CREATE TABLE authmgmt_deleted (
	organization TEXT    NOT NULL PRIMARY KEY,
	at           INTEGER NOT NULL, -- when it was first deleted
	event        INTEGER           -- seq of the event in the trail that says by whom; NULL: there is none
) WITHOUT ROWID;

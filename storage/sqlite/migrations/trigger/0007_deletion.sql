-- Organizations that were deleted. From then on nothing of theirs is read, and nothing is
-- stored; the rows go later, a few at a time. These rows stay: an ID is not given again.

CREATE TABLE trigger_deleted (
	organization TEXT    NOT NULL PRIMARY KEY,
	since        INTEGER NOT NULL -- when it was marked
) WITHOUT ROWID;

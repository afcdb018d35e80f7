-- What runs found stands in sets. An attempt fills one before its run ends, and then the
-- run names it. Results of older versions stay in audiosearch_results until their runs go.

ALTER TABLE audiosearch_runs ADD COLUMN result_set INTEGER; -- NULL: none

-- For the bound on runs that have not ended.
CREATE INDEX audiosearch_runs_waiting ON audiosearch_runs (organization) WHERE state <> 'TERMINATED';

-- For the bound on those that have.
CREATE INDEX audiosearch_runs_ended ON audiosearch_runs (organization, finished_at, id) WHERE state = 'TERMINATED';

CREATE TABLE audiosearch_result_sets (
	seq   INTEGER PRIMARY KEY,
	run   INTEGER,          -- NULL: nobody needs it, and its rows are being removed
	token BLOB    NOT NULL, -- what the attempt calls it
	UNIQUE (run, token)
);

CREATE TABLE audiosearch_found_results (
	result_set INTEGER NOT NULL,
	place      INTEGER NOT NULL, -- of the first one
	results    TEXT    NOT NULL, -- JSON, without what stands in the tables below
	PRIMARY KEY (result_set, place)
);

-- The videos of a set, as they were.
CREATE TABLE audiosearch_found_videos (
	result_set INTEGER NOT NULL,
	id         TEXT    NOT NULL,
	path       TEXT    NOT NULL,
	metadata   INTEGER,          -- NULL: nil
	PRIMARY KEY (result_set, id)
) WITHOUT ROWID;

-- Metadata that found videos had. An organization has each text once, however many runs found it.
CREATE TABLE audiosearch_found_metadata (
	seq          INTEGER PRIMARY KEY,
	organization TEXT    NOT NULL,
	digest       BLOB    NOT NULL, -- SHA-256 of its keys and values
	videos       INTEGER NOT NULL, -- how many rows of audiosearch_found_videos have it
	UNIQUE (organization, digest)
);

-- Apart from it, so that to count is cheap.
CREATE TABLE audiosearch_found_texts (
	metadata INTEGER PRIMARY KEY,
	text     TEXT NOT NULL -- JSON, with numbers as they came
);

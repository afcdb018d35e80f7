-- What package audiosearch keeps: datasets, their videos and scores, the runs, and the jobs that ask for them.
--
-- Times are microseconds since 1970, UTC; NULL is the zero time. Text is UTF-8 as it came, and is compared as bytes (the default collation).

CREATE TABLE audiosearch_datasets (
	seq          INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again: processes remember datasets by it
	organization TEXT,             -- NULL, and so is the ID: deleted, and its rows are being removed
	id           TEXT,
	created_at   INTEGER NOT NULL,
	revision     INTEGER NOT NULL, -- of the latest change
	forgotten    INTEGER NOT NULL, -- changes up to this revision are not listed any more
	UNIQUE (organization, id)
);

-- Those whose list of changes is due to be cut.
CREATE INDEX audiosearch_datasets_long ON audiosearch_datasets (seq) WHERE revision - forgotten > 8192;

-- What changed in a dataset, by the revision that it became by it: from that and the rows of now, a process that remembers an earlier
-- revision makes the present one.
CREATE TABLE audiosearch_changes (
	dataset  INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	kind     INTEGER NOT NULL, -- 0: videos, 1: blocks
	first    INTEGER NOT NULL, -- seq of the first one that was added, changed or removed
	last     INTEGER NOT NULL,
	PRIMARY KEY (dataset, revision)
) WITHOUT ROWID;

CREATE TABLE audiosearch_videos (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again
	dataset  INTEGER NOT NULL,
	id       TEXT    NOT NULL,
	path     TEXT    NOT NULL,
	metadata TEXT,             -- JSON, with numbers as they came; NULL: nil
	UNIQUE (dataset, id)
);

-- How videos of a dataset were scored. A scoring that ended in a problem has no classes.
CREATE TABLE audiosearch_models (
	seq        INTEGER PRIMARY KEY,
	dataset    INTEGER NOT NULL,
	model      TEXT    NOT NULL,
	window     INTEGER NOT NULL, -- nanoseconds
	hop        INTEGER NOT NULL, -- nanoseconds
	classes    BLOB    NOT NULL, -- 2 bytes each, little-endian, ascending
	-- What is to be packed, of all blocks that are loose: windows, windows of replaced or deleted scores, and segments.
	loose_live INTEGER NOT NULL DEFAULT 0,
	loose_dead INTEGER NOT NULL DEFAULT 0,
	segments   INTEGER NOT NULL DEFAULT 0,
	UNIQUE (dataset, model, window, hop, classes)
);

CREATE INDEX audiosearch_models_due ON audiosearch_models (seq) WHERE loose_live >= 4334 OR loose_dead >= 4334 OR segments >= 256;

CREATE TABLE audiosearch_scorings (
	video       INTEGER NOT NULL,
	model       INTEGER NOT NULL,
	size        INTEGER NOT NULL, -- of the file
	modified_at INTEGER,
	digest      BLOB    NOT NULL,
	at          INTEGER,
	problem     TEXT,             -- NULL: it was scored
	duration    INTEGER NOT NULL, -- milliseconds
	windows     INTEGER NOT NULL,
	has_video   INTEGER NOT NULL,
	keyframes   BLOB,             -- milliseconds, each as a varint of the step from the one before; NULL: nil
	places      BLOB,             -- where the scores are, as varints: block, number in its layout, first row, rows, ...
	PRIMARY KEY (video, model)
) WITHOUT ROWID;

-- A block holds the scores of some windows, by the same model: one segment of a video that was scored just now, or a chunk for each class.
CREATE TABLE audiosearch_blocks (
	seq     INTEGER PRIMARY KEY,
	model   INTEGER NOT NULL,
	packed  INTEGER NOT NULL, -- 0: a segment, 1: chunks
	loose   INTEGER NOT NULL, -- 1: to be packed with others
	windows INTEGER NOT NULL,
	live    INTEGER NOT NULL, -- windows of scores that were not replaced or deleted
	layout  BLOB    NOT NULL, -- whose windows they are, as varints: video (as the step from the one before), its first window, how many, ...
	maxima  BLOB              -- the greatest score of each class, 2 bytes, little-endian; NULL: a segment
);

CREATE INDEX audiosearch_blocks_model ON audiosearch_blocks (model, seq);

CREATE INDEX audiosearch_blocks_loose ON audiosearch_blocks (model, packed, seq) WHERE loose = 1;

-- The parts of packed blocks whose scores were replaced or deleted, by their number in the layout.
CREATE TABLE audiosearch_dead (
	block INTEGER NOT NULL,
	part  INTEGER NOT NULL,
	PRIMARY KEY (block, part)
) WITHOUT ROWID;

-- Scores are 2 bytes, little-endian. A segment holds those of all classes, one class after the other.
CREATE TABLE audiosearch_segments (
	block  INTEGER PRIMARY KEY,
	scores BLOB NOT NULL
);

-- The chunk of a block for one class. The chunks of a block stand side by side.
CREATE TABLE audiosearch_chunks (
	seq    INTEGER PRIMARY KEY, -- block * 1024 + number of the class among those of the model
	scores BLOB NOT NULL
);

CREATE TABLE audiosearch_runs (
	id           INTEGER PRIMARY KEY,
	organization TEXT    NOT NULL,
	actor        TEXT    NOT NULL,
	query        TEXT    NOT NULL, -- JSON
	state        TEXT    NOT NULL,
	termination  TEXT    NOT NULL,
	message      TEXT    NOT NULL,
	done         INTEGER NOT NULL,
	total        INTEGER NOT NULL,
	attempts     INTEGER NOT NULL,
	created_at   INTEGER,
	updated_at   INTEGER,
	started_at   INTEGER,
	finished_at  INTEGER,
	trace        TEXT              -- key=value&..., percent-encoded
);

CREATE INDEX audiosearch_runs_open ON audiosearch_runs (updated_at, id) WHERE state <> 'TERMINATED';

-- For retention only.
CREATE INDEX audiosearch_runs_finished ON audiosearch_runs (finished_at) WHERE finished_at IS NOT NULL;

-- Apart from the runs, so that what asks how far a run is need not pass it.
CREATE TABLE audiosearch_results (
	run     INTEGER PRIMARY KEY,
	results TEXT    NOT NULL -- JSON
);

CREATE TABLE audiosearch_jobs (
	seq          INTEGER PRIMARY KEY, -- of arrival, or of the latest release: decides between equal times
	run          INTEGER NOT NULL UNIQUE,
	organization TEXT    NOT NULL,
	claimable_at INTEGER NOT NULL,    -- when it may be claimed: its due time, or the end of its lease
	token        BLOB,                -- of the claim that holds it
	deliveries   INTEGER NOT NULL
);

CREATE INDEX audiosearch_jobs_due ON audiosearch_jobs (claimable_at, seq);

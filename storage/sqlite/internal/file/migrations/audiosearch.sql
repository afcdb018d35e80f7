-- The tables of package audiosearch: datasets, their videos and scores, the runs and their
-- results. The jobs of runs are in mortise_jobs.
--
-- Times are microseconds since 1970, UTC; NULL is the zero time. Text is UTF-8 as it came,
-- and is compared as bytes (the default collation).

CREATE TABLE audiosearch_datasets (
	seq          INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: processes remember datasets by it
	organization TEXT,             -- NULL, and so is the ID: deleted, and its rows are being removed
	id           TEXT,
	created_at   INTEGER NOT NULL,
	revision     INTEGER NOT NULL, -- of the latest change
	forgotten    INTEGER NOT NULL, -- changes up to this revision are not listed any more
	UNIQUE (organization, id)
);

-- Datasets whose list of changes is due to be cut.
CREATE INDEX audiosearch_datasets_long ON audiosearch_datasets (seq) WHERE revision - forgotten > 8192;

-- The changes of a dataset, by the revision that each made. From these and the rows of now, a
-- process that remembers an earlier revision makes the present one.
CREATE TABLE audiosearch_changes (
	dataset  INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	kind     INTEGER NOT NULL, -- 0: videos, 1: blocks
	first    INTEGER NOT NULL, -- seq of the first one that was added, changed or removed
	last     INTEGER NOT NULL,
	PRIMARY KEY (dataset, revision)
) WITHOUT ROWID;

CREATE TABLE audiosearch_videos (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused
	dataset  INTEGER NOT NULL,
	id       TEXT    NOT NULL,
	path     TEXT    NOT NULL,
	metadata TEXT,             -- JSON, with numbers as they came; NULL: nil
	UNIQUE (dataset, id)
);

-- The classes of models. Each list is stored once, for all datasets.
CREATE TABLE audiosearch_vocabularies (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: processes remember lists by it
	digest  BLOB    NOT NULL UNIQUE, -- SHA-256 of the names, each with a zero byte behind it
	classes INTEGER NOT NULL,        -- how many
	names   TEXT    NOT NULL         -- JSON
);

-- How videos of a dataset were scored. A scoring that ended in a problem has no classes. A
-- row has at most 1024 classes, because the numbers of chunks have no room for more. A model
-- of more classes has several rows, each with a shelf of them.
CREATE TABLE audiosearch_models (
	seq        INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: processes remember rows by it
	dataset    INTEGER NOT NULL,
	model      TEXT    NOT NULL,
	media      TEXT    NOT NULL, -- the ID of the decoder of the videos
	window     INTEGER NOT NULL, -- nanoseconds
	hop        INTEGER NOT NULL, -- nanoseconds
	vocabulary INTEGER NOT NULL,
	shelf      INTEGER NOT NULL, -- 0: the classes 0 to 1023, 1: those from 1024 on, ...
	scorings   INTEGER NOT NULL DEFAULT 0, -- how many rows of audiosearch_scorings name it
	latest     INTEGER NOT NULL DEFAULT 0, -- the dataset's revision before the latest one of these
	-- How much there is to pack in all loose blocks: windows, windows of replaced or deleted
	-- scores, and segments.
	loose_live INTEGER NOT NULL DEFAULT 0,
	loose_dead INTEGER NOT NULL DEFAULT 0,
	segments   INTEGER NOT NULL DEFAULT 0,
	UNIQUE (dataset, model, media, window, hop, vocabulary, shelf)
);

CREATE INDEX audiosearch_models_due ON audiosearch_models (seq)
	WHERE loose_live >= 4334 OR loose_dead >= 4334 OR segments >= 256;

-- For vocabularies that no model needs any more.
CREATE INDEX audiosearch_models_vocabulary ON audiosearch_models (vocabulary);

-- Which models searches read: one for each family.
CREATE TABLE audiosearch_current (
	dataset INTEGER NOT NULL,
	family  TEXT    NOT NULL,
	model   TEXT    NOT NULL,
	PRIMARY KEY (dataset, family)
) WITHOUT ROWID;

-- Models that others took the place of, and that are not current in another family.
CREATE TABLE audiosearch_replaced (
	dataset INTEGER NOT NULL,
	model   TEXT    NOT NULL,
	family  TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	swept   INTEGER NOT NULL DEFAULT 0, -- 1: no row by this model is left
	PRIMARY KEY (dataset, model)
) WITHOUT ROWID;

CREATE INDEX audiosearch_replaced_due ON audiosearch_replaced (at) WHERE swept = 0;

-- In which order models were first asked for.
CREATE TABLE audiosearch_model_order (
	seq    INTEGER PRIMARY KEY,
	family TEXT NOT NULL,
	model  TEXT NOT NULL,
	UNIQUE (family, model)
);

CREATE TABLE audiosearch_scorings (
	video       INTEGER NOT NULL,
	model       INTEGER NOT NULL,
	size        INTEGER NOT NULL, -- of the file
	modified_at INTEGER,
	digest      BLOB    NOT NULL,
	at          INTEGER,
	problem     TEXT,             -- NULL: it was scored
	start       INTEGER NOT NULL, -- of the file's own clock, milliseconds
	duration    INTEGER NOT NULL, -- milliseconds
	windows     INTEGER NOT NULL,
	has_video   INTEGER NOT NULL,
	keyframes   BLOB,             -- milliseconds, each as a varint of the step from the one before; NULL: nil
	places      BLOB,             -- where the scores are, as varints: block, number in its layout, first row, rows, ...
	PRIMARY KEY (video, model)
) WITHOUT ROWID;

-- A scoring may have a problem beside its scores, if only a part of the file was there. Each
-- search looks at these again.
CREATE INDEX audiosearch_scorings_partly ON audiosearch_scorings (model)
	WHERE problem IS NOT NULL AND windows > 0;

-- Scorings without scores. The others are found by their blocks.
CREATE INDEX audiosearch_scorings_failed ON audiosearch_scorings (model)
	WHERE problem IS NOT NULL AND windows = 0;

-- A block holds the scores of some windows, by the same model: one segment of a video that
-- was scored just now, or a chunk for each class.
CREATE TABLE audiosearch_blocks (
	seq     INTEGER PRIMARY KEY,
	model   INTEGER NOT NULL,
	packed  INTEGER NOT NULL, -- 0: a segment, 1: chunks
	loose   INTEGER NOT NULL, -- 1: to be packed with others
	windows INTEGER NOT NULL,
	live    INTEGER NOT NULL, -- windows of scores that were not replaced or deleted
	-- Whose windows they are, as varints: video (as the step from the one before), its first
	-- window, how many, ...
	layout  BLOB    NOT NULL,
	maxima  BLOB              -- the greatest score of each class, 2 bytes, little-endian; NULL: a segment
);

CREATE INDEX audiosearch_blocks_model ON audiosearch_blocks (model, seq);

CREATE INDEX audiosearch_blocks_loose ON audiosearch_blocks (model, packed, seq) WHERE loose = 1;

-- The parts of packed blocks whose scores were replaced or deleted, by their number in the
-- layout.
CREATE TABLE audiosearch_dead (
	block INTEGER NOT NULL,
	part  INTEGER NOT NULL,
	PRIMARY KEY (block, part)
) WITHOUT ROWID;

-- Scores are 2 bytes, little-endian. A segment holds the scores of all classes, one class
-- after the other.
CREATE TABLE audiosearch_segments (
	block  INTEGER PRIMARY KEY,
	scores BLOB NOT NULL
);

-- The chunk of a block for one class. The chunks of a block are side by side.
CREATE TABLE audiosearch_chunks (
	seq    INTEGER PRIMARY KEY, -- block * 1024 + number of the class among those of the shelf
	scores BLOB NOT NULL
);

-- Scorings that are being made: the scores of a video by a model, from its first window on.
CREATE TABLE audiosearch_unfinished (
	seq     INTEGER PRIMARY KEY,
	video   INTEGER,          -- NULL: not needed any more, and its rows are being removed
	name    TEXT    NOT NULL, -- of the model
	model   INTEGER NOT NULL, -- the row of its first shelf
	digest  BLOB    NOT NULL, -- of the file
	windows INTEGER NOT NULL, -- how many there are so far
	used_at INTEGER NOT NULL,
	UNIQUE (video, name)
);

CREATE INDEX audiosearch_unfinished_model ON audiosearch_unfinished (model);

CREATE INDEX audiosearch_unfinished_used ON audiosearch_unfinished (used_at) WHERE video IS NOT NULL;

-- Where the scores of such a scoring are: in rows of audiosearch_segments without a block.
-- They become blocks when all of the video is scored.
CREATE TABLE audiosearch_parts (
	unfinished INTEGER NOT NULL,
	first      INTEGER NOT NULL, -- window of the video
	shelf      INTEGER NOT NULL,
	windows    INTEGER NOT NULL,
	segment    INTEGER NOT NULL, -- the number of the block that it is to be
	PRIMARY KEY (unfinished, first, shelf)
) WITHOUT ROWID;

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
	trace        TEXT,             -- key=value&..., percent-encoded
	result_set   INTEGER,          -- NULL: none
	due_at       INTEGER,
	wake_at      INTEGER,          -- a worker should have it by then; NULL: its job is in this file, or it has ended and that is told
	dataset      TEXT    NOT NULL DEFAULT '', -- of the query
	-- How much sound the latest attempt has scored: milliseconds, and seconds of sound in a
	-- second. 0: not known.
	sound_done   INTEGER NOT NULL DEFAULT 0,
	sound_total  INTEGER NOT NULL DEFAULT 0,
	sound_speed  REAL    NOT NULL DEFAULT 0
);

-- The lists of an organization's runs, newest first: all of them, those of a dataset, those
-- of one actor. The ID is at the end of every index.
CREATE INDEX audiosearch_runs_created ON audiosearch_runs (organization, created_at);

CREATE INDEX audiosearch_runs_dataset ON audiosearch_runs (organization, dataset, created_at);

-- With the dataset at its end: passing over other datasets reads no row.
CREATE INDEX audiosearch_runs_actor ON audiosearch_runs (organization, actor, created_at, id, dataset);

-- For the bound on runs that have not ended, and for their list. An organization never has
-- more of them than the bound, so other conditions are looked for among them.
CREATE INDEX audiosearch_runs_waiting ON audiosearch_runs (organization, created_at)
	WHERE state <> 'TERMINATED';

-- For the bound on runs that have ended.
CREATE INDEX audiosearch_runs_ended ON audiosearch_runs (organization, finished_at, id)
	WHERE state = 'TERMINATED';

-- For retention only.
CREATE INDEX audiosearch_runs_finished ON audiosearch_runs (finished_at) WHERE finished_at IS NOT NULL;

-- For runs whose jobs are in a queue elsewhere.
CREATE INDEX audiosearch_runs_wake ON audiosearch_runs (wake_at) WHERE wake_at IS NOT NULL;

-- For counts of runs that have not ended, by state: of all organizations, or of one.
CREATE INDEX audiosearch_runs_states ON audiosearch_runs (state, organization)
	WHERE state <> 'TERMINATED';

CREATE INDEX audiosearch_runs_terminations ON audiosearch_runs (organization, termination)
	WHERE state = 'TERMINATED';

-- Of waiting runs only. The due time of one that is running changes all the time.
CREATE INDEX audiosearch_runs_due ON audiosearch_runs (due_at)
	WHERE state IN ('PENDING', 'QUEUED') AND due_at IS NOT NULL;

-- The results of runs are in sets, apart from the runs: asking how far a run is does not pass
-- them. An attempt fills a set before its run ends, and then the run names it.
CREATE TABLE audiosearch_result_sets (
	seq   INTEGER PRIMARY KEY,
	run   INTEGER,          -- NULL: not needed any more, and its rows are being removed
	token BLOB    NOT NULL, -- the attempt's name for it
	UNIQUE (run, token)
);

CREATE TABLE audiosearch_found_results (
	result_set INTEGER NOT NULL,
	place      INTEGER NOT NULL, -- of the first one
	results    TEXT    NOT NULL, -- JSON, without the columns of the tables below
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

-- Metadata that found videos had. An organization has each text once, however many runs found
-- it.
CREATE TABLE audiosearch_found_metadata (
	seq          INTEGER PRIMARY KEY,
	organization TEXT    NOT NULL,
	digest       BLOB    NOT NULL, -- SHA-256 of its keys and values
	videos       INTEGER NOT NULL, -- how many rows of audiosearch_found_videos have it
	UNIQUE (organization, digest)
);

-- The texts are apart, so that counting is cheap.
CREATE TABLE audiosearch_found_texts (
	metadata INTEGER PRIMARY KEY,
	text     TEXT NOT NULL -- JSON, with numbers as they came
);

-- Organizations that were deleted. A row stays for good: the ID is never reused.
CREATE TABLE audiosearch_deleted (
	organization TEXT    NOT NULL PRIMARY KEY,
	at           INTEGER NOT NULL,
	removed      INTEGER NOT NULL DEFAULT 0 -- 1: no row of it is left
) WITHOUT ROWID;

-- Counting the runs of all organizations looks at each run only if this has an entry.
CREATE INDEX audiosearch_deleted_left ON audiosearch_deleted (organization) WHERE removed = 0;

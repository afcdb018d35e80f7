-- Classes have names of any vocabulary, and there may be 10,000 of them. A dataset has a
-- current model for each family. Scores of a video may come in parts, over hours.

-- The classes of models. Each list stands here once, for all datasets.
CREATE TABLE audiosearch_vocabularies (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again: processes remember lists by it
	digest  BLOB    NOT NULL UNIQUE, -- SHA-256 of the names, each with a zero byte behind it
	classes INTEGER NOT NULL,        -- how many
	names   TEXT    NOT NULL         -- JSON
);

-- As before, with the vocabulary instead of the AudioSet indexes of the classes. A row has at
-- most 1024 of these, because the numbers of chunks have no room for more. What a video has
-- of a model stands by several rows if there are more: each has a shelf of the classes.
CREATE TABLE audiosearch_shelves (
	seq        INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again: processes remember rows by it
	dataset    INTEGER NOT NULL,
	model      TEXT    NOT NULL,
	window     INTEGER NOT NULL, -- nanoseconds
	hop        INTEGER NOT NULL, -- nanoseconds
	vocabulary INTEGER NOT NULL,
	shelf      INTEGER NOT NULL, -- 0: the classes 0 to 1023, 1: those from 1024 on, ...
	scorings   INTEGER NOT NULL DEFAULT 0, -- how many rows of audiosearch_scorings name it
	latest     INTEGER NOT NULL DEFAULT 0, -- the dataset's revision before the latest one of these
	-- What is to be packed, of all blocks that are loose: windows, windows of replaced or
	-- deleted scores, and segments.
	loose_live INTEGER NOT NULL DEFAULT 0,
	loose_dead INTEGER NOT NULL DEFAULT 0,
	segments   INTEGER NOT NULL DEFAULT 0,
	UNIQUE (dataset, model, window, hop, vocabulary, shelf)
);

-- The digest is that of the AudioSet indexes until the program puts the names in.
INSERT INTO audiosearch_vocabularies (digest, classes, names)
SELECT DISTINCT classes, length(classes) / 2, '' FROM audiosearch_models;

INSERT INTO audiosearch_shelves
	(seq, dataset, model, window, hop, vocabulary, shelf, scorings, loose_live, loose_dead, segments)
SELECT m.seq, m.dataset, m.model, m.window, m.hop, v.seq, 0, coalesce(n.scorings, 0),
	m.loose_live, m.loose_dead, m.segments
FROM audiosearch_models m JOIN audiosearch_vocabularies v ON v.digest = m.classes
LEFT JOIN (SELECT model, count(*) AS scorings FROM audiosearch_scorings GROUP BY model) n
	ON n.model = m.seq;

DROP TABLE audiosearch_models;

ALTER TABLE audiosearch_shelves RENAME TO audiosearch_models;

CREATE INDEX audiosearch_models_due ON audiosearch_models (seq) WHERE loose_live >= 4334 OR loose_dead >= 4334 OR segments >= 256;

-- For vocabularies that nothing needs any more.
CREATE INDEX audiosearch_models_vocabulary ON audiosearch_models (vocabulary);

-- Those without scores. Those with scores are found by their blocks.
CREATE INDEX audiosearch_scorings_failed ON audiosearch_scorings (model)
WHERE problem IS NOT NULL AND windows = 0;

-- Which models searches read.
CREATE TABLE audiosearch_current (
	dataset INTEGER NOT NULL,
	family  TEXT    NOT NULL,
	model   TEXT    NOT NULL,
	PRIMARY KEY (dataset, family)
) WITHOUT ROWID;

-- Those that others took the place of, and that are not current in another family.
CREATE TABLE audiosearch_replaced (
	dataset INTEGER NOT NULL,
	model   TEXT    NOT NULL,
	family  TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	swept   INTEGER NOT NULL DEFAULT 0, -- 1: there is nothing by this model any more
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

-- Scorings that are being made: the scores of a video by a model, from its first window on.
CREATE TABLE audiosearch_unfinished (
	seq     INTEGER PRIMARY KEY,
	video   INTEGER,          -- NULL: nobody needs it, and its rows are being removed
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

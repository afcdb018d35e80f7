-- What package audiosearch keeps: datasets, videos, scores, models and runs.
--
-- A dataset has a number of its own, which no later one of the same ID gets: what others
-- have of it is found by that, and is out of sight at once when the dataset is deleted.
-- A time that is NULL is the zero time. Durations are nanoseconds.

CREATE TABLE audiosearch_datasets (
	organization text COLLATE "C" NOT NULL,
	id           text COLLATE "C" NOT NULL,
	seq          bigint           NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
	created_at   timestamptz,
	version      bigint           NOT NULL DEFAULT 0, -- each change of the videos counts it up
	removed      bigint           NOT NULL DEFAULT 0, -- the version of the latest removal of a video
	PRIMARY KEY (organization, id)
);

-- Datasets that were deleted, and what of them is still there.
CREATE TABLE audiosearch_trash (
	organization text COLLATE "C" NOT NULL,
	seq          bigint           NOT NULL,
	PRIMARY KEY (organization, seq)
);

CREATE TABLE audiosearch_videos (
	dataset  bigint           NOT NULL,
	id       text COLLATE "C" NOT NULL,
	changed  bigint           NOT NULL, -- the dataset's version that put it
	path     text COLLATE "C" NOT NULL,
	metadata text,             -- JSON; NULL: none
	PRIMARY KEY (dataset, id)
);

-- What another process has changed.
CREATE INDEX audiosearch_videos_changed ON audiosearch_videos (dataset, changed);

-- The IDs of models and the names of classes, which are the host's and few.
CREATE TABLE audiosearch_names (
	id   integer          NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	name text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE audiosearch_vocabularies (
	id      integer   NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	digest  bytea     NOT NULL UNIQUE, -- of the names
	classes integer[] NOT NULL         -- in order
);

CREATE TABLE audiosearch_scorings (
	dataset    bigint           NOT NULL,
	model      integer          NOT NULL,
	video      text COLLATE "C" NOT NULL,
	vocabulary integer,          -- NULL: no classes
	file_size  bigint           NOT NULL,
	file_time  timestamptz,
	digest     bytea            NOT NULL,
	media      text COLLATE "C" NOT NULL, -- the ID of the decoder of the video
	at         timestamptz,
	problem    bytea            NOT NULL,
	start      bigint           NOT NULL, -- of the file's own clock
	duration   bigint           NOT NULL,
	window_    bigint           NOT NULL,
	hop        bigint           NOT NULL,
	windows    bigint           NOT NULL,
	has_video  boolean          NOT NULL,
	keyframes  bigint[],
	PRIMARY KEY (dataset, model, video)
);

CREATE INDEX audiosearch_scorings_video ON audiosearch_scorings (dataset, video);

-- The scores of consecutive windows of a video, 16 bits each, the lowest byte first. A
-- search reads those of one class, in the order of the primary key.
CREATE TABLE audiosearch_scores (
	dataset bigint           NOT NULL,
	model   integer          NOT NULL,
	class   integer          NOT NULL,
	video   text COLLATE "C" NOT NULL,
	first   bigint           NOT NULL, -- window
	scores  bytea            NOT NULL,
	PRIMARY KEY (dataset, model, class, video, first)
) PARTITION BY HASH (dataset);

DO $$
BEGIN
	FOR i IN 0..15 LOOP
		EXECUTE format('CREATE TABLE audiosearch_scores_%s PARTITION OF audiosearch_scores FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i, i);
		EXECUTE format('ALTER TABLE audiosearch_scores_%s ALTER COLUMN scores SET STORAGE EXTERNAL', i);
	END LOOP;
END
$$;

CREATE INDEX audiosearch_scores_video ON audiosearch_scores (dataset, video, model);

-- Scorings that are being made.
CREATE TABLE audiosearch_parts (
	dataset    bigint           NOT NULL,
	video      text COLLATE "C" NOT NULL,
	model      integer          NOT NULL,
	media      text COLLATE "C" NOT NULL,
	digest     bytea            NOT NULL,
	window_    bigint           NOT NULL,
	hop        bigint           NOT NULL,
	vocabulary integer          NOT NULL,
	windows    bigint           NOT NULL, -- that stand in part_scores, from 0 on
	used_at    timestamptz      NOT NULL,
	PRIMARY KEY (dataset, video, model)
);

CREATE INDEX audiosearch_parts_used ON audiosearch_parts (used_at);

CREATE TABLE audiosearch_part_scores (
	dataset bigint           NOT NULL,
	video   text COLLATE "C" NOT NULL,
	model   integer          NOT NULL,
	first   bigint           NOT NULL,
	class   integer          NOT NULL,
	scores  bytea            NOT NULL,
	PRIMARY KEY (dataset, video, model, first, class)
);

-- Which models a dataset knows, and the vocabulary of their latest scores.
CREATE TABLE audiosearch_models (
	dataset    bigint           NOT NULL,
	model      integer          NOT NULL,
	vocabulary integer,
	family     text COLLATE "C", -- NULL: it was never current
	replaced   timestamptz,      -- NULL: it was not, or it is current again
	PRIMARY KEY (dataset, model)
);

CREATE INDEX audiosearch_models_replaced ON audiosearch_models (replaced) WHERE replaced IS NOT NULL;

CREATE TABLE audiosearch_current (
	dataset bigint           NOT NULL,
	family  text COLLATE "C" NOT NULL,
	model   integer          NOT NULL,
	PRIMARY KEY (dataset, family)
);

CREATE TABLE audiosearch_model_order (
	place  bigint           NOT NULL UNIQUE,
	family text COLLATE "C" NOT NULL,
	model  text COLLATE "C" NOT NULL,
	PRIMARY KEY (family, model)
);

CREATE TABLE audiosearch_runs (
	id           bigint           NOT NULL PRIMARY KEY,
	organization text COLLATE "C" NOT NULL,
	created_at   timestamptz,
	actor        text COLLATE "C" NOT NULL,
	query        text             NOT NULL, -- JSON
	dataset      text COLLATE "C" NOT NULL, -- its ID
	state        text COLLATE "C" NOT NULL,
	termination  text COLLATE "C" NOT NULL,
	message      bytea            NOT NULL,
	done         bigint           NOT NULL,
	total        bigint           NOT NULL,
	attempts     bigint           NOT NULL,
	updated_at   timestamptz,
	started_at   timestamptz,
	finished_at  timestamptz,
	trace        text,
	due_at       timestamptz,
	wake_at      timestamptz,
	sound_done   bigint           NOT NULL,
	sound_total  bigint           NOT NULL,
	sound_speed  double precision NOT NULL,
	result_set   uuid
);

CREATE INDEX audiosearch_runs_list ON audiosearch_runs (organization, created_at DESC, id DESC);
CREATE INDEX audiosearch_runs_open ON audiosearch_runs (organization, state, created_at) WHERE state <> 'TERMINATED';
CREATE INDEX audiosearch_runs_due ON audiosearch_runs (state, due_at) WHERE state <> 'TERMINATED';
CREATE INDEX audiosearch_runs_wake ON audiosearch_runs (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX audiosearch_runs_ended ON audiosearch_runs (organization, termination, finished_at, id) WHERE state = 'TERMINATED';
CREATE INDEX audiosearch_runs_finished ON audiosearch_runs (finished_at) WHERE state = 'TERMINATED';

-- What attempts at runs have found. The run names one of its sets when it has ended.
CREATE TABLE audiosearch_result_sets (
	seq   bigint NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	run   bigint NOT NULL REFERENCES audiosearch_runs ON DELETE CASCADE,
	token uuid   NOT NULL,
	UNIQUE (run, token)
);

CREATE TABLE audiosearch_result_videos (
	result_set bigint           NOT NULL REFERENCES audiosearch_result_sets ON DELETE CASCADE,
	id         text COLLATE "C" NOT NULL,
	path       text COLLATE "C" NOT NULL,
	metadata   text,
	PRIMARY KEY (result_set, id)
);

CREATE TABLE audiosearch_results (
	result_set bigint NOT NULL REFERENCES audiosearch_result_sets ON DELETE CASCADE,
	first      bigint NOT NULL, -- place of the first result
	results    text   NOT NULL, -- JSON
	PRIMARY KEY (result_set, first)
);

-- Organizations that were deleted, as in trigger_deleted.
CREATE TABLE audiosearch_deleted (
	organization text COLLATE "C" NOT NULL PRIMARY KEY,
	since        timestamptz      NOT NULL
);

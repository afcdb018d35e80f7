-- How much sound the latest attempt at a run has scored: milliseconds, and seconds of sound in
-- a second. 0: not known.

ALTER TABLE audiosearch_runs ADD COLUMN sound_done INTEGER NOT NULL DEFAULT 0;

ALTER TABLE audiosearch_runs ADD COLUMN sound_total INTEGER NOT NULL DEFAULT 0;

ALTER TABLE audiosearch_runs ADD COLUMN sound_speed REAL NOT NULL DEFAULT 0;

-- Claims take organizations in turn. They step from one organization to the next in an
-- index of the jobs that are ready: those that have become claimable and are not held.
-- The others stand in an index of their own, until a claim makes them ready.

ALTER TABLE audiosearch_jobs ADD COLUMN ready INTEGER NOT NULL DEFAULT 1; -- 0: held, or to be claimable later

DROP INDEX audiosearch_jobs_due;

CREATE INDEX audiosearch_jobs_ready ON audiosearch_jobs (organization, claimable_at, seq) WHERE ready = 1;

CREATE INDEX audiosearch_jobs_later ON audiosearch_jobs (claimable_at) WHERE ready = 0;

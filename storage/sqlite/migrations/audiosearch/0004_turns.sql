-- Claims take organizations in turn. They step from one organization to the next in an index of the jobs that are ready:
-- claimable at some time, and not held. What is not ready waits in an index of its own for a claim to make it so.

ALTER TABLE audiosearch_jobs ADD COLUMN ready INTEGER NOT NULL DEFAULT 1; -- 0: held, or to be claimable later

DROP INDEX audiosearch_jobs_due;

CREATE INDEX audiosearch_jobs_ready ON audiosearch_jobs (organization, claimable_at, seq) WHERE ready = 1;

CREATE INDEX audiosearch_jobs_later ON audiosearch_jobs (claimable_at) WHERE ready = 0;

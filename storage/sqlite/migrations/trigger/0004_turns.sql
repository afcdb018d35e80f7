-- Claims take organizations in turn. They step from one organization to the next in an index of the jobs that are ready:
-- claimable at some time, and not held. What is not ready waits in an index of its own for a claim to make it so.

ALTER TABLE trigger_jobs ADD COLUMN ready INTEGER NOT NULL DEFAULT 1; -- 0: held, or to be claimable later

DROP INDEX trigger_jobs_due;

CREATE INDEX trigger_jobs_ready ON trigger_jobs (organization, claimable_at, seq) WHERE dead = 0 AND ready = 1;

CREATE INDEX trigger_jobs_later ON trigger_jobs (claimable_at) WHERE dead = 0 AND ready = 0;

-- Claims take organizations in turn. They step from one organization to the next in an
-- index of the jobs that are ready: those that have become claimable and are not held.
-- The others stand in an index of their own, until a claim makes them ready.

ALTER TABLE trigger_jobs ADD COLUMN ready INTEGER NOT NULL DEFAULT 1; -- 0: held, or to be claimable later

DROP INDEX trigger_jobs_due;

CREATE INDEX trigger_jobs_ready ON trigger_jobs (organization, claimable_at, seq) WHERE dead = 0 AND ready = 1;

CREATE INDEX trigger_jobs_later ON trigger_jobs (claimable_at) WHERE dead = 0 AND ready = 0;

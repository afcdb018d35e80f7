-- The jobs of runs stand in the table of all jobs (mortise_jobs), as those of kind
-- 'audiosearch'.

-- When the run is next due.
ALTER TABLE audiosearch_runs ADD COLUMN due_at INTEGER;

-- When its job was last known to be queued. NULL: that is not known, or the job stands in
-- this file.
ALTER TABLE audiosearch_runs ADD COLUMN checked_at INTEGER;

UPDATE audiosearch_runs
SET due_at = coalesce(
	(SELECT claimable_at FROM audiosearch_jobs WHERE run = audiosearch_runs.id), updated_at
)
WHERE state <> 'TERMINATED';

-- Those that a program stored, but could not queue any more, and those that lost their job.
-- The sweep of that time would have queued them.
INSERT OR IGNORE INTO audiosearch_jobs (run, organization, claimable_at, token, deliveries, ready)
SELECT id, organization, coalesce(due_at, 0), NULL, 0, 1
FROM audiosearch_runs WHERE state <> 'TERMINATED' ORDER BY due_at, id;

UPDATE audiosearch_runs SET state = 'QUEUED' WHERE state = 'PENDING';

INSERT OR IGNORE INTO mortise_jobs
	(id, kind, organization, claimable_at, ready, token, deliveries, dead, trace)
SELECT CAST(run AS TEXT), 'audiosearch', organization, claimable_at, ready, token, deliveries, 0,
	(SELECT trace FROM audiosearch_runs WHERE id = run)
FROM audiosearch_jobs ORDER BY seq;

DROP TABLE audiosearch_jobs;

DROP INDEX audiosearch_runs_open;

-- For runs whose jobs stand elsewhere. A run whose job stands in this file is not in it.
CREATE INDEX audiosearch_runs_checked ON audiosearch_runs (checked_at, id)
WHERE state <> 'TERMINATED' AND checked_at IS NOT NULL;

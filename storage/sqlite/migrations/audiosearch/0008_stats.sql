-- What is counted is counted in indexes, by runs of their entries.

-- Runs that have not ended, by state: of all organizations, or of one, oldest first.
CREATE INDEX audiosearch_runs_states ON audiosearch_runs (state, organization, created_at)
WHERE state <> 'TERMINATED';

CREATE INDEX audiosearch_runs_terminations ON audiosearch_runs (organization, termination)
WHERE state = 'TERMINATED';

-- Of those that wait only. The due time of one that is running changes all the time.
CREATE INDEX audiosearch_runs_due ON audiosearch_runs (due_at)
WHERE state IN ('PENDING', 'QUEUED') AND due_at IS NOT NULL;

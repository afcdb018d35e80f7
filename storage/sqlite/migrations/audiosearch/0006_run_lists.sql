-- An organization's runs are listed, newest first: all of them, those of a dataset, those
-- of who asked, and those that have not ended. The ID is at the end of every index.

ALTER TABLE audiosearch_runs ADD COLUMN dataset TEXT NOT NULL DEFAULT ''; -- that of the query

UPDATE audiosearch_runs SET dataset = coalesce(json_extract(query, '$.Dataset'), '');

CREATE INDEX audiosearch_runs_created ON audiosearch_runs (organization, created_at);

CREATE INDEX audiosearch_runs_dataset ON audiosearch_runs (organization, dataset, created_at);

-- With the dataset at its end, so that to pass over those of others reads no row.
CREATE INDEX audiosearch_runs_actor ON audiosearch_runs (organization, actor, created_at, id, dataset);

-- For the bound on runs that have not ended, and for their list. There are never more of an
-- organization than the bound, so what else is asked for is looked for among them.
DROP INDEX audiosearch_runs_waiting;

CREATE INDEX audiosearch_runs_waiting ON audiosearch_runs (organization, created_at)
WHERE state <> 'TERMINATED';

-- A scoring may have a problem beside its scores, if only a part of the file was there. Each search looks at those again.
CREATE INDEX audiosearch_scorings_partly ON audiosearch_scorings (model) WHERE problem IS NOT NULL AND windows > 0;

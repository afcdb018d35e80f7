-- Every combination of filters of a listing is a stretch of an index, so that no listing
-- reads events that it leaves out. A listing without a status merges those of all
-- statuses. So an event is in two indexes when it is stored, as before.

DROP INDEX trigger_events_listing;

DROP INDEX trigger_events_open;

-- The listing, by status, newest first.
CREATE INDEX trigger_events_status ON trigger_events (organization, status, submitted_at, id);

-- The same of a source.
CREATE INDEX trigger_events_source ON trigger_events (organization, source, status, submitted_at, id);

-- Every filter of a listing, and every combination of them, is a stretch of an index. A listing without a status is those of all
-- statuses, merged; so an event is in two indexes when it is stored, as before, and no filter reads events that it leaves out.

DROP INDEX trigger_events_listing;

DROP INDEX trigger_events_open;

-- The listing, by status, newest first.
CREATE INDEX trigger_events_status ON trigger_events (organization, status, submitted_at, id);

-- The same of a source.
CREATE INDEX trigger_events_source ON trigger_events (organization, source, status, submitted_at, id);

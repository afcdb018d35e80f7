-- What is counted is counted in indexes, by runs of their entries. For an organization
-- there is one already (trigger_events_status).

-- Events that are not completed, of all organizations, those first that are due first.
CREATE INDEX trigger_events_open ON trigger_events (status, due_at) WHERE status <> 2;

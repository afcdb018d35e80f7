-- When an event is due, and when its job was last known to be queued. The latter is NULL
-- where the job stands in this database.

ALTER TABLE trigger_events ADD COLUMN due_at INTEGER;

ALTER TABLE trigger_events ADD COLUMN checked_at INTEGER;

UPDATE trigger_events SET due_at = submitted_at WHERE status < 2;

-- The job of an event that is not here stands elsewhere.
UPDATE trigger_events SET checked_at = submitted_at
	WHERE status < 2 AND unqueued_since IS NULL AND id NOT IN (SELECT event FROM trigger_jobs);

CREATE INDEX trigger_events_checked ON trigger_events (checked_at, due_at) WHERE checked_at IS NOT NULL AND status < 2;

-- Jobs of all kinds stand in one table.
INSERT INTO mortise_jobs (id, kind, organization, claimable_at, ready, token, deliveries, dead)
	SELECT lower(substr(hex(event), 1, 8) || '-' || substr(hex(event), 9, 4) || '-' || substr(hex(event), 13, 4) || '-' ||
		substr(hex(event), 17, 4) || '-' || substr(hex(event), 21)) || '-' || generation,
		'trigger', organization, claimable_at, ready, token, deliveries, dead
	FROM trigger_jobs ORDER BY seq;

DROP TABLE trigger_jobs;

-- SQLite writes a row anew as a whole. So that an attempt does not write the submission
-- again, long instructions and contexts (over 2048 bytes together) have a row of their own.
-- Those of older events stay where they are.

ALTER TABLE trigger_events ADD COLUMN body INTEGER NOT NULL DEFAULT 0; -- 1: instructions and context are in trigger_bodies

CREATE TABLE trigger_bodies (
	event        BLOB NOT NULL PRIMARY KEY, -- its ID
	instructions TEXT NOT NULL,
	context      TEXT -- JSON as submitted
);

CREATE TRIGGER trigger_events_body AFTER DELETE ON trigger_events WHEN old.body BEGIN
	DELETE FROM trigger_bodies WHERE event = old.id;
END;

ALTER TABLE trigger_events ADD COLUMN version INTEGER NOT NULL DEFAULT 0; -- another one after each change of the row; a new row begins with any

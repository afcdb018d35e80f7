package postgres

// TriggerStatements are those whose plans a test looks at.
var TriggerStatements = map[string]string{
	"list": listEvents, "list of a source": listEventsOfSource, "list of a key": listEventsOfKey,
	"unqueued": unqueuedEvents, "stale": staleEvents, "prune": pruneEvents,
	"count": countEvents, "count open": countOpenEvents, "list keys": keysAfter, "remove": triggerRemovals[3],
	"get": eventByID, "get by key": eventByKey, "end": updateAndEnd[false], "key": keyByID,
}

// SQL returns a statement as it is sent.
func (db *DB) SQL(text string) string { return db.sql(text) }

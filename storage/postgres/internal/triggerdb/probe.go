package triggerdb

import "github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"

// Probe has statements whose plans the tests of the whole look at. Nothing else uses it.
var Probe = struct {
	Statements map[string]string
	Shared     map[*engine.Shared]string // with a pattern that the plan must match
}{
	map[string]string{
		"list": listEvents + "51" + listEventsThen, "list of a source": listEventsOfSource + "51" + listEventsThen,
		"list of a key": listEventsOfKey, "overdue": overdueEvents, "progress": progressOfEvents, "all failed": allEnded, "all open": allOpen, "prune": pruneUnkeyed, "prune keyed": pruneKeyed,
		"count": countEvents, "count open": countOpenEvents, "list keys": keysAfter, "remove": triggerRemovals[3],
		"get": eventByID, "get by key": eventByKey, "end": updateAndEnd[false].One, "key": keyByID,
	},
	map[*engine.Shared]string{
		createEventAndJob:   "trigger_deleted_pkey",
		updateIfSame:        `trigger_events_pkey[^\n]*\n *Index Cond: \(id = ANY \(ARRAY\[r(_\d+)?.id\]\)\)`,
		updateAndEnd[false]: `jobs_pkey[^\n]*\n *Index Cond: \(\(id = ANY \(ARRAY\[r(_\d+)?.job\]\)\) AND \(kind = `,
		updateAndEnd[true]:  `jobs_pkey[^\n]*\n *Index Cond: \(\(id = ANY \(ARRAY\[r(_\d+)?.job\]\)\) AND \(kind = `,
	},
}

package postgres

// TriggerStatements are those whose plans a test looks at.
var TriggerStatements = map[string]string{
	"list": listEvents + "51" + listEventsThen, "list of a source": listEventsOfSource + "51" + listEventsThen,
	"list of a key": listEventsOfKey, "unqueued": unqueuedEvents, "stale": staleEvents, "prune": pruneUnkeyed, "prune keyed": pruneKeyed,
	"count": countEvents, "count open": countOpenEvents, "list keys": keysAfter, "remove": triggerRemovals[3],
	"get": eventByID, "get by key": eventByKey, "end": updateAndEnd[false].one, "key": keyByID,
}

// ByKeptPlans is set before lists.
const ByKeptPlans = byKeptPlans

// SQL returns a statement as it is sent.
func (db *DB) SQL(text string) string { return db.sql(text) }

// SharedStatements are those that the operations of a group share, with what must be in
// their plans, and GroupSettings what is set before them.
var (
	SharedStatements = map[*shared]string{
		createEventAndJob:   "trigger_deleted_pkey",
		updateIfSame:        `trigger_events_pkey[^\n]*\n *Index Cond: \(id = ANY \(ARRAY\[r(_\d+)?.id\]\)\)`,
		updateAndEnd[false]: `jobs_pkey[^\n]*\n *Index Cond: \(\(id = ANY \(ARRAY\[r(_\d+)?.job\]\)\) AND \(kind = `,
		updateAndEnd[true]:  `jobs_pkey[^\n]*\n *Index Cond: \(\(id = ANY \(ARRAY\[r(_\d+)?.job\]\)\) AND \(kind = `,
		updateAndAudit:      `authmgmt_clients_pkey[^\n]*\n *Index Cond: \(id = ANY \(ARRAY\[r(_\d+)?.client\]\)\)`,
	}
	GroupSettings = groupSettings

	UpdateClientAlone = updateAndAudit.one
	LockToken         = lockToken
	VocabularyNames   = vocabularyNames
)

// What a claim consists of.
const (
	NewJobs       = freshJobs
	AllJobs       = allJobs
	TakeJobs      = takeJobs
	ClaimSettings = claimSettings
	RemoveJob     = removeJob
)

// Many returns the text for several operations, and how many arguments it has.
func (s *shared) Many() (text string, args int) { return s.many, len(s.types) }

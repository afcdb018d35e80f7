package postgres

// TriggerStatements are those whose plans a test looks at.
var TriggerStatements = map[string]string{
	"list": listEvents + "51" + listEventsThen, "list of a source": listEventsOfSource + "51" + listEventsThen,
	"list of a key": listEventsOfKey, "unqueued": unqueuedEvents, "stale": staleEvents, "prune": pruneEvents,
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
		updateIfSame:        `trigger_events_pkey[^\n]*\n *Index Cond: \(id = r(_\d+)?.id\)`,
		updateAndEnd[false]: `jobs_id[^\n]*\n *Index Cond: \(\(id = r(_\d+)?.job\)`,
		updateAndEnd[true]:  `jobs_id[^\n]*\n *Index Cond: \(\(id = r(_\d+)?.job\)`,
		updateAndAudit:      `authmgmt_clients_pkey[^\n]*\n *Index Cond: \(id = r(_\d+)?.client\)`,
	}
	GroupSettings = groupSettings

	UpdateClientAlone = updateAndAudit.one
	VocabularyNames   = vocabularyNames
)

// What a claim consists of.
const (
	ReadyJobs     = readyJobs
	ClaimJobs     = claimJobs
	ClaimSettings = claimSettings
	RemoveJob     = removeJob
)

// Many returns the text for several operations, and how many arguments it has.
func (s *shared) Many() (text string, args int) { return s.many, len(s.types) }

// LookupStatements are those of the packages authmgmt and vault that find a few rows among
// many, and LookupIndexes what each of them must go by.
var (
	LookupStatements = map[string]string{
		"client": clientByID, "lock a client": lockClient, "client by secret": clientBySecret,
		"token": tokenByDigest, "token by ID": tokenByID, "lock a token": lockToken,
		"invitation": invitationByID, "lock an invitation": lockInvitation, "pending": pendingByEmail,
		"vault": vaultByID, "tokens of a scope": findInScope, "tokens of scopes": findInScopes, "rows": rowsOfTokens,
		"rows by token": rowsByToken, "rows by fingerprint": rowsByFingerprints, "delete a token": buryToken, "its fingerprints": deleteFingerprints,
	}
	LookupIndexes = map[string]string{
		"client": "authmgmt_clients_pkey", "lock a client": "authmgmt_clients_pkey", "client by secret": "authmgmt_secrets_pkey",
		"token": "authmgmt_tokens_pkey", "token by ID": "authmgmt_tokens_id_key", "lock a token": "authmgmt_tokens_id_key",
		"invitation": "authmgmt_invitations_pkey", "lock an invitation": "authmgmt_invitations_pkey", "pending": "authmgmt_invitations_email",
		"vault": "vault_vaults_(id|there)", "tokens of a scope": "vault_fingerprints_pkey", "tokens of scopes": "vault_fingerprints_pkey", "rows": "vault_tokens_token",
		"rows by token": "vault_tokens_token", "rows by fingerprint": "vault_fingerprints_pkey", "delete a token": "vault_tokens_token",
		"its fingerprints": "vault_fingerprints_row",
	}
)

package fromsqlite

// table is a table of PostgreSQL's, and where its rows come from. A column comes from the
// column of the same name, unless another expression is given. check refuses whatever
// this leaves open, on both sides: so a column that is added to one of them only, or a
// table, is not forgotten silently.
type table struct {
	name    string
	source  string            // the table of SQLite's; "": of the same name
	from    string            // what stands behind FROM; "": the source alone
	given   map[string]string // expressions, by the column of PostgreSQL's
	left    []string          // columns of the source that no column of the same name takes
	counter string            // a sequence that goes on behind the greatest seq
}

// tables are in the order in which they are copied. The check values of the keys come
// first, and what refers to other rows comes after them.
var tables = []table{
	{name: "vault_keys"},
	{name: "authmgmt_key_check", given: map[string]string{"one": "only"}, left: []string{"only"}},

	{name: "authmgmt_organizations"},
	{name: "authmgmt_deleted"},
	{name: "authmgmt_clients"},
	{name: "authmgmt_secrets"},
	{name: "authmgmt_tokens"},
	{name: "authmgmt_invitations"},
	{name: "authmgmt_audit"},

	{name: "vault_deleted_orgs", left: []string{"event"}}, // the event itself has a mark there
	{name: "vault_vaults", from: vaults, given: map[string]string{"deleted_at": "deleted_at", "rest": "rest"}},
	{name: "vault_scopes"},
	{name: "vault_tokens", counter: "vault_token_numbers"},
	{name: "vault_fingerprints"},
	{
		name: "vault_audit", left: []string{"seq"},
		given: map[string]string{"mark": "seq IN (SELECT event FROM vault_deleted_orgs WHERE event IS NOT NULL)"},
	},

	{name: "trigger_organizations"},
	{name: "trigger_deleted"},
	{name: "trigger_collections"},
	{name: "trigger_api_keys"},
	{
		name: "trigger_events",
		from: "trigger_events LEFT JOIN trigger_bodies AS b ON trigger_events.body AND b.event = trigger_events.id",
		given: map[string]string{
			"instructions": "iif(trigger_events.body, b.instructions, trigger_events.instructions)",
			"context":      "iif(trigger_events.body, b.context, trigger_events.context)",
		},
		left: []string{"body"},
	},

	{name: "jobs", source: "mortise_jobs", left: []string{"ready"}},
}

// vaults are the rows of vault_vaults. In SQLite a vault that was deleted stands there
// under another key, its names as BLOBs, until its tokens are removed, and a mark stays in
// vault_deleted_vaults. In PostgreSQL it keeps its row, which is the mark; one that is
// gone from SQLite gets a row behind the last.
const vaults = `(
	SELECT v.*, d.at AS deleted_at, d.at IS NOT NULL AS rest FROM vault_vaults AS v LEFT JOIN vault_deleted_vaults AS d
		ON d.organization = CAST(v.organization AS TEXT) AND d.id = CAST(v.id AS TEXT)
	UNION ALL
	SELECT (SELECT ifnull(max(seq), 0) FROM vault_vaults) + row_number() OVER (ORDER BY organization, id),
		organization, id, 0, at, at, '', at, 0 FROM vault_deleted_vaults AS d
		WHERE NOT EXISTS (SELECT 1 FROM vault_vaults AS v
			WHERE v.organization IN (d.organization, CAST(d.organization AS BLOB)) AND v.id IN (d.id, CAST(d.id AS BLOB)))
) AS vault_vaults`

// others are the tables of SQLite's that others take their rows from, or that hold nothing
// to copy, with the columns that were known when this was written.
var others = map[string][]string{
	"trigger_bodies":       {"event", "instructions", "context"},      // of trigger_events
	"vault_deleted_vaults": {"organization", "id", "at"},              // of vault_vaults
	"vault_counts":         {"scope", "deterministic", "sealed", "n"}, // which PostgreSQL finds in an index
	"vault_numbers":        {"n"},
	"mortise_scripts":      {"domain", "digest", "program", "made_at"},
	"mortise_revocations":  {"one", "database", "n", "last"}, // a copy is another database
}

// stays is how the names of tables begin that are not copied row by row: those of the audio
// search, which audiosearch.go copies.
const stays = "audiosearch_"

// notes are the tables of PostgreSQL's with scripts, locks, revocations and the progress of a
// copy.
var notes = []string{"mortise_scripts", "locks", "revocations", progress}

// progress is the table of a copy that has not ended: what is to be copied, and what was.
const progress = "copy_from"

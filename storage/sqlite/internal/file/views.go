package file

import "github.com/seed-6363c74e/mortise/internal/tables"

// dialect is how SQLite writes the views. Times are texts there that its functions read.
var dialect = tables.Dialect{
	Prefix: "mortise_",
	As: map[tables.Kind]string{
		// replace looks for no U+0000, so JSON's way to write the text is used.
		tables.Free: `CASE WHEN instr({}, char(0)) > 0 THEN ` + withoutZero("json_quote({})") + ` ->> '$' ELSE {} END`,
		tables.JSON: withoutZero("{}"),
		tables.UUID: "CASE WHEN {} IS NOT NULL THEN lower(substr(hex({}), 1, 8) || '-' || substr(hex({}), 9, 4) || '-' ||" +
			" substr(hex({}), 13, 4) || '-' || substr(hex({}), 17, 4) || '-' || substr(hex({}), 21)) END",
		tables.Time: "strftime('%Y-%m-%d %H:%M:%f', {} / 1e6, 'unixepoch')",
	},
	From: map[string]string{
		"events": "trigger_events AS t LEFT JOIN trigger_bodies AS b ON t.body AND b.event = t.id" +
			" WHERE NOT EXISTS (SELECT 1 FROM trigger_deleted AS x WHERE x.organization = t.organization)",
		"queue": "mortise_jobs AS t",
		// A vault that was deleted has BLOBs for names.
		"vaults": "vault_vaults AS t WHERE typeof(t.id) = 'text' AND " + vaultIsThere + "t.organization)",
		"stored_tokens": "vault_tokens AS t JOIN vault_vaults AS v ON v.seq = t.vault JOIN vault_scopes AS s ON s.seq = t.scope" +
			" WHERE t.sealed IS NOT NULL AND typeof(v.id) = 'text' AND " + vaultIsThere + "v.organization)",
		"vault_history": "vault_audit AS t LEFT JOIN json_each(t.tokens) AS e LEFT JOIN vault_deleted_orgs AS d ON d.organization = t.organization" +
			" WHERE d.organization IS NULL OR d.event = t.seq",
		"datasets": "audiosearch_datasets AS t WHERE t.organization IS NOT NULL" +
			" AND NOT EXISTS (SELECT 1 FROM audiosearch_deleted AS x WHERE x.organization = t.organization)",
		"videos": "audiosearch_videos AS t JOIN audiosearch_datasets AS d ON d.seq = t.dataset WHERE d.organization IS NOT NULL" +
			" AND NOT EXISTS (SELECT 1 FROM audiosearch_deleted AS x WHERE x.organization = d.organization)",
	},
	Columns: map[string]string{
		"events.instructions": "iif(t.body, b.instructions, t.instructions)",
		"events.context":      "iif(t.body, b.context, t.context)",
	},
}

const vaultIsThere = "NOT EXISTS (SELECT 1 FROM vault_deleted_orgs AS x WHERE x.organization = "

// withoutZero has JSON say U+FFFD where it says U+0000. Doubled backslashes stand aside as
// U+0001, which JSON has as an escape only.
func withoutZero(json string) string {
	return `replace(replace(replace(` + json + `, '\\', char(1)), '\u0000', '\ufffd'), char(1), '\\')`
}

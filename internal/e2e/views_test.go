package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/tables"
)

// testViews: the views of a copy in PostgreSQL have the rows of the views of its SQLite file,
// column by column, and both answer the questions of docs/views.md, though some texts hold U+0000,
// escapes of U+0000, and halves of surrogate pairs.
func testViews(t *testing.T, c *sqliteCopy) {
	c.change(t, viewedRows...)
	require.NoError(t, c.run(t))
	file, err := sql.Open("sqlite", "file:"+c.path+"?mode=ro")
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	_, err = c.conn.Exec(t.Context(), "SET timezone = 'UTC'")
	require.NoError(t, err)
	for i := range tables.Views {
		v := &tables.Views[i]
		want := fileRows(t, file, "SELECT * FROM mortise_"+v.Name)
		require.Greater(t, len(want), 1, "%s shows some row, beside its columns", v.Name)
		got := databaseRows(t, c.conn, "SELECT * FROM mortise."+v.Name)
		for i := range want { // SQLite shows half of a surrogate pair as it came
			want[i] = strings.NewReplacer(`\ud800 `, `\ufffd `, `\udc00`, `\ufffd`).Replace(want[i])
		}
		slices.Sort(want[1:])
		slices.Sort(got[1:])
		require.Equal(t, want, got, v.Name)
		for _, row := range want {
			require.NotContains(t, row, "gone", "%s shows nothing of what was deleted", v.Name)
		}
	}
	events := databaseRows(t, c.conn, `SELECT id, instructions, last_error, context ->> 'a' AS a, context ->> 'b' AS b, context ->> 'c' AS c FROM mortise.events WHERE status = 'failed'`)
	require.Equal(t, "01020304-0506-0708-090a-0b0c0d0e0f11|nul \ufffd \\000 \\u0000 \u00e9|\ufffdA|x\ufffd\\u0000\\|\ufffd and \U0001f600|\ufffd\ufffdz", events[1])

	text, err := os.ReadFile("../../docs/views.md")
	require.NoError(t, err)
	blocks := strings.Split(string(text), "```sql\n")[1:]
	require.Len(t, blocks, 10)
	for _, b := range blocks {
		question, _, _ := strings.Cut(b, "```")
		want := databaseRows(t, c.conn, question)
		require.Greater(t, len(want), 1, question)
		require.Equal(t, want, fileRows(t, file, strings.ReplaceAll(question, "mortise.", "mortise_")), question)
	}
}

// TestViewsInDocs: docs/views.md lists each view, with its columns and their kinds.
func TestViewsInDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/views.md")
	require.NoError(t, err)
	is := map[tables.Kind]string{tables.JSON: " (JSON)", tables.UUID: " (UUID)", tables.Time: " (time)", tables.Number: " (number)", tables.Bool: " (boolean)"}
	listed := 0
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "| `") {
			listed++
		}
	}
	require.Equal(t, len(tables.Views), listed)
	for _, v := range tables.Views {
		var columns []string
		for _, c := range v.Columns {
			columns = append(columns, c.Name+is[c.Is])
		}
		require.Contains(t, string(text), "| `"+v.Name+"` | "+strings.Join(columns, ", ")+" |\n")
	}
}

// fileRows are the names of columns, and rows as texts.
func fileRows(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err, query)
	defer func() { require.NoError(t, rows.Close()) }()
	columns, err := rows.Columns()
	require.NoError(t, err)
	all = append(all, strings.Join(columns, "|"))
	for rows.Next() {
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		require.NoError(t, rows.Scan(to...), query)
		all = append(all, rowText(values))
	}
	require.NoError(t, rows.Err(), query)
	return all
}

// databaseRows are the same of PostgreSQL, with its values written as SQLite has them.
func databaseRows(t *testing.T, conn *pgx.Conn, query string) (all []string) {
	t.Helper()
	query = strings.TrimSpace(query)
	rows, err := conn.Query(t.Context(), query+" LIMIT 0")
	if strings.Contains(query, "LIMIT") {
		rows, err = conn.Query(t.Context(), query)
	}
	require.NoError(t, err, query)
	var names, fields []string
	for _, f := range rows.FieldDescriptions() {
		names = append(names, f.Name)
		field := `"` + f.Name + `"::text`
		switch f.DataTypeOID {
		case 1184: // timestamptz
			field = `to_char("` + f.Name + `", 'YYYY-MM-DD HH24:MI:SS.MS')`
		case 16: // boolean
			field = `"` + f.Name + `"::integer::text`
		}
		fields = append(fields, field)
	}
	rows.Close()
	require.NoError(t, rows.Err(), query)
	rows, err = conn.Query(t.Context(), "SELECT "+strings.Join(fields, ", ")+" FROM ("+query+") AS q")
	require.NoError(t, err, query)
	all = append(all, strings.Join(names, "|"))
	for rows.Next() {
		values, err := rows.Values()
		require.NoError(t, err, query)
		all = append(all, rowText(values))
	}
	require.NoError(t, rows.Err(), query)
	return all
}

func rowText(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
		if b, is := v.([]byte); is {
			texts[i] = string(b)
		}
	}
	return strings.Join(texts, "|")
}

const (
	eventID = "x'0102030405060708090a0b0c0d0e0f10'"
	otherID = "x'0102030405060708090a0b0c0d0e0f11'"
	aDay    = "1796025600123000" // 2026-11-30 08:00:00.123, in microseconds
)

// viewedRows are one row or more for each view, and one of the organization "gone", which was
// deleted.
var viewedRows = []string{
	"INSERT INTO trigger_events (id, organization, status, source, instructions, context, submitted_at, finished_at, due_at, attempts, last_error, generation, submitted_by, failures)" +
		" VALUES (" + otherID + ", 'acme', 3, 'ci', CAST(x'6e756c2000205c303030205c753030303020c3a9' AS TEXT)," +
		` '{"commit":"4f2e1c9","a":"x\u0000\\u0000\\","b":"\ud800 and \ud83d\ude00","c":"\udc00\u0000z"}', ` + aDay + ", " + aDay + ", " + aDay + ", 3, CAST(x'0041' AS TEXT), 2, 'ada', '[]')",
	// Long ones stand apart.
	"INSERT INTO trigger_events (id, organization, status, source, instructions, submitted_at, due_at, attempts, last_error, generation, body, submitted_by, collection, idempotency_key)" +
		" VALUES (" + eventID + ", 'acme', 0, 'ci', '', " + aDay + ", " + aDay + ", 0, '', 0, 1, '', " + otherID + ", 'k1')",
	`INSERT INTO trigger_bodies VALUES (` + eventID + `, 'long', '{ "n" : 1.0 }')`,
	"INSERT INTO trigger_events (id, organization, status, source, instructions, submitted_at, started_at, attempts, last_error, generation, submitted_by)" +
		" VALUES (x'01', 'gone', 1, 'ci', 'gone', 1, 1, 1, '', 1, ''), (x'0102030405060708090a0b0c0d0e0f12', 'other', 1, 'ci', 'x', 1, " + aDay + ", 1, '', 1, '')",
	"UPDATE trigger_events SET id = x'0102030405060708090a0b0c0d0e0f13' WHERE id = x'01'",
	"INSERT INTO trigger_deleted VALUES ('gone', 1)",
	"INSERT INTO trigger_api_keys VALUES (x'01', " + eventID + ", 'acme', 'CI', " + aDay + ", NULL, " + aDay + "), (x'02', " + otherID + ", 'gone', 'gone', 1, NULL, NULL)",
	"INSERT INTO mortise_jobs VALUES (3, 'j', 'trigger', 'acme', " + aDay + ", 0, " + eventID + ", 1, 0, NULL), (4, 'k', 'trigger', 'acme', 1000, 0, NULL, 20, 1, NULL)",

	"INSERT INTO authmgmt_clients VALUES ('acme', 'build-bot', 'Build', 'editor/dataset/d1', " + aDay + ", NULL, NULL), ('acme', 'gone', 'x', '', 1, 1, 1), ('gone', 'x', 'x', '', 1, 1, NULL)",
	"INSERT INTO authmgmt_secrets VALUES (x'01', " + eventID + ", 'acme', 'build-bot', 0, " + aDay + ", NULL, NULL), (x'02', " + otherID + ", 'gone', 'x', 0, 1, NULL, NULL)",
	"INSERT INTO authmgmt_tokens VALUES (x'03', " + eventID + ", 'acme', 'client:build-bot', 'build-bot', x'01', NULL, " + aDay + ", " + aDay + ", NULL)",
	"INSERT INTO authmgmt_invitations (organization, id, inviter, invited_by, email, email_key, name, roles, generation, created_at, lifetime, expires_at, accepted_by, grant_due, grant_attempts, awaits_person)" +
		" VALUES ('acme', 'i1', 'Ada', 'ada', 'bea@example.com', 'bea@example.com', 'Bea', '', 1, " + aDay + ", 1, " + aDay + ", '', -62135596800000000, 0, 0)",
	"INSERT INTO authmgmt_audit VALUES (1, " + eventID + ", 'acme', " + aDay + `, 'client.updated', 'ada', 'build-bot', '{"roles":[{"role_id":"viewer"}]}', '{"roles":[]}')` +
		", (2, " + otherID + ", 'gone', 1, 'x', 'gone', 'gone', NULL, NULL), (3, x'0102030405060708090a0b0c0d0e0f12', 'left', " + aDay + ", 'organization.deleted', 'ada', '', NULL, NULL)",
	"INSERT INTO authmgmt_deleted VALUES ('gone', 1, NULL), ('left', 1, 3)",

	"INSERT INTO vault_vaults VALUES (1, 'acme', 'cards', 1, " + aDay + ", " + aDay + `, '{"tables":[]}'), (7, CAST('acme' AS BLOB), CAST('gone' AS BLOB), 1, 5, 6, '')`,
	"INSERT INTO vault_deleted_vaults VALUES ('acme', 'gone', 8)",
	"INSERT INTO vault_scopes VALUES (1, 1, 'cards.number'), (2, 7, 'gone')",
	"INSERT INTO vault_tokens VALUES (1, 1, 'tok_4242', 1, 1, " + aDay + ", 1, x'00'), (2, 1, 'tok_gone', 1, 1, " + aDay + ", NULL, NULL), (3, 7, 'tok_gone', 2, 1, 1, 1, x'00')",
	"INSERT INTO vault_audit VALUES (4, " + eventID + ", 'acme', " + aDay +
		`, 'values.shown', 'ada', 'cards', '[{"token":"tok_4242","scope":"cards.number","redaction":"masked"},{"token":"tok_1","scope":"cards.number"}]', NULL)` +
		", (5, " + otherID + ", 'gone', 1, 'gone', '', '', NULL, NULL), (6, x'0102030405060708090a0b0c0d0e0f12', 'left', " + aDay + `, 'organization.deleted', '', '', NULL, '{}')`,
	"INSERT INTO vault_deleted_orgs VALUES ('gone', 1, NULL, 0), ('left', 1, 6, 0)",

	"INSERT INTO audiosearch_datasets (seq, organization, id, created_at, revision, forgotten) VALUES (1, 'acme', 'd1', " + aDay + ", 1, 0)",
	`INSERT INTO audiosearch_videos (seq, dataset, id, path, metadata) VALUES (1, 1, 'v1', 'v1.wav', '{"place":"Z\u0000rich"}')`,
	"INSERT INTO audiosearch_runs (id, organization, actor, query, state, termination, message, done, total, attempts, created_at, updated_at, started_at, finished_at, dataset)" +
		` VALUES (7, 'acme', 'ada', '{"Dataset":"d1","Class":"Bark","Limit":0,"Offset":0,"Filters":null,"MinScore":0,"SkipModeration":false}', 'TERMINATED', 'CLIENT_ERROR', CAST(x'6e6f00' AS TEXT), 1, 2, 1, ` + aDay + ", " + aDay + ", " + aDay + ", " + aDay + ", 'd1')",
}

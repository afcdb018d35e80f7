package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// testVaultKey: the key can be moved away, and another one opens nothing.
func testVaultKey(t *testing.T, p program) {
	dir, config := t.TempDir(), writeVaults(t, personsTable, `{"table": "persons", "fields": {"email": "ada@example.com"}}`)
	s := p.startIn(t, dir, nil, "-config", config)
	token := s.tokenize(rootToken, inGroup("emails", "ada@example.com"))[0]
	s.stop()
	folder := filepath.Join(dir, "mortise-data")
	made := filepath.Join(folder, "vault.key")
	text := strings.TrimSpace(string(read(t, made)))
	key, err := hex.DecodeString(text)
	require.NoError(t, err)

	other := hex.EncodeToString(randomKey())
	told := p.refuseIn(t, folder, "-config", config, "-vault-key", writeKey(t, other))
	assert.Contains(t, told, "holds another key than the one that the data began with")
	assertUntold(t, other, told)
	require.NoError(t, os.Remove(made))
	assert.Contains(t, p.refuseIn(t, folder, "-config", config), "is missing")
	for _, written := range []string{text, base64.StdEncoding.EncodeToString(key)} {
		s = p.startIn(t, dir, nil, "-config", config, "-vault-key", writeKey(t, written))
		s.guard(text, string(key))
		assert.Equal(t, []string{token}, s.tokenize(rootToken, inGroup("emails", "ada@example.com")))
		assert.Equal(t, "ada@example.com", s.detokenize(rootToken, token, "").Value)
		s.stop()
	}
}

// testVaultProvisioningChanged: a document that has changed adds what is missing, and no
// value loses its token.
func testVaultProvisioningChanged(t *testing.T, p program) {
	nightly.Only(t)
	dir := t.TempDir()
	const email = "ada@example.com"
	start := func(tables, records string) *server {
		s := p.startIn(t, dir, nil, "-config", writeVaults(t, tables, records))
		s.guard(email)
		return s
	}
	const records = `{"table": "persons", "fields": {"email": "` + email + `", "phone": "1"}}, {"table": "persons", "fields": {"name": "Ada"}}`
	s := start(personsTable, records)
	first := s.tokenize(rootToken, inGroup("emails", email), inColumn("name", "Ada"))
	rows := func() int { return tokensIn(t, dir) }
	s.stop()
	begun := rows()
	assert.Equal(t, 3*3, begun, "the values of three vaults")

	column := func(name, more string) string {
		return `{"name": "` + name + `", "tokenization": "deterministic"` + more + `}`
	}
	table := func(columns ...string) string {
		return `{"name": "persons", "columns": [` + strings.Join(columns, ", ") + `]}`
	}
	unchanged := column("email", `, "column_group": "emails", "format": "uuid"`)
	for name, step := range map[string]struct {
		tables, records, warning string
	}{
		"the same again":     {personsTable, records, ""},
		"nothing of it left": {"", "", ""},
		"another format":     {table(column("email", `, "column_group": "emails", "format": "email"`)), "", "another format"},
		"out of its group":   {table(column("email", `, "format": "uuid"`)), `{"table": "persons", "fields": {"email": "` + email + `"}}`, "another column group"},
		"into a group":       {table(unchanged, column("name", `, "column_group": "names", "format": "prefix:name_"`)), "", "another column group"},
		"into another group": {table(column("email", `, "column_group": "mails", "format": "uuid"`)), `{"table": "persons", "fields": {"email": "` + email + `"}}`, "another column group"},
		"no more tokens":     {table(`{"name": "email", "tokenization": "none"}`), "", "another tokenization and another column group"},
	} {
		s := start(step.tables, step.records)
		assert.Equal(t, first, s.tokenize(rootToken, inGroup("emails", email), inColumn("name", "Ada")), name)
		assert.Equal(t, first[:1], s.tokenize(rootToken, inColumn("work", email)), name)
		s.stop() // and all that it said is read
		want := 0
		if step.warning != "" {
			want = 3 // vaults
		}
		assert.Equal(t, want, strings.Count(s.stderr.String(), "a column is stored with "+step.warning), "%s: %s", name, &s.stderr)
		assert.Equal(t, want, strings.Count(s.stderr.String(), "what exists is never changed"), name)
		assert.Equal(t, begun, rows(), name)
	}

	// A new column, of a group that is there and of none, and a new table.
	s = start(table(column("private", `, "column_group": "emails", "format": "uuid"`), column("city", ""))+`, {"name": "orders", "columns": [`+column("mail", `, "column_group": "emails", "format": "uuid"`)+`]}`,
		`{"table": "persons", "fields": {"private": "`+email+`", "city": "Turku"}}`)
	assert.Equal(t, first[:1], s.tokenize(rootToken, inColumn("private", email)))
	assert.Equal(t, first[:1], s.tokenize(rootToken, object{"table": "orders", "column": "mail", "value": email}))
	city := s.tokenize(rootToken, inColumn("city", "Turku"))
	s.stop()
	assert.NotContains(t, s.stderr.String(), "never changed")
	assert.Equal(t, begun+3, rows(), "a city for each vault")

	// What was deleted by a request stays deleted.
	s = start(personsTable, records)
	require.Equal(t, http.StatusOK, s.status("DELETE", tokensPath+first[1], rootToken))
	s.do("POST", tokenizePath, rootToken, `{"tokenizationParameters":[{"table":"persons","column":"name","value":"Ada"}]}`).vaultError(t, http.StatusNotFound, 5)
	s.stop()
	s = start(personsTable, records)
	tokens := s.tokenize(rootToken, inGroup("emails", email), inColumn("city", "Turku"))
	assert.Equal(t, []string{first[0], city[0]}, tokens)
	s.do("POST", tokenizePath, rootToken, `{"tokenizationParameters":[{"table":"persons","column":"name","value":"Ada"}]}`).vaultError(t, http.StatusNotFound, 5)
}

// testVaultProvisioningRefused: a schema or a record that is wrong is told with its
// place, and nothing is stored.
func testVaultProvisioningRefused(t *testing.T, p program) {
	nightly.Only(t)
	const value = "ada@example.com"
	records := func(fields string) string { return "\n" + `{"table": "persons", "fields": {` + fields + `}}` }
	for name, test := range map[string]struct{ tables, records, want string }{
		"format":         {strings.Replace(personsTable, `"uuid"`, `"guid"`, 1), "", `columns[0].format: must be "uuid"`},
		"unknown key":    {strings.Replace(personsTable, `"mask"`, `"redaction"`, 1), "", `columns[4]: unknown key "redaction"`},
		"unknown table":  {personsTable, strings.Replace(records(`"email": "`+value+`"`), "persons", "people", 1), "records[0]: is of a table that the vault does not have"},
		"unknown column": {personsTable, records(`"mail": "` + value + `"`), "line 16, column 41: organizations[0].vaults[0].records[0].fields.mail: the table has no such column"},
		"bad value":      {personsTable, records(`"card": "` + value + `"`), "line 16, column 41: organizations[0].vaults[0].records[0].fields.card: the value does not fit the column's format"},
		"no check digit": {personsTable, records(`"card": "4111111111111112"`), "fields.card: the value does not fit the column's format: the check digit is wrong"},
		"no string":      {personsTable, records(`"card": 4111111111111111`), "line 16, column 41: organizations[0].vaults[0].records[0].fields.card: must be a string"},
		"note":           {personsTable, records(`"note": "` + value + `"`), "fields.note: the column has no tokenization"},
	} {
		config := writeVaults(t, test.tables, test.records)
		told := p.refuse(t, 2, nil, "-config", config)
		assert.True(t, strings.HasPrefix(told, "-config: "+config+": line "), "%s: %s", name, told)
		assert.Contains(t, told, test.want, name)
		assert.NotContains(t, told, value, name)
		assert.NotContains(t, told, "41111", name)
	}

	// What goes against the vault as it is stored stops the whole document.
	dir := t.TempDir()
	p.startIn(t, dir, nil, "-config", writeVaults(t, personsTable, "")).stop()
	config := writeVaults(t, strings.ReplaceAll(personsTable, `"none"`, `"deterministic"`), `{"table": "persons", "fields": {"email": "`+value+`", "note": "`+value+`"}}`)
	told := p.refuseIn(t, filepath.Join(dir, "mortise-data"), "-config", config)
	assert.Contains(t, told, "records[0].fields.note: does not go with the vault as it is stored: the column has no tokenization")
	assert.NotContains(t, told, value)
	assert.Zero(t, usageIn(t, dir).Rows)
}

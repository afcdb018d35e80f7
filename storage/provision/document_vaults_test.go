package provision

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/vault"
)

// vaultWith returns a document with a vault on line 2, of one table with these columns,
// and records of it on line 3.
func vaultWith(columns, records string) string {
	return `{"organizations":[{"id":"acme","vaults":[{"id":"v1",` + "\n" +
		`"tables":[{"name":"persons","columns":[` + columns + `]}],` + "\n" +
		`"records":[` + records + `]}]}]}`
}

// Columns of persons.
const (
	emailColumn = `{"name":"email","tokenization":"deterministic","column_group":"emails","format":"uuid"}`
	cardColumn  = `{"name":"card","tokenization":"deterministic","format":"digits"}`
	phoneColumn = `{"name":"phone","tokenization":"random"}`
	noteColumn  = `{"name":"note","tokenization":"none"}`
)

// allColumns are those, and another one of the emails' group.
const allColumns = emailColumn + "," + cardColumn + "," + phoneColumn + "," + noteColumn +
	`,{"name":"work","tokenization":"deterministic","column_group":"emails","format":"uuid"}`

// record returns a record of persons with these fields.
func record(fields string) string { return `{"table":"persons","fields":{` + fields + `}}` }

func TestVaultsOfContract(t *testing.T) {
	doc := documentOfContract(t)
	vaults := doc.contents.Organizations[0].Vaults
	if len(vaults) != 1 || vaults[0].ID != "v1" || len(vaults[0].Records) != 1 {
		t.Fatalf("read as %+v", vaults)
	}
	v := vaults[0]
	want := []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Group: "emails", Format: "uuid"},
		{Name: "card", Tokenization: vault.Deterministic, Format: "digits"},
		{Name: "note", Tokenization: vault.NoTokenization},
	}
	if tables := v.Tables; len(tables) != 1 || tables[0].Name != "persons" || !slices.Equal(tables[0].Columns, want) {
		t.Errorf("read as %+v", v.Tables)
	}
	r := v.Records[0]
	if r.Table != "persons" || len(r.Fields) != 2 || r.Fields["email"].Value.Reveal() != "ada@example.com" || r.Fields["card"].Value.Reveal() != "4111111111111111" {
		t.Errorf("read as %+v", r)
	}
	if text := fmt.Sprintf("%+v %#v %+v", doc, doc, doc.contents.Organizations[0].Vaults); strings.Contains(text, "ada@") || strings.Contains(text, "4111") {
		t.Errorf("a document prints its values: %s", text)
	}
}

func TestDocumentOfVaultsRefused(t *testing.T) {
	const secret = "ada@example.com" // a value; no error repeats one
	column := func(more string) string { return vaultWith(`{"name":"a","tokenization":"deterministic"`+more+`}`, "") }
	for name, test := range map[string]struct{ text, want string }{
		// The schema, with the place in the document.
		"tokenization":         {vaultWith(`{"name":"a","tokenization":"Random"}`, ""), `line 2, column 67: organizations[0].vaults[0].tables[0].columns[0].tokenization: must be "deterministic", "random" or "none"`},
		"format":               {column(`,"format":"ssn"`), `line 2, column 92: organizations[0].vaults[0].tables[0].columns[0].format: must be "uuid"`},
		"format of digits":     {column(`,"format":"digits:last4,luhn"`), `columns[0].format: must be "uuid"`},
		"format of nothing":    {vaultWith(`{"name":"a","tokenization":"none","format":"uuid"}`, ""), "columns[0].format: must be left out"},
		"mask":                 {column(`,"mask":"4"`), "columns[0].mask: must be like"},
		"group of random ones": {vaultWith(`{"name":"a","tokenization":"random","column_group":"g"}`, ""), "line 2, column 91: organizations[0].vaults[0].tables[0].columns[0].column_group: must be left out"},
		"group with a dot":     {column(`,"column_group":"a.b"`), "columns[0].column_group: must not contain a dot"},
		"formats of a group":   {vaultWith(emailColumn+`,{"name":"b","tokenization":"deterministic","column_group":"emails"}`, ""), "line 2, column 128: organizations[0].vaults[0].tables[0].columns[1].format: must be the same for all columns of a group"},
		"column twice":         {vaultWith(emailColumn+","+emailColumn, ""), "line 2, column 136: organizations[0].vaults[0].tables[0].columns[1].name: is the same as at line 2, column 48"},
		"table twice":          {`{"organizations":[{"id":"a","vaults":[{"id":"v","tables":[{"name":"t"},{"name":"t"}]}]}]}`, "line 1, column 80: organizations[0].vaults[0].tables[1].name: is the same as at line 1, column 67"},
		"name of an operation": {`{"organizations":[{"id":"a","vaults":[{"id":"v","tables":[{"name":"tokenize"}]}]}]}`, "line 1, column 67: organizations[0].vaults[0].tables[0].name: must not be one of"},
		"table with a dot":     {`{"organizations":[{"id":"a","vaults":[{"id":"v","tables":[{"name":"a.b"}]}]}]}`, "tables[0].name: must not contain a dot"},
		"vault twice":          {`{"organizations":[{"id":"a","vaults":[{"id":"v"},{"id":"v"}]}]}`, "vaults[1].id: is the same as at"},
		"unknown of a vault":   {`{"organizations":[{"id":"a","vaults":[{"id":"v","schema":{}}]}]}`, `line 1, column 49: organizations[0].vaults[0]: unknown key "schema"`},
		"unknown of a table":   {`{"organizations":[{"id":"a","vaults":[{"id":"v","tables":[{"name":"t","color":1}]}]}]}`, `tables[0]: unknown key "color"`},
		"unknown of a column":  {column(`,"type":"text"`), `columns[0]: unknown key "type"`},
		"unknown of a record":  {vaultWith(emailColumn, `{"table":"persons","fields":{},"id":1}`), `records[0]: unknown key "id"`},
		"no name":              {vaultWith(`{"tokenization":"none"}`, ""), "columns[0]: name is missing"},
		"number for a name":    {vaultWith(`{"name":1}`, ""), "columns[0].name: must be a string"},
		"null for a group":     {column(`,"column_group":null`), "columns[0].column_group: must be a string"},

		// Records.
		"no table":          {vaultWith(emailColumn, `{"fields":{}}`), "records[0]: table is missing"},
		"no fields":         {vaultWith(emailColumn, `{"table":"persons"}`), "records[0]: fields is missing"},
		"fields of a list":  {vaultWith(emailColumn, `{"table":"persons","fields":[]}`), "records[0].fields: must be an object"},
		"unknown table":     {vaultWith(emailColumn, `{"table":"people","fields":{"email":"`+secret+`"}}`), "line 3, column 12: organizations[0].vaults[0].records[0]: is of a table that the vault does not have"},
		"unknown column":    {vaultWith(emailColumn, record(`"mail":"`+secret+`"`)), "line 3, column 48: organizations[0].vaults[0].records[0].fields.mail: the table has no such column"},
		"secret as column":  {vaultWith(emailColumn, record(`"`+secret+`":"x"`)), "line 3, column 59: organizations[0].vaults[0].records[0].fields.*: the table has no such column"},
		"number":            {vaultWith(emailColumn, record(`"email":4111111111111111`)), "line 3, column 49: organizations[0].vaults[0].records[0].fields.email: must be a string"},
		"null":              {vaultWith(emailColumn, record(`"email":null`)), "records[0].fields.email: must be a string"},
		"nothing tokenized": {vaultWith(allColumns, record(`"email":"a","note":"`+secret+`"`)), "records[0].fields.note: the column has no tokenization, so the vault keeps nothing of it: leave the value out"},
		"no digits":         {vaultWith(allColumns, record(`"card":"`+secret+`"`)), "line 3, column 48: organizations[0].vaults[0].records[0].fields.card: the value does not fit the column's format: digits only are needed"},
		"few digits":        {vaultWith(allColumns, record(`"card":"41111"`)), "fields.card: the value does not fit the column's format: 6 to 100 digits"},
		"too long":          {vaultWith(allColumns, record(`"email":"`+strings.Repeat("x", 64<<10+1)+`"`)), "fields.email: must be at most 65536 bytes long"},
		"two of them":       {vaultWith(allColumns, record(`"card":"`+secret+`"`)+","+record(`"note":"`+secret+`"`)), "fields.card: the value does not fit the column's format: digits only are needed, without spaces and dashes; line 3, column 104: organizations[0].vaults[0].records[1].fields.note: the column has no"},
		"schema and record": {vaultWith(`{"name":"a","tokenization":"x"}`, record(`"a":1`)), "columns[0].tokenization: must be \"deterministic\", \"random\" or \"none\"; line 3, column 45: organizations[0].vaults[0].records[0].fields.a: must be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readText(t, test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v\nwant %s", err, test.want)
			}
			for _, value := range []string{secret, "4111", "xxxx", "\n"} {
				if strings.Contains(err.Error(), value) {
					t.Errorf("the error repeats a value or has several lines: %v", err)
				}
			}
		})
	}
}

// TestDocumentTellsEachMistakeOfAVaultOnce: what follows from a mistake is no other one.
func TestDocumentTellsEachMistakeOfAVaultOnce(t *testing.T) {
	for text, want := range map[string]string{
		vaultWith(`{"tokenization":"none"}`, record(`"email":"a"`)):                 "line 2, column 40: organizations[0].vaults[0].tables[0].columns[0]: name is missing",
		vaultWith(`{"name":"a","tokenization":"x"},`+noteColumn, record(`"b":"a"`)): `line 2, column 67: organizations[0].vaults[0].tables[0].columns[0].tokenization: must be "deterministic", "random" or "none"`,
		vaultWith(emailColumn, record(`"email":7,"x":"a"`)):                         "line 3, column 49: organizations[0].vaults[0].records[0].fields.email: must be a string",
		vaultWith(allColumns, record(`"phone":"1","x":"a"`)):                        "line 3, column 57: organizations[0].vaults[0].records[0].fields.x: the table has no such column",
	} {
		_, err := readText(t, text)
		if err == nil || strings.Contains(err.Error(), "; ") || !strings.HasPrefix(err.Error(), "acme.json: "+want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestDocumentOfVaultsAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"no tables":        `{"organizations":[{"id":"a","vaults":[{"id":"v"}]}]}`,
		"no columns":       `{"organizations":[{"id":"a","vaults":[{"id":"v","tables":[{"name":"t"}]}]}]}`,
		"no tokenization":  vaultWith(`{"name":"a"}`, ""),
		"mask and format":  vaultWith(`{"name":"a","tokenization":"random","format":"digits:luhn,last4","mask":"2*2"}`, ""),
		"empty record":     vaultWith(emailColumn, record("")),
		"empty value":      vaultWith(emailColumn, record(`"email":""`)),
		"longest value":    vaultWith(emailColumn, record(`"email":"`+strings.Repeat("x", 64<<10)+`"`)),
		"any value":        vaultWith(emailColumn, record(`"email":"\u0000\n ü"`)),
		"same value twice": vaultWith(allColumns, record(`"email":"a"`)+","+record(`"email":"a"`)+","+record(`"work":"a","email":"a"`)),
		"random and known": vaultWith(allColumns, record(`"email":"a"`)+","+record(`"email":"a","card":"123456","phone":"1"`)),
		"same phone":       vaultWith(allColumns, record(`"email":"a","phone":"1"`)+","+record(`"email":"b","phone":"1"`)),
	} {
		doc, err := readText(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "any value" && doc.contents.Organizations[0].Vaults[0].Records[0].Fields["email"].Value.Reveal() != "\x00\n ü" {
			t.Error("the value was changed")
		}
	}
}

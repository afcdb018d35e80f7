package provision

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// documentOfContract reads the document that the server's contract shows.
func documentOfContract(t *testing.T) *Document {
	t.Helper()
	data, err := os.ReadFile("testdata/acme.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Parse("acme.json", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestDocumentOfContract: all that the document says is read.
func TestDocumentOfContract(t *testing.T) {
	doc := documentOfContract(t)
	if len(doc.contents.Organizations) != 1 {
		t.Fatalf("%d organizations", len(doc.contents.Organizations))
	}
	org := doc.contents.Organizations[0]
	if org.ID != "acme" || !org.SetupComplete || len(org.APIKeys) != 1 || org.APIKeys[0].Revoked || len(org.Collections) != 1 || !org.Collections[0].Ready {
		t.Errorf("read as %+v", org)
	}
	if !org.RBAC || len(org.AccessTokens) != 1 || len(org.Clients) != 1 || len(org.Invitations) != 1 {
		t.Fatalf("read as %+v", org)
	}
	if token := org.AccessTokens[0]; token.Subject != "ops" || !slices.Equal(token.Roles, []access.Role{{ID: "admin"}}) {
		t.Errorf("read as %+v", token)
	}
	viewer := []access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}}
	if client := org.Clients[0]; client.ID != "c1" || client.Name != "ci" || !slices.Equal(client.Roles, viewer) {
		t.Errorf("read as %+v", client)
	}
	editor := []access.Role{{ID: "editor"}}
	if i := org.Invitations[0]; i.ID != "inv1" || i.Inviter.Name != "Grace" || i.Invitee.Email != "alan@example.com" || i.Invitee.Name != "Alan" ||
		!slices.Equal(i.Invitee.Roles, editor) || i.Expires != 7*24*time.Hour {
		t.Errorf("read as %+v", i)
	}
	if len(org.Datasets) != 1 || org.Datasets[0].ID != "d1" || len(org.Datasets[0].Videos) != 1 {
		t.Fatalf("read as %+v", org.Datasets)
	}
	metadata := metadata.Map{"show": metadata.String("news"), "season": metadata.Int(3)}
	if v := org.Datasets[0].Videos[0]; v.ID != "clip-1" || v.Path != "media/clip-1.mp4" || !maps.Equal(v.Metadata, metadata) {
		t.Errorf("read as %+v", v)
	}
}

func TestDocumentRefused(t *testing.T) {
	const long = "sk-0123456789abcdef0123456789abcdef"
	for name, test := range map[string]struct{ text, want string }{
		"not JSON":         {"{\n  \"organizations\": [}", "line 2, column 21: not valid JSON"},
		"same key twice":   {`{"organizations":[], "organizations":[]}`, "line 1, column 22: not valid JSON: duplicate key"},
		"no object":        {`[]`, "line 1, column 1: the document: must be an object"},
		"no list":          {`{"organizations":{}}`, "line 1, column 18: organizations: must be a list"},
		"empty key":        {`{"organizations":[{"id":"a","api_keys":[{"":1,"key":"` + long + `"}]}]}`, `line 1, column 42: organizations[0].api_keys[0]: unknown key ""`},
		"lone surrogate":   {`{"organizations":[{"id":"\ud800"}]}`, "line 1, column 25: not valid JSON: lone surrogate"},
		"beside its like":  {`{"organizations":[{"id":"\ud800\\ufffd"}]}`, "line 1, column 25: not valid JSON: lone surrogate"},
		"invalid UTF-8":    {"{\"organizations\":[{\"id\":\"a\xff\"}]}", "line 1, column 27: not valid JSON: invalid UTF-8"},
		"too deep":         {strings.Repeat("[", 65) + strings.Repeat("]", 65), "line 1, column 65: not valid JSON: nested too deeply"},
		"extra data":       {"{}\n{}", "line 2, column 1: not valid JSON: unexpected character, after top-level value"},
		"cut off":          {`{"organizations":`, "line 1, column 18: not valid JSON: unexpected end"},
		"empty":            {``, "line 1, column 1: not valid JSON: unexpected end"},
		"byte order mark":  {"\ufeff{}", "line 1, column 1: not valid JSON: byte order mark"},
		"open string":      {"{\"organizations\":[{\"id\":\"a\"},\n {\"id\": \"a\\\"}]}", "line 2, column 9: not valid JSON: a string that does not end"},
		"open key":         {`{"organizations":[{"id`, "line 1, column 20: not valid JSON: a string that does not end"},
		"unknown on top":   {`{"orgs":[]}`, `line 1, column 2: the document: unknown key "orgs"`},
		"case of a key":    {`{"organizations":[{"ID":"a"}]}`, `organizations[0]: unknown key "ID"`},
		"no id":            {`{"organizations":[{}]}`, "line 1, column 19: organizations[0]: id is missing"},
		"empty id":         {`{"organizations":[{"id":""}]}`, "organizations[0].id: must not be empty"},
		"null":             {`{"organizations":[{"id":"a","setup_complete":null}]}`, "organizations[0].setup_complete: must be true or false"},
		"string for bool":  {`{"organizations":[{"id":"a","setup_complete":"true"}]}`, "line 1, column 46: organizations[0].setup_complete: must be true or false"},
		"id twice":         {`{"organizations":[{"id":"a"},{"id":"a"}]}`, "organizations[1].id: is the same as at line 1, column 25"},
		"key twice":        {`{"organizations":[{"id":"a","api_keys":[{"key":"` + long + `"}]},{"id":"b","api_keys":[{"key":"` + long + `"}]}]}`, "organizations[1].api_keys[0].key: is the same secret as at line 1, column 48"},
		"guessable key":    {`{"organizations":[{"id":"a","api_keys":[{"key":"` + strings.Repeat("guessable", 4) + `"}]}]}`, "api_keys[0].key: must be random: it has fewer than 10"},
		"guessable token":  {`{"organizations":[{"id":"a","access_tokens":[{"token":"` + strings.Repeat("guessable", 4) + `","subject":"s"}]}]}`, "access_tokens[0].token: must be random"},
		"guessable secret": {`{"organizations":[{"id":"a","clients":[{"client_id":"c","name":"n","client_secret":"` + strings.Repeat("guessable", 4) + `"}]}]}`, "clients[0].client_secret: must be random"},
		"unknown type":     {`{"organizations":[{"id":"a","clients":[{"client_id":"c","name":"n","client_secret":"` + docSecret + `","roles":[{"role_id":"viewer","resource":"vaults"}]}]}]}`, "clients[0].roles[0].resource: is not one of the types 'client', 'dataset'"},
		"long key":         {`{"organizations":[{"id":"a","api_keys":[{"key":"` + strings.Repeat("x", 1025) + `"}]}]}`, "must be 32 to 1024 bytes"},
		"key with a space": {`{"organizations":[{"id":"a","api_keys":[{"key":"` + long + ` x"}]}]}`, "must be visible ASCII"},
		"no UUID":          {`{"organizations":[{"id":"a","doc_collections":[{"id":"7f1f3c1e5a0e4a529f0e0c9a4a3f2b11"}]}]}`, "doc_collections[0].id: must be a UUID"},
		"same UUID": {`{"organizations":[{"id":"a","doc_collections":[{"id":"7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11"},{"id":"7F1F3C1E-5A0E-4A52-9F0E-0C9A4A3F2B11"}]}]}`,
			"doc_collections[1].id: is the same"},
		"short client":  {`{"organizations":[{"id":"a","clients":[{"client_id":"c","client_secret":"short","name":"n"}]}]}`, "clients[0].client_secret: must be 32"},
		"short token":   {`{"organizations":[{"id":"a","access_tokens":[{"token":"short","subject":"n"}]}]}`, "access_tokens[0].token: must be 32"},
		"role":          {`{"organizations":[{"id":"a","access_tokens":[{"token":"` + long + `","subject":"n","roles":[{"role":"x"}]}]}]}`, `roles[0]: unknown key "role"`},
		"path":          {`{"organizations":[{"id":"a","datasets":[{"id":"d","videos":[{"id":"v","path":"../x"}]}]}]}`, "videos[0].path: must be relative"},
		"duration":      {`{"organizations":[{"id":"a","invitations":[{"invitation_id":"i","inviter":{"name":"g"},"invitee":{"email":"e","name":"n"},"expires_in":"-1h"}]}]}`, "expires_in: must be a duration"},
		"column":        {`{"organizations":[{"id":"a","vaults":[{"id":"v","tables":[{"name":"t","columns":[{"name":"c","type":"x"}]}]}]}]}`, `columns[0]: unknown key "type"`},
		"secret as key": {`{"organizations":[{"id":"a","api_keys":[{"` + long + `":1}]}]}`, "api_keys[0]: unknown key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readText(t, test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %s", err, test.want)
			}
			if strings.Contains(err.Error(), long) || strings.Contains(err.Error(), "short") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error repeats a secret or has several lines: %v", err)
			}
		})
	}
}

// TestDocumentAllProblems: one run tells several mistakes, in the document's order, and
// not without end.
func TestDocumentAllProblems(t *testing.T) {
	_, err := readText(t, `{"organizations":[`+strings.Repeat(`{"id":7},`, 14)+`{"color":1}]}`)
	if err == nil || strings.Count(err.Error(), "must be a string") != maxProblems || !strings.HasSuffix(err.Error(), "and 6 more") {
		t.Errorf("got %v", err)
	}
}

// TestPlaceOfInvalidUTF8: a replacement character that somebody wrote is valid.
func TestPlaceOfInvalidUTF8(t *testing.T) {
	_, err := readText(t, "{\"a\":\"\ufffd\",\"b\":\"\xff\"}")
	if err == nil || !strings.Contains(err.Error(), "line 1, column 17: not valid JSON: invalid UTF-8") {
		t.Errorf("%v", err)
	}
}

// TestDocumentOfManyValues: values count wherever they are, and how many there may be is
// bounded.
func TestDocumentOfManyValues(t *testing.T) {
	document := func(values int) string { return `{"x":[` + strings.Repeat("0,", values-3) + `0]}` }
	for values, want := range map[int]string{
		maxValues:     `acme.json: line 1, column 2: the document: unknown key "x"`,
		maxValues + 1: "acme.json: line 1, column 2000003: not valid JSON: more than 1000000 values",
	} {
		if _, err := readText(t, document(values)); err == nil || err.Error() != want {
			t.Errorf("%d values: %v", values, err)
		}
	}
}

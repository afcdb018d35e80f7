package main

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
func documentOfContract(t *testing.T) *document {
	t.Helper()
	data, err := os.ReadFile("testdata/acme.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := parseDocument(data)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestDocumentOfContract: all that the document says is read.
func TestDocumentOfContract(t *testing.T) {
	doc := documentOfContract(t)
	if len(doc.organizations) != 1 {
		t.Fatalf("%d organizations", len(doc.organizations))
	}
	org := doc.organizations[0]
	if org.id != "acme" || !org.setupComplete || len(org.apiKeys) != 1 || org.apiKeys[0].revoked || len(org.collections) != 1 || !org.collections[0].ready {
		t.Errorf("read as %+v", org)
	}
	if !org.rbac || len(org.accessTokens) != 1 || len(org.clients) != 1 || len(org.invitations) != 1 {
		t.Fatalf("read as %+v", org)
	}
	if token := org.accessTokens[0]; token.subject != "ops" || !slices.Equal(token.roles, []access.Role{{ID: "admin"}}) {
		t.Errorf("read as %+v", token)
	}
	viewer := []access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}}
	if client := org.clients[0]; client.id != "c1" || client.name != "ci" || !slices.Equal(client.roles, viewer) {
		t.Errorf("read as %+v", client)
	}
	editor := []access.Role{{ID: "editor"}}
	if i := org.invitations[0]; i.id != "inv1" || i.inviter != "Grace" || i.email != "alan@example.com" || i.name != "Alan" ||
		!slices.Equal(i.roles, editor) || i.expires != 7*24*time.Hour {
		t.Errorf("read as %+v", i)
	}
	if len(org.datasets) != 1 || org.datasets[0].id != "d1" || len(org.datasets[0].videos) != 1 {
		t.Fatalf("read as %+v", org.datasets)
	}
	metadata := metadata.Map{"show": metadata.String("news"), "season": metadata.Int(3)}
	if v := org.datasets[0].videos[0]; v.ID != "clip-1" || v.Path != "media/clip-1.mp4" || !maps.Equal(v.Metadata, metadata) {
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
			_, err := parseDocument([]byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %s", err, test.want)
			}
			if strings.Contains(err.Error(), long) || strings.Contains(err.Error(), "short") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error repeats a secret or has several lines: %v", err)
			}
		})
	}
}

// TestDocumentAllProblems: one run tells several mistakes, in the document's order, and not without end.
func TestDocumentAllProblems(t *testing.T) {
	_, err := parseDocument([]byte(`{"organizations":[` + strings.Repeat(`{"id":7},`, 14) + `{"color":1}]}`))
	if err == nil || strings.Count(err.Error(), "must be a string") != maxProblems || !strings.HasSuffix(err.Error(), "and 6 more") {
		t.Errorf("got %v", err)
	}
}

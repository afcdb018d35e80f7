package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// longRoles are 100 roles, of more bytes than a client may have.
func longRoles() string {
	var roles []string
	for i := range 100 {
		roles = append(roles, fmt.Sprintf(`{"role_id":"viewer","resource":"dataset","resource_instance":"%0100d"}`, i))
	}
	return strings.Join(roles, ",")
}

// TestDocumentAppliedAsAWhole: what any service refuses of a document ends the start with
// status 2 and one line that says where, and nothing is stored of any organization. Each
// document has a good one before the bad one.
func TestDocumentAppliedAsAWhole(t *testing.T) {
	name := strings.Repeat("n", 256)
	many := func(n int, one string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(one, i))
		}
		return strings.Join(all, ",")
	}
	token := func(more string) string {
		return fmt.Sprintf(`"access_tokens":[{"token":%q,"subject":"s"%s}]`, docToken, more)
	}
	client := func(id, name, roles string) string {
		return fmt.Sprintf(`"clients":[{"client_id":%q,"client_secret":%q,"name":%q,"roles":[%s]}]`, id, docSecret, name, roles)
	}
	invitation := func(id, email, name, roles, expires string) string {
		return fmt.Sprintf(`"invitations":[{"invitation_id":%q,"inviter":{"name":"g"},"invitee":{"email":%q,"name":%q,"roles":[%s]},"expires_in":%q}]`,
			id, email, name, roles, expires)
	}
	ofVault := func(id, tables, records string) string {
		return fmt.Sprintf(`"vaults":[{"id":%q,"tables":[%s],"records":[%s]}]`, id, tables, records)
	}
	table := func(columns string) string { return `{"name":"persons","columns":[` + columns + `]}` }
	dataset := func(id, videos string) string { return fmt.Sprintf(`"datasets":[{"id":%q,"videos":[%s]}]`, id, videos) }
	email := table(`{"name":"email","tokenization":"deterministic","format":"uuid"}`)
	column := func(rest string) string { return table(`{"name":"c"` + rest + `}`) }

	for what, bad := range map[string]string{
		"API key, short":     `"api_keys":[{"key":"short"}]`,
		"API key, long":      `"api_keys":[{"key":"` + strings.Repeat("k", 1025) + `"}]`,
		"collection":         `"doc_collections":[{"id":"00000000-0000-0000-0000-000000000000"}]`,
		"token, subject":     fmt.Sprintf(`"access_tokens":[{"token":%q,"subject":%q}]`, docToken, name),
		"token, roles":       token(`,"roles":[` + longRoles() + `]`),
		"token, many roles":  token(`,"roles":[` + many(101, `{"role_id":"viewer","resource":"dataset","resource_instance":"%d"}`) + `]`),
		"token, role":        token(`,"roles":[{"role_id":"root"}]`),
		"token, instance":    token(`,"roles":[{"role_id":"viewer","resource_instance":"d"}]`),
		"token, long role":   token(`,"roles":[{"role_id":"viewer","resource":"dataset","resource_instance":"` + name + `"}]`),
		"client, ID":         client(name, "n", ""),
		"client, name":       client("c", name, ""),
		"client, roles":      client("c", "n", longRoles()),
		"client, role":       client("c", "n", `{"role_id":"root"}`),
		"invitation, ID":     invitation(name, "a@b", "n", "", "1h"),
		"invitation, email":  invitation("i", "ab", "n", "", "1h"),
		"invitation, name":   invitation("i", "a@b", name, "", "1h"),
		"invitation, roles":  invitation("i", "a@b", "n", longRoles(), "1h"),
		"invitation, role":   invitation("i", "a@b", "n", `{"role_id":"root"}`, "1h"),
		"invitation, time":   invitation("i", "a@b", "n", "", "721h"),
		"vault, dot":         ofVault(".", "", ""),
		"vault, dots":        ofVault("..", "", ""),
		"vault, ID":          ofVault(name, "", ""),
		"table, dot":         ofVault("v", `{"name":"a.b","columns":[]}`, ""),
		"table, name":        ofVault("v", `{"name":"`+name+`","columns":[]}`, ""),
		"tables":             ofVault("v", many(201, `{"name":"t%d","columns":[]}`), ""),
		"columns":            ofVault("v", table(many(201, `{"name":"c%d"}`)), ""),
		"column, name":       ofVault("v", table(`{"name":"`+name+`"}`), ""),
		"tokenization":       ofVault("v", column(`,"tokenization":"x"`), ""),
		"group, dot":         ofVault("v", column(`,"tokenization":"deterministic","column_group":"a.b"`), ""),
		"group, random":      ofVault("v", column(`,"tokenization":"random","column_group":"g"`), ""),
		"group, two formats": ofVault("v", table(`{"name":"a","tokenization":"deterministic","column_group":"g","format":"uuid"},{"name":"b","tokenization":"deterministic","column_group":"g","format":"digits"}`), ""),
		"format":             ofVault("v", column(`,"tokenization":"deterministic","format":"x"`), ""),
		"format, prefix":     ofVault("v", column(`,"tokenization":"deterministic","format":"prefix:`+name+`"`), ""),
		"mask":               ofVault("v", column(`,"tokenization":"deterministic","mask":"x"`), ""),
		"record, table":      ofVault("v", email, `{"table":"x","fields":{}}`),
		"record, column":     ofVault("v", email, `{"table":"persons","fields":{"x":"y"}}`),
		"record, long value": ofVault("v", email, `{"table":"persons","fields":{"email":"`+strings.Repeat("x", maxVaultValue+1)+`"}}`),
		"record, format":     ofVault("v", column(`,"tokenization":"deterministic","format":"digits"`), `{"table":"persons","fields":{"c":"1"}}`),
		"record, no tokens":  ofVault("v", column(``), `{"table":"persons","fields":{"c":"1"}}`),
		"dataset, ID":        dataset(name, ""),
		"video, ID":          dataset("d", `{"id":"`+name+`","path":"a.wav"}`),
		"video, path":        dataset("d", `{"id":"v","path":"`+strings.Repeat("p", 4096+1)+`"}`),
		"video, metadata":    dataset("d", `{"id":"v","path":"a.wav","metadata":{"a":"`+strings.Repeat("m", metadata.MaxBytes)+`"}}`),
	} {
		refuseWhole(t, what, `{"id":"bad",`+bad+`}`)
	}
	refuseWhole(t, "organization, ID", `{"id":"`+name+`"}`)
	refuseWhole(t, "organization, ours", `{"id":"\u0001mortise"}`)
}

// refuseWhole starts the program on an empty folder, with a good organization and a bad
// one.
func refuseWhole(t *testing.T, what, bad string) {
	t.Helper()
	dir := t.TempDir()
	config, data := filepath.Join(dir, "acme.json"), filepath.Join(dir, "data")
	good := `{"id":"good","setup_complete":true,"api_keys":[{"key":"` + docKey + `"}],"vaults":[{"id":"v"}],"datasets":[{"id":"d"}]}`
	if err := os.WriteFile(config, []byte(`{"organizations":[`+good+","+bad+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	status := run([]string{"-config", config, "-data", data, "-addr", "127.0.0.1:0"}, nil, &stdout, &stderr)
	said := stderr.String()
	if status != exitUsage || stdout.Len() > 0 || strings.Count(said, "\n") != 1 || !regexp.MustCompile(`acme\.json: .*line 1, column \d+: organizations\[1\]`).MatchString(said) {
		t.Errorf("%s: status %d: %s", what, status, said)
	}
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: there is a data folder: %v", what, err)
	}
}

// TestRefusedOnOneLine: what the data contradicts is told on one line, also if others can
// read the document, which is worth a warning otherwise.
func TestRefusedOnOneLine(t *testing.T) {
	dir := t.TempDir()
	args := func(org string) []string {
		config := filepath.Join(dir, org+".json")
		if err := os.WriteFile(config, []byte(`{"organizations":[{"id":"`+org+`","api_keys":[{"key":"`+docKey+`"}]}]}`), 0o644); err != nil {
			t.Fatal(err)
		}
		return []string{"-config", config, "-data", filepath.Join(dir, "data"), "-addr", "127.0.0.1:0"}
	}
	ctx, cancel := context.WithCancel(t.Context())
	listening := writerFunc(func(text []byte) (int, error) {
		cancel()
		return len(text), nil
	})
	if err := start(ctx, args("acme"), nil, listening, io.Discard); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	status := run(args("thief"), nil, io.Discard, &stderr)
	if said := stderr.String(); status != exitUsage || strings.Count(said, "\n") != 1 || !strings.Contains(said, "belongs to another organization") {
		t.Errorf("status %d: %s", status, said)
	}
}

// writerFunc is an [io.Writer].
type writerFunc func(text []byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// tokenDocument returns a document with an access token, and more members of it.
func tokenDocument(token, more string) string {
	return fmt.Sprintf(`{"organizations":[{"id":"acme","access_tokens":[{"token":%q,"subject":"ops"%s}]}]}`, token, more)
}

// TestProvisioningRevokesTokens: a token ends when the document says so, whether it was
// there or not, and no document brings it back.
func TestProvisioningRevokesTokens(t *testing.T) {
	const there, missing = docToken, docToken + "-missing"
	onEach(t, func(t *testing.T, s *services, b *backends) {
		if err := apply(t, s, tokenDocument(there, `,"revoked":false`)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.authmgmt.service.VerifyToken(t.Context(), there); err != nil {
			t.Fatal(err)
		}
		for n, token := range []string{there, missing} {
			if err := apply(t, s, tokenDocument(token, `,"revoked":true`)); err != nil {
				t.Fatal(err)
			}
			ended := stateOf(t, b, "acme")
			if len(ended.Tokens) != n+1 || ended.Tokens[0].RevokedAt.IsZero() || len(ended.Events) != 2+n {
				t.Fatalf("%+v", ended)
			}
			// The missing one is stored as one that has ended.
			kind := []mortise.Kind{mortise.KindTokenRevoked, mortise.KindTokenIssued}[n]
			if e := ended.Events[0]; e.Kind != kind || e.After.RevokedAt == nil || e.Actor != "provisioning" || e.Target != ended.Tokens[0].ID.String() {
				t.Errorf("%+v", e)
			}
			for _, more := range []string{`,"revoked":true`, `,"revoked":false`, ``} {
				if err := apply(t, s, tokenDocument(token, more)); err != nil {
					t.Fatal(err)
				}
				if _, err := s.authmgmt.service.VerifyToken(t.Context(), token); !errors.Is(err, authmgmt.ErrInvalidCredentials) {
					t.Errorf("after %q: %v", more, err)
				}
				if after := stateOf(t, b, "acme"); !reflect.DeepEqual(ended, after) {
					t.Errorf("after %q: from %+v to %+v", more, ended, after)
				}
			}
		}
	})
}

// TestProvisioningOfOtherTokens: a token that does not mean what the document says is
// told once at a start, with its place.
func TestProvisioningOfOtherTokens(t *testing.T) {
	b := storages["memory"](t)
	var log bytes.Buffer
	s, err := wire(testSettings(), b, testKey(), slog.New(slog.NewJSONHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	const viewer, dataset, editor = `{"role_id":"viewer"}`, `{"role_id":"viewer","resource":"dataset"}`, `{"role_id":"editor"}`
	document := func(subject string, roles ...string) string {
		return fmt.Sprintf(`{"organizations":[{"id":"first"},{"id":"acme","access_tokens":[{"token":%q,"subject":%q,"roles":[%s]}]}]}`,
			docToken, subject, strings.Join(roles, ","))
	}
	for _, step := range []struct{ name, text, want string }{
		{"new", document("ops", viewer, editor), ""},
		{"again", document("ops", viewer, editor), ""},
		{"another order, and one twice", document("ops", editor, viewer, editor), ""},
		{"one more", document("ops", viewer, editor, dataset), "other roles"},
		{"one less", document("ops", editor), "other roles"},
		{"full access", document("ops"), "other roles"},
		{"another one", document("ops", editor, dataset), "other roles"},
		{"another subject", document("root", viewer, editor), "another subject"},
		{"both", document("root", editor), "another subject and other roles"},
		{"as it was", document("ops", viewer, editor), ""},
	} {
		log.Reset()
		if err := apply(t, s, step.text); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		told := log.String()
		if step.want == "" {
			if told != "" {
				t.Errorf("%s: logged %s", step.name, told)
			}
			continue
		}
		if strings.Count(told, "\n") != 1 || strings.Contains(told, docToken) || !strings.Contains(told, `"WARN"`) ||
			!strings.Contains(told, "is stored with "+step.want+"; what exists is never changed") ||
			!strings.Contains(told, `"place":"line 1, column 64: organizations[1].access_tokens[0]"`) {
			t.Errorf("%s: logged %s", step.name, told)
		}
	}
	if tokens := stateOf(t, b, "acme").Tokens; len(tokens) != 1 || tokens[0].Subject != "ops" || len(tokens[0].Roles) != 2 {
		t.Errorf("%+v", tokens)
	}
}

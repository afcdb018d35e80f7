package gold

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// TestOpenAPI compares the documents of each service with everything that it can be
// mounted with, of all four joined, and of the least that each can be mounted with. The
// example server's own is compared in TestServer.
func TestOpenAPI(t *testing.T) {
	r := newRig(t, storages[0].open(t), "", 1)
	document := func(file string, servers []string, handlers ...*httpadapter.Handler) {
		doc, err := httpadapter.OpenAPI(servers, handlers...)
		require.NoError(t, err)
		compare(t, "openapi/"+file, string(doc)+"\n", true)
	}
	for i, name := range []string{"trigger", "authmgmt", "vault", "audiosearch"} {
		handlers := r.full[i : i+1]
		if name == "trigger" {
			handlers = append(handlers[:1:1], r.full[4]) // the actions on many
		}
		document(name+".json", nil, handlers...)
	}
	document("full.json", []string{"https://api.example.com/internal", "https://sandbox.example.com"}, r.full...)
	document("least.json", []string{"/"}, r.few...)
}

// TestRules compares the IDs and sentences of the rules of all suites.
func TestRules(t *testing.T) {
	var b strings.Builder
	add := func(suite, id, text string) { fmt.Fprintf(&b, "%s %s: %s\n", suite, id, text) }
	for _, r := range queuetest.Rules() {
		add("queuetest", r.ID, r.Text)
	}
	for _, r := range triggertest.Rules() {
		add("triggertest", r.ID, r.Text)
	}
	for _, r := range authmgmttest.Rules() {
		add("authmgmttest", r.ID, r.Text)
	}
	for _, r := range vaulttest.Rules() {
		add("vaulttest", r.ID, r.Text)
	}
	for _, r := range vaulttest.KeyringRules() {
		add("vaulttest, keyrings", r.ID, r.Text)
	}
	for _, r := range audiosearchtest.Rules() {
		add("audiosearchtest", r.ID, r.Text)
	}
	for _, r := range audiosearchtest.ScorerRules() {
		add("audiosearchtest, scorers", r.ID, r.Text)
	}
	for _, r := range audiosearchtest.MediaRules() {
		add("audiosearchtest, media", r.ID, r.Text)
	}
	compare(t, "rules.txt", b.String(), true)
}

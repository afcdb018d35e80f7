package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// lateKeys are keys to which another server adds one after the document was checked.
type lateKeys struct {
	trigger.APIKeys
	asked int
}

func (l *lateKeys) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	if l.asked++; l.asked <= 2 { // by the check, and before the import
		return trigger.APIKey{}, mortise.ErrNotFound
	}
	return l.APIKeys.KeyByDigest(ctx, digest)
}

// TestProvisioningForeignKeyMeanwhile: a contradiction that was not there when the
// document was checked reads like one that was.
func TestProvisioningForeignKeyMeanwhile(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		if err := apply(t, s, `{"organizations":[{"id":"acme","api_keys":[{"key":"`+docKey+`"}]}]}`); err != nil {
			t.Fatal(err)
		}
		b.trigger.Keys = &lateKeys{APIKeys: b.trigger.Keys}
		s, err := wire(testSettings(), b, testKey(), discard())
		if err != nil {
			t.Fatal(err)
		}
		err = apply(t, s, `{"organizations":[{"id":"evil","api_keys":[{"key":"`+docKey+`","revoked":true}]}]}`)
		var usage *usageError
		const want = "-config: acme.json: line 1, column 44: organizations[0].api_keys[0]: this API key belongs to another organization"
		if !errors.As(err, &usage) || err.Error() != want {
			t.Errorf("got %v", err)
		}
		if _, err := s.trigger.service.VerifyKey(t.Context(), docKey); err != nil {
			t.Errorf("another organization's key was revoked: %v", err)
		}
	})
}

// TestProvisioningDeletedOrganization: a document that names an organization that was
// deleted logs one line for it, and what else it says is done.
func TestProvisioningDeletedOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, _ *backends) {
		const text = `{"organizations":[` +
			`{"id":"gone","setup_complete":true,"api_keys":[{"key":"` + docKey + `1"},{"key":"` + docKey + `2"}]},` +
			`{"id":"acme","setup_complete":true,"api_keys":[{"key":"` + docKey + `"}]}]}`
		if _, err := s.trigger.service.DeleteOrganization(t.Context(), "gone", "ann"); err != nil {
			t.Fatal(err)
		}
		doc, err := readText(t, text)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := applyDocument(t.Context(), s, doc, slog.New(slog.NewTextHandler(&out, nil))); err != nil {
			t.Fatal(err)
		}
		if strings.Count(out.String(), "gone") != 1 || strings.Count(out.String(), "level=WARN") != 1 {
			t.Errorf("want one line about the organization:\n%s", out.String())
		}
		if k, err := s.trigger.service.VerifyKey(t.Context(), docKey); err != nil || k.Organization != "acme" {
			t.Errorf("the key of the organization behind it: %v, %v", k.Organization, err)
		}
		if _, err := s.trigger.service.VerifyKey(t.Context(), docKey+"1"); !errors.Is(err, trigger.ErrInvalidKey) {
			t.Errorf("a key of the organization that was deleted: %v", err)
		}
	})
}

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestGuessableCredentialsCanBeRevoked: a document with credentials that could be guessed
// is refused, but those that were stored before can be ended by one, and one that is not
// stored stays so.
func TestGuessableCredentialsCanBeRevoked(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		ctx := t.Context()
		for _, kind := range []string{"stored", "missing"} {
			key, token := strings.Repeat("key", 11)+kind[:1], strings.Repeat("token", 7)+kind[:1]
			if kind == "stored" {
				err := errors.Join(
					b.trigger.Keys.CreateKey(ctx, trigger.APIKey{ID: uuid.New(), Organization: "acme", Digest: sha256.Sum256([]byte(key)), CreatedAt: time.Now()}),
					b.authmgmt.Store.CreateToken(ctx, authmgmt.Token{
						ID: uuid.New(), Organization: "acme", Subject: "ops", Digest: sha256.Sum256([]byte(token)), CreatedAt: time.Now(),
					}, authmgmt.AuditEvent{}))
				if err != nil {
					t.Fatal(err)
				}
			}
			document := func(more string) string {
				return fmt.Sprintf(`{"organizations":[{"id":"acme","api_keys":[{"key":%q%s}],"access_tokens":[{"token":%q,"subject":"ops"%[2]s}]}]}`, key, more, token)
			}
			if _, err := readText(t, document("")); err == nil || strings.Count(err.Error(), "must be random") == 0 {
				t.Errorf("%s: %v", kind, err)
			}
			for range 2 {
				if err := apply(t, s, document(`,"revoked":true`)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.trigger.service.VerifyKey(ctx, key); !errors.Is(err, trigger.ErrInvalidKey) {
				t.Errorf("%s: %v", kind, err)
			}
			if _, err := s.authmgmt.service.VerifyToken(ctx, token); !errors.Is(err, authmgmt.ErrInvalidCredentials) {
				t.Errorf("%s: %v", kind, err)
			}
			if page, err := s.authmgmt.service.ListTokens(ctx, "acme", "", 0); err != nil || len(page.Items) != 1 {
				t.Errorf("%s: %+v, %v", kind, page, err)
			}
		}
	})
}

// TestExposedDocument: an operator is told of a provisioning document that others can
// read, as of a root key.
func TestExposedDocument(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	path := filepath.Join(t.TempDir(), "acme.json")
	if err := os.WriteFile(path, []byte(`{"organizations":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, told := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		doc, err := readProvisioning(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		warnOfExposed(doc, slog.New(slog.NewJSONHandler(&log, nil)))
		if strings.Contains(log.String(), "others can read the provisioning document") != told || told && !strings.Contains(log.String(), path) {
			t.Errorf("%v: %s", mode, &log)
		}
	}
}

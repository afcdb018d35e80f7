package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

const (
	docKey   = "sk-acme-0123456789abcdef0123456789abcdef"
	docToken = "at-0123456789abcdef0123456789abcdef"
)

// TestApply: what the document of the contract says is there, and a second time changes
// nothing.
func TestApply(t *testing.T) {
	data, err := os.ReadFile("testdata/acme.json")
	require.NoError(t, err)
	s, err := inMemory(t.Context())
	require.NoError(t, err)
	s.Sandbox = mustEmpty(t).Vault
	ctx := t.Context()
	var tokens []string
	for range 2 {
		doc, err := readText(t, string(data))
		require.NoError(t, err)
		require.Empty(t, doc.Datasets())
		require.NoError(t, doc.Apply(ctx, s, empty))
		require.Equal(t, []Dataset{{"acme", "d1"}}, doc.Datasets())
		require.Equal(t, 1, doc.Len())

		items := []vault.Item{{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("ada@example.com")}}
		found, err := s.Vault.Tokenize(ctx, "acme", "v1", items)
		require.NoError(t, err)
		tokens = append(tokens, found...)
		_, err = s.Sandbox.Tokenize(ctx, "acme", "v1", items)
		require.ErrorIs(t, err, vault.ErrValueNotFound, "the sandbox has the vault, without its records")
	}
	require.Equal(t, tokens[0], tokens[1])
	_, _, err = s.AuthMgmt.Login(ctx, "c1", "cs-0123456789abcdef0123456789abcdef")
	require.NoError(t, err)
	_, err = s.AuthMgmt.Invitation(ctx, "acme", "inv1")
	require.NoError(t, err)
	_, err = s.AudioSearch.Video(ctx, "acme", "d1", "clip-1")
	require.NoError(t, err)
	_, err = s.Trigger.Submit(ctx, "acme", "", trigger.Submission{Instructions: "x"})
	require.NoError(t, err)
}

func mustEmpty(t *testing.T) *Services {
	t.Helper()
	s, err := inMemory(t.Context())
	require.NoError(t, err)
	return s
}

// TestApplyContradicts: what contradicts the services stops the whole document, before
// anything is changed.
func TestApplyContradicts(t *testing.T) {
	s := mustEmpty(t)
	require.NoError(t, apply(t, s, `{"organizations":[{"id":"acme","api_keys":[{"key":"`+docKey+`"}]}]}`))
	err := apply(t, s, `{"organizations":[{"id":"first","setup_complete":true},{"id":"evil","api_keys":[{"key":"`+docKey+`"}]}]}`)
	var wrong *Error
	require.ErrorAs(t, err, &wrong)
	require.EqualError(t, err, "acme.json: line 1, column 81: organizations[1].api_keys[0]: this API key belongs to another organization")
	_, err = s.Trigger.Submit(t.Context(), "first", "", trigger.Submission{Instructions: "x"})
	require.ErrorIs(t, err, trigger.ErrNotConfigured)
}

// TestApplyWarns: what is stored otherwise is told to the Logger, and left.
func TestApplyWarns(t *testing.T) {
	s := mustEmpty(t)
	var log bytes.Buffer
	s.Logger = slog.New(slog.NewTextHandler(&log, nil))
	document := func(subject string) string {
		return fmt.Sprintf(`{"organizations":[{"id":"acme","access_tokens":[{"token":%q,"subject":%q}]}]}`, docToken, subject)
	}
	require.NoError(t, apply(t, s, document("ops")))
	require.Empty(t, log.String())
	require.NoError(t, apply(t, s, document("dev")))
	require.Equal(t, 1, strings.Count(log.String(), "\n"))
	require.Contains(t, log.String(), "an access token is stored with another subject; what exists is never changed")
	log.Reset()
	require.NoError(t, apply(t, s, vaultWith(emailColumn, "")))
	require.Empty(t, log.String())
	require.NoError(t, apply(t, s, vaultWith(`{"name":"email","tokenization":"random"}`, "")))
	require.Equal(t, 1, strings.Count(log.String(), "\n"), "the rehearsal beside the stored vaults tells nothing")
	identity, err := s.AuthMgmt.VerifyToken(t.Context(), docToken)
	require.NoError(t, err)
	require.Equal(t, "ops", identity.Subject)
}

// TestApplyWarnsOfOtherRoles: a document with other roles than the stored ones takes none
// away, and says so of tokens, clients and pending invitations alike.
func TestApplyWarnsOfOtherRoles(t *testing.T) {
	s := mustEmpty(t)
	var log bytes.Buffer
	s.Logger = slog.New(slog.NewTextHandler(&log, nil))
	document := func(roles string) string {
		return fmt.Sprintf(`{"organizations":[{"id":"acme","rbac_enabled":true,
			"access_tokens":[{"token":%q,"subject":"ops","roles":%[2]s}],
			"clients":[{"client_id":"c1","client_secret":"cs-0123456789abcdef0123456789abcdef","name":"c","roles":%[2]s}],
			"invitations":[{"invitation_id":"i1","inviter":{"name":"g"},"invitee":{"email":"a@example.com","name":"n","roles":%[2]s}}]}]}`,
			docToken, roles)
	}
	const both, narrowed = `[{"role_id":"admin"},{"role_id":"viewer"}]`, `[{"role_id":"viewer"}]`
	require.NoError(t, apply(t, s, document(both)))
	require.NoError(t, apply(t, s, document(`[{"role_id":"viewer"},{"role_id":"admin"}]`)))
	require.Empty(t, log.String(), "the order of roles means nothing")
	require.NoError(t, apply(t, s, document(narrowed)))
	require.Equal(t, 3, strings.Count(log.String(), "\n"), log.String())
	for _, what := range []string{"an access token", "a client", "an invitation"} {
		require.Contains(t, log.String(), "provisioning document: "+what+" is stored with other roles; what exists is never changed")
	}

	require.NoError(t, s.AuthMgmt.DeleteClient(t.Context(), "acme", provisioner, "c1"))
	require.NoError(t, s.AuthMgmt.CancelInvitation(t.Context(), "acme", provisioner, "i1"))
	log.Reset()
	require.NoError(t, apply(t, s, document(narrowed)))
	require.Equal(t, 1, strings.Count(log.String(), "\n"), "a deleted client and a cancelled invitation give nothing: %s", log.String())
}

// TestApplyFails: a failure is no mistake in the document.
func TestApplyFails(t *testing.T) {
	doc, err := readText(t, `{"organizations":[{"id":"acme"}]}`)
	require.NoError(t, err)
	failure := errors.New("no memory")
	none := func(context.Context, func(*Services) error) error { return failure }
	var wrong *Error
	for _, err := range []error{doc.Apply(t.Context(), mustEmpty(t), none), doc.Rehearse(t.Context(), none)} {
		require.ErrorIs(t, err, failure)
		require.False(t, errors.As(err, &wrong))
	}
}

// TestOpen: secrets are read from where the document says, and it is told what others can
// read.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.json")
	text := `{"organizations":[{"id":"a","api_keys":[{"key":{"env":"ACME_KEY"}},{"key":{"file":"key"}}]}]}`
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	file := filepath.Join(filepath.Dir(path), "key")
	require.NoError(t, os.WriteFile(file, []byte(docKey+"2\n"), 0o600))
	require.NoError(t, os.Chmod(file, 0o640))
	doc, err := Open(path, []string{"ACME_KEY=" + docKey})
	require.NoError(t, err)
	require.Equal(t, []string{"ACME_KEY"}, doc.Variables())
	require.Len(t, doc.Exposed(), 1)
	require.Contains(t, doc.Exposed(), file)
	require.NoError(t, os.Chmod(path, 0o604))
	again, err := Open(path, []string{"ACME_KEY=" + docKey})
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o604), again.Exposed()[path])
	require.NotContains(t, fmt.Sprintf("%+v %#v %s", doc, doc, doc), docKey)
	s := mustEmpty(t)
	require.NoError(t, doc.Rehearse(t.Context(), empty))
	require.NoError(t, doc.Apply(t.Context(), s, empty))
	for _, key := range []string{docKey, docKey + "2"} {
		_, err := s.Trigger.VerifyKey(t.Context(), key)
		require.NoError(t, err)
	}
	var wrong *Error
	_, err = Open(path+"x", nil)
	require.ErrorAs(t, err, &wrong)
	require.ErrorIs(t, err, os.ErrNotExist)
}

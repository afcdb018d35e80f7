package sqlite_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/authmgmtdb"
)

// forms returns the ways in which a secret could stand in a file, by their names: as it
// is, and as a part of something that is encoded.
func forms(secret []byte) map[string][]byte {
	found := map[string][]byte{
		"raw": secret, "hex": []byte(hex.EncodeToString(secret)), "HEX": []byte(strings.ToUpper(hex.EncodeToString(secret))),
	}
	for name, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
		for before := range 3 {
			// Its first and last digits depend on what stands beside the secret.
			text := encoding.EncodeToString(append(make([]byte, before), secret...))
			found[fmt.Sprintf("%s behind %d bytes", name, before)] = []byte(text[(before*8+5)/6 : (before+len(secret))*8/6])
		}
	}
	return found
}

func TestForms(t *testing.T) {
	secret := []byte("\xfb\xff secret \x00\x01")
	seen := make(map[string]bool)
	for before := range 6 {
		for after := range 4 {
			text := bytes.Join([][]byte{bytes.Repeat([]byte("<"), before), secret, bytes.Repeat([]byte(">"), after)}, nil)
			for encoding, encoded := range map[string]string{
				"raw": string(text), "hex": hex.EncodeToString(text), "HEX": strings.ToUpper(hex.EncodeToString(text)),
				"base64": base64.StdEncoding.EncodeToString(text), "base64url": base64.URLEncoding.EncodeToString(text),
			} {
				found := false
				for name, form := range forms(secret) {
					if strings.Contains(encoded, string(form)) && strings.HasPrefix(name, encoding) {
						found, seen[name] = true, true
					}
				}
				require.Truef(t, found, "%s, %d bytes before, %d after", encoding, before, after)
			}
		}
	}
	require.Len(t, seen, len(forms(secret)))
}

// copyPath tells the second process of TestSecretsAtRest what to copy.
const copyPath = "MORTISE_SQLITE_COPY"

// TestSecretsAtRest: nothing that opens anything stands in the files, whatever was done
// with it.
func TestSecretsAtRest(t *testing.T) {
	if path := os.Getenv(copyPath); path != "" { // the second process
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(path + suffix)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path+suffix+".copy", data, 0o600))
		}
		return
	}
	path := filepath.Join(t.TempDir(), "test.db")
	tables := openAt(t, path, nil).AuthMgmt().Store.(*authmgmtdb.Store)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	granted := 0
	service, err := authmgmt.New(authmgmt.Backend{Store: tables, Directory: tables}, &authmgmt.Options{
		AcceptURL: "https://app.example.com/join/", InvitationKey: invitationKey, Env: mortise.Env{Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)},
		Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			if granted++; granted == 1 {
				return mortise.Secret{}, errors.New("not yet")
			}
			return mortise.NewSecret("reply-to-the-person"), nil
		},
	})
	require.NoError(t, err)
	known := useEverything(t, service, func() { now = now.Add(time.Hour) })
	known["the invitation key"] = []byte(invitationKeyText)
	known["the reply"] = []byte("reply-to-the-person")

	// To read the files here would drop the locks that SQLite holds on them, and to close
	// the database would do away with the log.
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecretsAtRest$", "-test.count=1")
	child.Env = append(os.Environ(), copyPath+"="+path)
	output, err := child.CombinedOutput()
	require.NoError(t, err, string(output))
	var files []byte
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix + ".copy")
		require.NoError(t, err)
		require.NotEmpty(t, data, suffix)
		files = append(files, data...)
	}
	client := sha256.Sum256(known["the first secret"])
	require.True(t, bytes.Contains(files, client[:]), "the digest is there, so it is the right file")
	require.True(t, bytes.Contains(files, []byte("ada@example.com")))
	for name, secret := range known {
		require.NotEmpty(t, secret, name)
		for form, bytes := range forms(secret) {
			assert.NotContainsf(t, string(files), string(bytes), "%s: %s", name, form)
		}
	}
}

// useEverything makes, uses and ends credentials of all kinds, and returns all that must
// not be kept, by what it is.
func useEverything(t *testing.T, s *authmgmt.Service, later func()) map[string][]byte {
	t.Helper()
	known := make(map[string][]byte)
	text := func(name, text string) string {
		known[name] = []byte(text)
		if _, digits, ok := strings.Cut(text, "-"); ok {
			b, err := hex.DecodeString(digits)
			require.NoError(t, err)
			known[name+", its bytes"] = b
		}
		return text
	}
	link := func(name string, i *authmgmt.Invitation) string {
		token, err := s.LinkToken(t.Context(), i)
		require.NoError(t, err)
		_, secret, ok := strings.Cut(token.Reveal(), ".")
		require.True(t, ok)
		b, err := base64.RawURLEncoding.DecodeString(secret)
		require.NoError(t, err)
		known[name], known[name+", its bytes"] = []byte(secret), b
		return token.Reveal()
	}
	ctx := t.Context()
	must := func(err error) { t.Helper(); require.NoError(t, err) }
	imported := func(n int) string { return strings.Repeat(fmt.Sprint("imported elsewhere ", n, "; "), 3) }

	must(s.CheckKey(ctx))
	must(s.SetRBAC(ctx, "acme", root, true))
	c, first, err := s.CreateClient(ctx, "acme", root, authmgmt.NewClient{Name: "Robot", Roles: []access.Role{{ID: "viewer"}}})
	must(err)
	text("the first secret", first.Reveal())
	_, err = s.ImportClient(ctx, "acme", root, authmgmt.NewClient{ID: "old", Name: "Old", FullAccess: true}, text("an imported secret", imported(1)))
	must(err)
	token, access, err := s.Login(ctx, c.ID, first.Reveal())
	must(err)
	text("an access token", access.Reveal())
	_, _, err = s.Login(ctx, c.ID, text("a wrong secret", "wrong, and long enough to be searched"))
	require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials)
	_, err = s.VerifyToken(ctx, access.Reveal())
	must(err)
	_, err = s.VerifyToken(ctx, text("a wrong token", "wrong, and long enough to be searched, too"))
	require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials)
	_, own, err := s.IssueToken(ctx, "acme", root, authmgmt.NewToken{Subject: "ada", FullAccess: true})
	must(err)
	text("a token of its own", own.Reveal())
	_, err = s.ImportToken(ctx, "acme", root, authmgmt.NewToken{Subject: "bob", FullAccess: true}, text("an imported token", imported(2)))
	must(err)
	c, second, err := s.RotateSecret(ctx, "acme", root, c.ID, 0)
	must(err)
	text("the second secret", second.Reveal())
	must(s.RevokeSecret(ctx, "acme", root, c.ID, c.Secrets[0].ID))
	require.ErrorIs(t, s.RevokeToken(ctx, "acme", root, token.ID), mortise.ErrNotFound, "gone with its secret")
	token, access, err = s.Login(ctx, c.ID, second.Reveal())
	must(err)
	text("another access token", access.Reveal())
	must(s.RevokeToken(ctx, "acme", root, token.ID))
	name := "R2"
	_, err = s.UpdateClient(ctx, "acme", root, c.ID, authmgmt.ClientUpdate{Name: &name})
	must(err)
	must(s.DeleteClient(ctx, "acme", root, c.ID))

	i, err := s.Invite(ctx, "acme", root, authmgmt.NewInvitation{Email: "ada@example.com", Name: "Ada", FullAccess: true})
	must(err)
	link("the first link", &i)
	i, err = s.ResendInvitation(ctx, "acme", root, i.ID)
	must(err)
	_, _, err = s.Accept(ctx, link("the second link", &i), "ada")
	require.ErrorIs(t, err, authmgmt.ErrGrantPending)
	later()
	granted, err := s.RunOnce(ctx)
	must(err)
	require.Equal(t, 1, granted)
	i, err = s.ImportInvitation(ctx, "acme", root, authmgmt.NewInvitation{ID: "old", Email: "bob@example.com", Name: "Bob", FullAccess: true})
	must(err)
	link("an imported link", &i)
	must(s.CancelInvitation(ctx, "acme", root, "old"))
	return known
}

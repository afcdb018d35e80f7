package provision

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// inMemory returns services that hold nothing.
func inMemory(ctx context.Context) (*Services, error) {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	keys, err := localkeys.New(localkeys.Key{Version: 1, Root: localkeys.RandomRoot()})
	if err != nil {
		return nil, err
	}
	s := &Services{Credentials: db.AuthMgmt().Store}
	triggers := db.Trigger()
	triggers.Directory = triggers.Store.(trigger.Organizations)
	if s.Trigger, err = trigger.New(triggers, nil); err != nil {
		return nil, err
	}
	link, err := authmgmt.NewInvitationKey([]byte("fake invitation key of the tests"))
	if err != nil {
		return nil, err
	}
	opts := &authmgmt.Options{AcceptURL: "https://app.example.com/join/", InvitationKey: link}
	if s.AuthMgmt, err = authmgmt.New(db.AuthMgmt(), opts); err != nil {
		return nil, err
	}
	if s.Vault, err = vault.New(db.Vault(), keys, nil); err != nil {
		return nil, err
	}
	s.AudioSearch, err = audiosearch.New(db.AudioSearch(), nil)
	return s, err
}

// empty is an [Empty].
func empty(ctx context.Context, do func(*Services) error) error {
	s, err := inMemory(ctx)
	if err != nil {
		return err
	}
	return do(s)
}

// readText reads a document and rehearses it.
func readText(t *testing.T, text string) (*Document, error) {
	t.Helper()
	doc, err := Parse("acme.json", []byte(text), nil)
	if err != nil {
		return nil, err
	}
	return doc, doc.Rehearse(t.Context(), empty)
}

// apply applies a document in which nothing is wrong by itself.
func apply(t *testing.T, s *Services, text string) error {
	t.Helper()
	doc, err := readText(t, text)
	require.NoError(t, err)
	return doc.Apply(t.Context(), s, empty)
}

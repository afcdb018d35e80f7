package e2e

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// lockedAnswer is how long it may take by default until a client hears that the file is
// locked. Many give up after 5 s.
const lockedAnswer = 4 * time.Second

// TestLockedFileIsAnsweredInTime by the defaults, all waits of a request together: those
// that read several times and then write, too.
func TestLockedFileIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mortise.db")
	db, err := sqlite.Open(t.Context(), file, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	log := slog.New(slog.DiscardHandler)

	triggers, err := trigger.New(db.Trigger(), &trigger.Options{Env: mortise.Env{Logger: log}})
	require.NoError(t, err)
	_, key, err := triggers.IssueKey(t.Context(), "acme", "", "")
	require.NoError(t, err)
	intake, err := httpadapter.NewTrigger(triggers, httpadapter.Bearer(httpadapter.TriggerKeys(triggers)),
		&httpadapter.TriggerOptions{Options: httpadapter.Options{Logger: log}})
	require.NoError(t, err)

	root, err := localkeys.NewRoot([]byte("a root key of the tests, 32 byte"))
	require.NoError(t, err)
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(t, err)
	vaults, err := vault.New(db.Vault(), keyring, nil)
	require.NoError(t, err)
	_, err = vaults.CreateVault(t.Context(), "acme", "operator", "v1", vault.Schema{Tables: []vault.Table{
		{Name: "persons", Columns: []vault.Column{{Name: "name", Tokenization: vault.Deterministic}}},
	}})
	require.NoError(t, err)
	tokens, err := vaults.Insert(t.Context(), "acme", "operator", "v1", rotationItems([]string{"Ada"}))
	require.NoError(t, err)
	values, err := httpadapter.NewVault(vaults, httpadapter.Bearer(func(context.Context, string) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: "test", Access: access.Full()}, nil
	}), &httpadapter.VaultOptions{Detokenize: true, Options: httpadapter.Options{Logger: log}})
	require.NoError(t, err)

	requests := []struct {
		handler          http.Handler
		path, body, name string
	}{
		{intake, "/triggers", `{"instructions":"x"}`, "submission"},
		{values, "/v1/vaults/v1/detokenize", `{"detokenizationParameters":[{"token":"` + tokens[0] + `"}]}`, "detokenization"},
	}
	ask := func(i int) (*httptest.ResponseRecorder, time.Duration) {
		req := httptest.NewRequest(http.MethodPost, requests[i].path, strings.NewReader(requests[i].body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+key.Reveal())
		req.Header.Set("Idempotency-Key", "the-same")
		w := httptest.NewRecorder()
		begun := time.Now()
		requests[i].handler.ServeHTTP(w, req)
		return w, time.Since(begun)
	}
	release := hold(t, holdWrite, file)
	for i, r := range requests {
		least := time.Hour
		for range 10 { // on a busy machine another try may be needed
			w, took := ask(i)
			require.Equal(t, http.StatusServiceUnavailable, w.Code, "%s: %s", r.name, w.Body)
			require.NotEmpty(t, w.Header().Get("Retry-After"), r.name)
			if least = min(least, took); least < lockedAnswer {
				break
			}
		}
		t.Logf("%s beside a lock: %v", r.name, least)
		require.Less(t, least, lockedAnswer, r.name)
	}
	release()
	for i, r := range requests {
		w, _ := ask(i)
		require.Less(t, w.Code, 300, "%s: %s", r.name, w.Body)
	}
}

package e2e

import (
	"context"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestCopyFrom: a server moves from SQLite to PostgreSQL by -copy-from, which is killed in
// the middle of it and goes on when it is started again. Whatever was given out works as
// before, the history is the same, and an event that was not finished is finished once.
func TestCopyFrom(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	p := buildServer(t)
	database := sharedDatabase(t)
	key := writeKey(t, hex.EncodeToString(randomKey()))
	scriptDir, command := script(t, `
IFS= read -r event
case $event in *slow*) while [ ! -e go ]; do sleep 0.05; done ;; *doomed*) [ -e go ] || exit 1 ;; esac
echo "$event" >>finished
echo done
`)
	dir, config := t.TempDir(), writeTwins(t, "acme", "acme2")
	s := p.startIn(t, dir, nil, "-config", config, "-trigger-exec", command, "-vault-key", key)
	s.awaitIngestion()
	w, other := newTwin(t, s, "acme"), newTwin(t, s, "acme2")
	admin := w.secret("at")
	long := s.submit(w.secret("sk"), `{"instructions": "`+strings.Repeat("long ", 1000)+`"}`)
	s.awaitStatus(w.secret("sk"), long, "completed")
	again := func() answer {
		return s.do("POST", "/triggers", w.secret("sk"), `{"instructions": "only once"}`, "Idempotency-Key", "k1")
	}
	require.Equal(t, http.StatusAccepted, again().status)
	doomed := s.submit(w.secret("sk"), `{"instructions": "doomed"}`)
	s.await("an attempt", func() bool { return s.event(w.secret("sk"), doomed).Attempts > 0 })
	client := s.newClient(admin, "made", "viewer")
	s.guard(client.Secret)
	session := s.token(client.ID, client.Secret)
	pending := s.invite(admin, "grace@example.com", "viewer")
	erased := s.insert(admin, object{"email": "erased@example.com"})[0]["email"]
	require.Equal(t, http.StatusOK, s.status("DELETE", tokensPath+erased, admin))
	kept := s.insert(admin, object{"email": "kept@example.com"})[0]["email"]
	lists := func() (all []string) {
		for _, path := range []string{clientsPath, invitationsPath, "/triggers/" + w.event, "/triggers/" + long} {
			of := admin
			if strings.HasPrefix(path, "/triggers") {
				of = w.secret("sk")
			}
			a := s.do("GET", path, of, "")
			require.Equal(t, http.StatusOK, a.status, a.body)
			all = append(all, strings.ReplaceAll(a.body, s.url, ""))
		}
		return all
	}
	before, repeated := lists(), again().body

	into := []string{"-postgres", database, "-copy-from", filepath.Join(dir, "mortise-data"), "-vault-key"}
	assert.Contains(t, p.refusal(t, 2, nil, append(into, key)...), "a program uses it; stop that first")
	s.stop()
	wrong := writeKey(t, hex.EncodeToString(randomKey()))
	assert.Contains(t, p.refusal(t, 2, nil, append(into, wrong)...), "another key")

	p.run(t, t.TempDir(), nil, "-migrate", "-postgres", database).awaitExit()

	// Killed where it waits for one of the tables.
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, strings.Replace(database, "mortise@", "postgres@", 1))
	require.NoError(t, err)
	defer func() { _ = conn.Close(ctx) }()
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "LOCK TABLE mortise.vault_tokens IN SHARE MODE")
	require.NoError(t, err)
	cut := p.run(t, t.TempDir(), nil, append(into, key)...)
	cut.await("the copy to be in the middle", func() bool {
		var waits bool
		err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'mortise.vault_tokens'::regclass)").Scan(&waits)
		require.NoError(t, err)
		return waits
	})
	cut.kill()
	serve := []string{"-postgres", database, "-config", config, "-trigger-exec", command, "-vault-key", key}
	assert.Contains(t, p.refusalIn(t, dir, 2, nil, serve...), "a part of a copy")
	require.NoError(t, tx.Rollback(ctx))
	rest := p.run(t, t.TempDir(), nil, append(into, key)...)
	rest.guard(secrets()...)
	<-rest.exited
	rest.awaitExit()
	assert.Contains(t, rest.stdout.String(), "authmgmt_tokens: copied before")
	assert.NotContains(t, rest.stdout.String(), "vault_tokens: copied before")
	assert.Contains(t, rest.stdout.String(), "all of it is copied")
	assert.Contains(t, p.refusal(t, 2, nil, append(into, key)...), "not empty")

	require.NoError(t, os.WriteFile(filepath.Join(scriptDir, "go"), nil, 0o600))
	s = p.startIn(t, dir, nil, serve...)
	s.guard(client.Secret, admin, session)
	s.awaitIngestion()
	assert.Equal(t, before, lists())
	assert.Equal(t, repeated, again().body, "the idempotency key is known")
	w.works(t, s)
	other.works(t, s)
	for _, k := range append(w.knocks(s), other.knocks(s)...) {
		assert.Equal(t, 2, k.answer.status/100, "%s: %s", k.name, k.answer.body)
	}
	assert.Equal(t, http.StatusOK, s.login(client.ID, client.Secret).status)
	assert.Equal(t, http.StatusOK, s.do("GET", acceptPath+pending.linkToken(t), "", "").status)
	assert.Equal(t, "kept@example.com", s.detokenize(admin, kept, "PLAIN_TEXT").Value)
	assert.NotEqual(t, http.StatusOK, s.status("DELETE", tokensPath+erased, admin), "it stays erased")
	for _, id := range []string{w.slow, doomed} {
		s.awaitStatus(w.secret("sk"), id, "completed")
	}
	s.awaitStatus(other.secret("sk"), other.slow, "completed")
	s.stop()
	finished, err := os.ReadFile(filepath.Join(scriptDir, "finished"))
	require.NoError(t, err)
	for _, id := range []string{w.event, w.slow, long, doomed, other.event, other.slow} {
		assert.Equal(t, 1, strings.Count(string(finished), id), "how often the event was processed: %s", id)
	}
}

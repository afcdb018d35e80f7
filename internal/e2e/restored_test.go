package e2e

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
)

// TestRestored follows docs/restore.md on both databases. A client is made, a backup is taken, the
// client is deleted, and the backup put back: the server does not start without -restored. With
// it every access token has ended, and the client's secret logs in until a caller deletes the
// client again. A plain restart, one after kill -9, and one with another database and the same
// root key do not count as one.
func TestRestored(t *testing.T) {
	t.Parallel()
	p := buildServer(t)
	db := pgserver.Shared(t)
	for name, open := range map[string]func(t *testing.T) (args []string, backUp, putBack func()){
		"SQLite": func(t *testing.T) (args []string, backUp, putBack func()) {
			data, backup := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backup.db")
			file := filepath.Join(data, "mortise.db")
			return []string{"-data", data}, func() {
					p.run(t, t.TempDir(), nil, "-data", data, "-backup", backup).awaitExit()
				}, func() {
					for _, path := range []string{file + "-wal", file + "-shm"} {
						require.NoError(t, os.RemoveAll(path))
					}
					require.NoError(t, os.Rename(backup, file))
				}
		},
		"PostgreSQL": func(t *testing.T) (args []string, backUp, putBack func()) {
			at := sharedDatabase(t)
			u, err := url.Parse(at)
			require.NoError(t, err)
			name := strings.TrimPrefix(u.Path, "/")
			return []string{"-postgres", at}, func() {
					asAdmin(t, db, "CREATE DATABASE "+name+"_backup OWNER mortise")
					require.NoError(t, db.Dump(name, name+"_backup"))
				}, func() {
					asAdmin(t, db, "DROP DATABASE "+name)
					asAdmin(t, db, "ALTER DATABASE "+name+"_backup RENAME TO "+name)
				}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, backUp, putBack := open(t)
			key := writeKey(t, hex.EncodeToString(randomKey()))
			args = append(args, "-config", writeOrganizations(t, ""), "-vault-key", key)
			start := func(more ...string) *server {
				s := p.start(t, nil, append(args[:len(args):len(args)], more...)...)
				s.guard(append(secrets(), rootToken, adminToken, otherToken)...)
				return s
			}
			s := start()
			client := s.newClient(rootToken, "gone", "admin")
			token := s.token(client.ID, client.Secret)
			works := func(s *server) int { return s.status("GET", clientsPath, token) }
			require.Equal(t, http.StatusOK, works(s))
			backUp()
			require.Equal(t, http.StatusOK, s.status("DELETE", clientsPath+"/"+client.ID, rootToken))
			require.Equal(t, http.StatusUnauthorized, works(s))
			s.kill()
			fresh := p.start(t, nil, "-data", t.TempDir(), "-config", args[3], "-vault-key", key)
			fresh.guard(append(secrets(), rootToken, adminToken, otherToken)...)
			fresh.stop()
			s = start() // after a crash
			require.Equal(t, http.StatusUnauthorized, works(s))
			s.stop()

			putBack()
			told := p.refusal(t, 2, nil, args...)
			assert.Contains(t, told, "the database was restored from a backup")
			assert.Contains(t, told, "Start with -restored")
			s = start("-restored")
			s.guard(client.Secret, token)
			assert.Contains(t, s.stderr.String(), `"level":"WARN","msg":"the database was restored: all access tokens and sessions were ended`)
			assert.Equal(t, http.StatusUnauthorized, works(s), "the token has ended")
			assert.Equal(t, http.StatusOK, s.login(client.ID, client.Secret).status, "the client is there again")
			token = s.token(client.ID, client.Secret)
			s.stop()
			s = start("-restored") // a flag that was left ends no access
			s.guard(client.Secret, token)
			assert.Contains(t, s.stderr.String(), "no access was ended")
			assert.Equal(t, http.StatusOK, works(s))
			require.Equal(t, http.StatusOK, s.status("DELETE", clientsPath+"/"+client.ID, rootToken))
			s.stop()
			s = start() // without the flag from now on
			assert.Equal(t, http.StatusUnauthorized, s.login(client.ID, client.Secret).status)
			s.stop()
		})
	}
}

// TestFailoverThatLostNothing: a standby that has heard everything is promoted, which does not
// count as a restore.
func TestFailoverThatLostNothing(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	p := buildServer(t)
	primary := startPostgres(t)
	standby := primary.Standby(t)
	args := []string{"-config", writeOrganizations(t, ""), "-vault-key", writeKey(t, hex.EncodeToString(randomKey())), "-postgres"}
	start := func(db *pgserver.Server) *server {
		s := p.start(t, nil, append(args[:len(args):len(args)], databaseURL(db))...)
		s.guard(append(secrets(), rootToken, adminToken, otherToken)...)
		return s
	}
	s := start(primary)
	client := s.newClient(rootToken, "gone", "admin")
	require.Equal(t, http.StatusOK, s.status("DELETE", clientsPath+"/"+client.ID, rootToken))
	s.stop()
	require.NoError(t, primary.Down(pgserver.Crash)) // after each commit waited for the standby
	require.NoError(t, standby.Promote())
	s = start(standby)
	s.guard(client.Secret)
	assert.NotContains(t, s.stderr.String(), "restored")
	assert.Equal(t, http.StatusUnauthorized, s.login(client.ID, client.Secret).status)
}

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// Secrets of provisioned clients: one that nothing happens to, and those of clients that
// are changed, rotated and deleted.
const (
	keptSecret    = "cs-kept-00112233445566778899aabbccddeeff"
	changedSecret = "cs-changed-00112233445566778899aabbccdde"
	rotatedSecret = "cs-rotated-00112233445566778899aabbccdde"
	deletedSecret = "cs-deleted-00112233445566778899aabbccdde"
)

const provisioned = `"clients": [
	{"client_id": "kept", "client_secret": "` + keptSecret + `", "name": "kept", "roles": [{"role_id": "viewer"}]},
	{"client_id": "changed", "client_secret": "` + changedSecret + `", "name": "changed", "roles": [{"role_id": "viewer"}]},
	{"client_id": "rotated", "client_secret": "` + rotatedSecret + `", "name": "rotated"},
	{"client_id": "deleted", "client_secret": "` + deletedSecret + `", "name": "deleted"}],
"invitations": [
	{"invitation_id": "kept", "inviter": {"name": "Grace"}, "invitee": {"email": "kept@example.com", "name": "Kept"}, "expires_in": "1h"},
	{"invitation_id": "cancelled", "inviter": {"name": "Grace"}, "invitee": {"email": "cancelled@example.com", "name": "Cancelled"}, "expires_in": "1h"},
	{"invitation_id": "accepted", "inviter": {"name": "Grace"}, "invitee": {"email": "accepted@example.com", "name": "Accepted"}, "expires_in": "1h"},
	{"invitation_id": "expired", "inviter": {"name": "Grace"}, "invitee": {"email": "expired@example.com", "name": "Expired"}, "expires_in": "1ms"}]`

// testProvisioningAgain: a document is applied at every start, and brings nothing back
// that was changed or has ended since.
func testProvisioningAgain(t *testing.T, p program) {
	dir, config := t.TempDir(), writeOrganizations(t, provisioned)
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte("{}"), 0o600))
	start := func(config string) *server {
		s := p.startIn(t, dir, nil, "-config", config)
		s.guard(rootToken, adminToken, otherToken, keptSecret, changedSecret, rotatedSecret, deletedSecret)
		return s
	}
	s := start(config)
	ask[credentials](s, http.StatusOK, "PUT", clientsPath+"/changed", rootToken, object{"name": "by PUT", "roles": roles("editor")})
	rotated := ask[credentials](s, http.StatusOK, "POST", clientsPath+"/rotated/rotate-secret", rootToken, object{"overlap_seconds": 0})
	require.Equal(t, http.StatusOK, s.status("DELETE", clientsPath+"/deleted", rootToken))
	require.Equal(t, http.StatusOK, s.status("DELETE", invitationsPath+"/cancelled", rootToken))
	links := make(map[string]string)
	kept := ask[invitation](s, http.StatusOK, "GET", invitationsPath+"/kept", rootToken, nil)
	links["accepted"] = ask[invitation](s, http.StatusOK, "GET", invitationsPath+"/accepted", rootToken, nil).linkToken(t)
	invitee := s.accept(links["accepted"]).accepted(t)
	session := s.token("kept", keptSecret)
	listed := s.do("GET", clientsPath, rootToken, "").body
	time.Sleep(10 * time.Millisecond) // what expires after a millisecond has expired

	// The second time its roles, names and times are others: they are for what is
	// missing.
	other := writeOrganizations(t, `"clients": [{"client_id": "kept", "client_secret": "`+keptSecret+`", "name": "other", "roles": [{"role_id": "admin"}]}],
		"invitations": [{"invitation_id": "kept", "inviter": {"name": "Other"}, "invitee": {"email": "other@example.com", "name": "Other"}, "expires_in": "720h"}]`)
	for _, document := range []string{config, other, empty, config} {
		s.stop()
		s = start(document)
		s.guard(rotated.Secret, invitee, session, links["accepted"], kept.linkToken(t))
		assert.Equal(t, listed, s.do("GET", clientsPath, rootToken, "").body)
		assert.Equal(t, kept.ExpiresAt, ask[invitation](s, http.StatusOK, "GET", invitationsPath+"/kept", rootToken, nil).ExpiresAt, "expires_in counts from creation")
		page := ask[struct{ Data []invitation }](s, http.StatusOK, "GET", invitationsPath, rootToken, nil)
		require.Len(t, page.Data, 1)
		assert.Equal(t, "Grace", page.Data[0].Inviter.Name)
		for _, ended := range []string{"cancelled", "accepted", "expired"} {
			assert.Equal(t, http.StatusNotFound, s.status("GET", invitationsPath+"/"+ended, rootToken), ended)
		}
		assert.Equal(t, http.StatusNotFound, s.accept(links["accepted"]).status)
		for id, secret := range map[string]string{"kept": keptSecret, "changed": changedSecret} {
			assert.Equal(t, http.StatusOK, s.login(id, secret).status, id)
		}
		for id, secret := range map[string]string{"rotated": rotatedSecret, "deleted": deletedSecret} {
			assert.Equal(t, http.StatusUnauthorized, s.login(id, secret).status, id)
		}
		assert.Equal(t, http.StatusOK, s.login("rotated", rotated.Secret).status)
		assert.Equal(t, http.StatusOK, s.status("GET", clientsPath, invitee), "a token that was shown at an acceptance")
		assert.Equal(t, http.StatusForbidden, s.status("GET", clientsPath, session), "a token of a viewer")
	}

	// rbac_enabled alone follows the document, in both directions.
	without := filepath.Join(t.TempDir(), "without.json")
	require.NoError(t, os.WriteFile(without, []byte(`{"organizations": [{"id": "acme"}, {"id": "other", "rbac_enabled": true}]}`), 0o600))
	for _, step := range []struct {
		config      string
		acme, other int
	}{{without, http.StatusForbidden, http.StatusCreated}, {config, http.StatusCreated, http.StatusForbidden}} {
		s.stop()
		s = start(step.config)
		viewer := object{"name": "x", "roles": roles("viewer")}
		ask[object](s, step.acme, "POST", clientsPath, rootToken, viewer)
		ask[object](s, step.other, "POST", clientsPath, otherToken, viewer)
	}
}

// testProvisioningRevokes: a token ends at the start whose document revokes it, and no
// later document brings it back.
func testProvisioningRevokes(t *testing.T, p program) {
	nightly.Only(t)
	const there, missing = "at-there-00112233445566778899aabbccddeeff", "at-missing-00112233445566778899aabbccddee"
	dir := t.TempDir()
	start := func(tokens ...string) *server {
		config := filepath.Join(t.TempDir(), "tokens.json")
		require.NoError(t, os.WriteFile(config, []byte(`{"organizations": [{"id": "acme", "access_tokens": [`+strings.Join(tokens, ", ")+`]}]}`), 0o600))
		s := p.startIn(t, dir, nil, "-config", config)
		s.guard(there, missing)
		return s
	}
	entry := func(token, more string) string { return `{"token": "` + token + `", "subject": "s"` + more + `}` }
	const revoked = `, "revoked": true`
	s := start(entry(there, ""))
	assert.Equal(t, http.StatusOK, s.status("GET", clientsPath, there))
	for _, tokens := range [][]string{
		{entry(there, revoked), entry(missing, revoked)},
		{entry(there, revoked), entry(missing, revoked)},
		{entry(there, `, "revoked": false`), entry(missing, "")},
		{entry(there, ""), entry(missing, `, "revoked": false`)},
		nil,
		{entry(there, ""), entry(missing, "")},
	} {
		s.stop()
		s = start(tokens...)
		for _, token := range []string{there, missing} {
			assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, token), "%s after %v", token, tokens)
		}
		assert.NotContains(t, s.stderr.String(), "what exists is never changed")
	}
	s.stop()
	s = start(entry(there, `, "roles": [{"role_id": "viewer"}]`))
	assert.Equal(t, 1, strings.Count(s.stderr.String(), "is stored with other roles; what exists is never changed"), &s.stderr)
}

// testProvisioningContradicted: a credential that would not work as written is refused,
// and nothing of its document is applied.
func testProvisioningContradicted(t *testing.T, p program) {
	nightly.Only(t)
	dir := t.TempDir()
	folder := filepath.Join(dir, "mortise-data")
	s := p.startIn(t, dir, nil, "-config", writeOrganizations(t, provisioned))
	session := s.token("kept", keptSecret)
	s.stop()
	for name, test := range map[string]struct{ document, want string }{
		"secret of another client":       {`{"id": "acme", "clients": [{"client_id": "new", "client_secret": "` + keptSecret + `", "name": "n"}]}`, "belongs to another client"},
		"secret of another organization": {`{"id": "other", "clients": [{"client_id": "kept", "client_secret": "` + keptSecret + `", "name": "n"}]}`, "belongs to another organization"},
		"token of another organization":  {`{"id": "other", "access_tokens": [{"token": "` + rootToken + `", "subject": "s"}]}`, "belongs to another organization"},
		"token of a client":              {`{"id": "acme", "access_tokens": [{"token": "` + session + `", "subject": "s"}]}`, "issued to a client"},
		"token that is a secret":         {`{"id": "acme", "access_tokens": [{"token": "` + keptSecret + `", "subject": "s"}]}`, "is the secret of a client"},
		"secret that is a token":         {`{"id": "acme", "clients": [{"client_id": "new", "client_secret": "` + rootToken + `", "name": "n"}]}`, "is an access token"},
	} {
		config := filepath.Join(t.TempDir(), "contradiction.json")
		require.NoError(t, os.WriteFile(config, []byte(`{"organizations": [{"id": "first", "access_tokens": [{"token": "at-first-00112233445566778899aabbccddeeff", "subject": "s"}]},
			`+test.document+`]}`), 0o600))
		told := p.refuseIn(t, folder, "-config", config)
		assert.Contains(t, told, "-config: "+config+": line 2, column ", name)
		assert.Contains(t, told, ": organizations[1].", name)
		assert.Contains(t, told, test.want, name)
		for _, secret := range []string{keptSecret, rootToken, session} {
			assertUntold(t, secret, told)
		}
	}
	s = p.startIn(t, dir, nil, "-config", writeOrganizations(t, provisioned))
	assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, "at-first-00112233445566778899aabbccddeeff"), "half of a document was applied")
	assert.Equal(t, http.StatusForbidden, s.status("GET", clientsPath, session))
}

// testProvisioningRefused: what the service would refuse is found before anything is
// stored, and told with its place.
func testProvisioningRefused(t *testing.T, p program) {
	nightly.Only(t)
	client := func(roles string) string {
		return "\"clients\": [\n{\"client_id\": \"c\", \"name\": \"n\", \"client_secret\": \"" + clientSecret + "\", \"roles\": [" + roles + "]}]"
	}
	invited := func(email, expires string) string {
		return "\"invitations\": [\n{\"invitation_id\": \"i\", \"inviter\": {\"name\": \"g\"}, \"invitee\": {\"name\": \"n\", \"email\": \"" + email + "\"}, \"expires_in\": \"" + expires + "\"}]"
	}
	for name, test := range map[string]struct{ more, value, want string }{
		"unknown role":        {client(`{"role_id": "superuser"}`), `"superuser"`, "clients[0].roles[0].role_id: is not one of the roles"},
		"instance of nothing": {client(`{"role_id": "viewer", "resource_instance": "d1"}`), `"d1"`, "clients[0].roles[0].resource_instance: needs a resource"},
		"bad email":           {invited("nobody", "1h"), `"nobody"`, "invitations[0].invitee.email: must be an email address"},
		"too long":            {invited("a@example.com", "720h1s"), `"720h1s"`, "invitations[0].expires_in: must be a duration above zero, as in 168h or 90m, and at most 720h"},
		"no time":             {invited("a@example.com", "0s"), `"0s"`, "invitations[0].expires_in: must be a duration"},
	} {
		_, line, _ := strings.Cut(test.more, "\n")
		told := p.refuse(t, 2, nil, "-config", writeOrganizations(t, test.more))
		assert.Contains(t, told, fmt.Sprintf("line 5, column %d: organizations[0].%s", strings.Index(line, test.value)+1, test.want), name)
		assertUntold(t, clientSecret, told)
	}
}

// testCredentialsOfTwoServers: what one server on a folder changes counts on the other
// one at once.
func testCredentialsOfTwoServers(t *testing.T, p program) {
	nightly.Only(t)
	dir, config := t.TempDir(), writeOrganizations(t, "")
	one, two := p.startIn(t, dir, nil, "-config", config), p.startIn(t, dir, nil, "-config", config)
	c := one.newClient(rootToken, "made on one", "viewer")
	token := two.token(c.ID, c.Secret)
	assert.Equal(t, http.StatusForbidden, one.status("GET", clientsPath, token))
	ask[credentials](two, http.StatusOK, "PUT", clientsPath+"/"+c.ID, rootToken, object{"name": "changed on two", "roles": roles("admin")})
	assert.Equal(t, http.StatusOK, one.status("GET", clientsPath, token))
	assert.Equal(t, "changed on two", ask[credentials](one, http.StatusOK, "GET", clientsPath+"/"+c.ID, rootToken, nil).Name)
	assert.Equal(t, http.StatusOK, one.status("DELETE", clientsPath+"/"+c.ID, rootToken))
	assert.Equal(t, http.StatusUnauthorized, two.status("GET", clientsPath, token))
	assert.Equal(t, http.StatusUnauthorized, two.login(c.ID, c.Secret).status)

	won := map[string]int{}
	for round := range 4 {
		i := one.invite(rootToken, fmt.Sprintf("alan%d@example.com", round))
		raceForInvitation(t, &i, two, one, won)
	}
	t.Logf("winners: %v", won)
}

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestCredentials drives the credentials service of the example server.
func TestCredentials(t *testing.T) {
	t.Parallel()
	p := buildServer(t)
	for name, test := range map[string]func(*testing.T, func(args ...string) *server){
		"sample document":           testSampleDocument,
		"operations of the spec":    testSpecOperations,
		"invitation URL":            testInvitationURL,
		"acceptance":                testAcceptance,
		"acceptance against cancel": testAcceptanceRace,
		"expiry":                    testInvitationExpires,
		"tokens":                    testIssuedTokens,
		"login":                     testLogin,
		"login times":               testLoginTimes,
		"token times":               testTokenTimes,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStorage(t, p, test)
		})
	}
	for name, test := range map[string]func(*testing.T, program){
		"provisioning again":        testProvisioningAgain,
		"provisioning revokes":      testProvisioningRevokes,
		"provisioning contradicted": testProvisioningContradicted,
		"provisioning refused":      testProvisioningRefused,
		"two servers":               testCredentialsOfTwoServers,
		"tokens of two servers":     testIssuedTokensOfTwoServers,
		"root key":                  testRootKey,
		"root key refused":          testRootKeyRefused,
		"root key, two servers":     testRootKeyOfTwoServers,
		"root key after a crash":    testRootKeyAfterCrash,
		"root key is synced":        testRootKeyIsSynced,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// testSampleDocument: what the contract's document gives works as it is written there.
func testSampleDocument(t *testing.T, start func(args ...string) *server) {
	sample, err := filepath.Abs(filepath.Join(root, "examples/server/testdata/acme.json"))
	require.NoError(t, err)
	s := start("-config", sample, "-public-url", "https://id.example.com")

	viewer := roles("viewer dataset d1")
	c := ask[credentials](s, http.StatusOK, "GET", clientsPath+"/c1", accessToken, nil)
	assert.Equal(t, credentials{ID: "c1", Name: "ci", Roles: viewer}, c)
	token := s.token("c1", clientSecret)
	s.guard(token)
	assert.Equal(t, http.StatusForbidden, s.status("GET", clientsPath, token), "a viewer of a dataset")

	i := ask[invitation](s, http.StatusOK, "GET", invitationsPath+"/inv1", accessToken, nil)
	assert.Equal(t, "inv1", i.ID)
	assert.Equal(t, "Grace", i.Inviter.Name)
	assert.Equal(t, "alan@example.com", i.Invitee.Email)
	assert.Equal(t, "Alan", i.Invitee.Name)
	assert.Equal(t, roles("editor"), i.Invitee.Roles)
	assert.Equal(t, roles("editor"), i.Roles)
	assert.Equal(t, 168*time.Hour, i.ExpiresAt.Sub(i.CreatedAt))
	assert.True(t, strings.HasPrefix(i.URL, "https://id.example.com"+acceptPath), i.URL)
	given := s.accept(i.linkToken(t)).accepted(t)
	s.guard(given, i.linkToken(t))
	assert.Equal(t, http.StatusForbidden, s.status("GET", clientsPath, given), "an editor")
	assert.Equal(t, http.StatusUnauthorized, s.status("GET", "/triggers", given), "an access token is no API key")
	assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, goodKey), "an API key is no access token")
	for _, kind := range []string{"rbac_enabled", "access_tokens", "clients", "invitations", "vaults"} {
		assert.NotContains(t, s.stderr.String(), `"kind":"`+kind+`"`)
	}
}

// testSpecOperations are the three operations of the spec, as their callers see them.
func testSpecOperations(t *testing.T, start func(args ...string) *server) {
	s := start("-config", writeOrganizations(t, `"clients": [{"client_id": "c1", "client_secret": "`+clientSecret+`", "name": "ci"}],
		"invitations": [{"invitation_id": "inv1", "inviter": {"name": "Grace"}, "invitee": {"email": "alan@example.com", "name": "Alan"}}],
		"datasets": [{"id": "d1"}]`))
	put := func(want int, token string, body object) credentials {
		t.Helper()
		return ask[credentials](s, want, "PUT", clientsPath+"/c1", token, body)
	}
	c := put(http.StatusOK, rootToken, object{"name": "renamed", "roles": roles("viewer", "editor dataset d1")})
	assert.Equal(t, credentials{ID: "c1", Name: "renamed", Roles: roles("viewer", "editor dataset d1")}, c)
	c = put(http.StatusOK, rootToken, object{"roles": roles("admin"), "roles_context": "dataset:d1"})
	assert.Equal(t, credentials{ID: "c1", Name: "renamed", Roles: roles("viewer", "admin dataset d1")}, c)
	c = put(http.StatusOK, adminToken, object{"roles": roles("editor"), "roles_context": "system"})
	assert.ElementsMatch(t, roles("editor", "admin dataset d1"), c.Roles)
	put(http.StatusForbidden, adminToken, object{"name": "no roles are full access, which an admin does not hold"})
	assert.Equal(t, roles(), put(http.StatusOK, rootToken, object{}).Roles)

	for name, body := range map[string]object{
		"unknown role":         {"roles": roles("root")},
		"instance of nothing":  {"roles": []object{{"role_id": "viewer", "resource_instance": "d1"}}},
		"context":              {"roles": roles("viewer"), "roles_context": "dataset"},
		"context of nothing":   {"roles": roles("viewer"), "roles_context": "dataset:unknown"},
		"role against context": {"roles": roles("viewer dataset d2"), "roles_context": "dataset:d1"},
		"name":                 {"name": 7},
	} {
		answered := ask[struct{ Detail []object }](s, http.StatusUnprocessableEntity, "PUT", clientsPath+"/c1", rootToken, body)
		assert.NotEmpty(t, answered.Detail, name)
	}
	ask[object](s, http.StatusNotFound, "PUT", clientsPath+"/c2", rootToken, object{"name": "nobody"})
	ask[object](s, http.StatusNotFound, "PUT", clientsPath+"/c1", otherToken, object{"name": "of another organization"})
	mine := s.newClient(otherToken, "without roles")
	s.guard(mine.Secret)
	ask[object](s, http.StatusForbidden, "PUT", clientsPath+"/"+mine.ID, otherToken, object{"roles": roles("viewer")})

	path := invitationsPath + "/inv1"
	for _, token := range []string{"", clientSecret} {
		for _, method := range []string{"GET", "DELETE"} {
			a := s.do(method, path, token, "")
			assert.Equal(t, http.StatusUnauthorized, a.status)
			assert.Equal(t, challengeTo(token), a.header.Get("WWW-Authenticate"))
		}
	}
	assert.Equal(t, http.StatusNotFound, s.status("GET", path, otherToken))
	assert.Equal(t, http.StatusNotFound, s.status("DELETE", path, otherToken))
	i := ask[invitation](s, http.StatusOK, "GET", path, rootToken, nil)
	assert.Equal(t, 7*24*time.Hour, i.ExpiresAt.Sub(i.CreatedAt), "the default")
	assert.Empty(t, ask[invitation](s, http.StatusOK, "GET", path, adminToken, nil).URL, "who has the link has full access, which an admin does not hold")
	a := s.do("DELETE", path, rootToken, "")
	assert.Equal(t, http.StatusOK, a.status)
	assert.Empty(t, a.body)
	assert.Equal(t, http.StatusNotFound, s.status("GET", path, rootToken))
	assert.Equal(t, http.StatusNotFound, s.status("DELETE", path, rootToken))
	assert.Equal(t, http.StatusNotFound, s.accept(i.linkToken(t)).status)
	s.guard(i.linkToken(t))
}

// testInvitationURL: the link begins with the operator's address, whatever a request says
// about where it was sent.
func testInvitationURL(t *testing.T, start func(args ...string) *server) {
	s := start("-config", writeOrganizations(t, ""), "-public-url", "https://id.example.com/mortise/")
	i := s.invite(rootToken, "alan@example.com")
	const begin = "https://id.example.com/mortise" + acceptPath
	assert.True(t, strings.HasPrefix(i.URL, begin), i.URL)
	hostile := []string{
		"Host", "evil.example.net", "X-Forwarded-Host", "evil.example.net", "X-Forwarded-Proto", "ftp", "X-Forwarded-Prefix", "/evil", "X-Forwarded-For", "10.9.8.7",
		"Forwarded", "host=evil.example.net;proto=ftp", "X-Original-URL", "/evil", "X-Rewrite-URL", "/evil", "Origin", "https://evil.example.net", "Referer", "https://evil.example.net/",
	}
	a := s.do("GET", invitationsPath+"/"+i.ID, rootToken, "", hostile...)
	require.Equal(t, http.StatusOK, a.status)
	assert.Contains(t, a.body, `"invitation_url":"`+i.URL+`"`)
	for _, request := range [][3]string{
		{"GET", invitationsPath, ""},
		{"POST", invitationsPath, `{"email":"ada@example.com","name":"Ada"}`},
		{"POST", invitationsPath + "/" + i.ID + "/resend", ""},
		{"GET", acceptPath + i.linkToken(t), ""},
	} {
		a := s.do(request[0], request[1], rootToken, request[2], hostile...)
		if !strings.HasPrefix(request[1], acceptPath) {
			assert.Contains(t, a.body, `"invitation_url":"`+begin, "%v", request)
		}
		assert.NotContains(t, a.body, "evil", "%v", request)
	}
}

// testAcceptance: looking at the page changes nothing, the button gives a token with the
// invitation's roles, once.
func testAcceptance(t *testing.T, start func(args ...string) *server) {
	s := start("-config", writeOrganizations(t, ""))
	i := s.invite(rootToken, "alan@example.com", "admin client")
	link := i.linkToken(t)
	s.guard(link)
	before := s.do("GET", invitationsPath+"/"+i.ID, rootToken, "").body
	for range 3 {
		a := s.do("GET", acceptPath+link, "", "")
		assert.Equal(t, http.StatusOK, a.status)
		assert.True(t, strings.HasPrefix(a.header.Get("Content-Type"), "text/html"))
		assert.Empty(t, shownToken.FindString(a.body))
		assert.Equal(t, http.StatusOK, s.status("HEAD", acceptPath+link, ""))
	}
	assert.Equal(t, before, s.do("GET", invitationsPath+"/"+i.ID, rootToken, "").body)
	for _, wrong := range []string{link[:len(link)-1], link + "A", strings.Replace(link, ".", "", 1), "x.y", swapCase(link)} {
		assert.Equal(t, http.StatusNotFound, s.accept(wrong).status)
		assert.Equal(t, http.StatusNotFound, s.status("GET", acceptPath+wrong, ""))
	}

	token := s.accept(link).accepted(t)
	s.guard(token)
	assert.Equal(t, http.StatusNotFound, s.accept(link).status, "a second time")
	assert.Equal(t, http.StatusNotFound, s.status("GET", acceptPath+link, ""))
	assert.Equal(t, http.StatusNotFound, s.status("GET", invitationsPath+"/"+i.ID, rootToken), "only a pending one is shown")
	assert.Equal(t, http.StatusNotFound, s.status("DELETE", invitationsPath+"/"+i.ID, rootToken))

	// The roles are those of the invitation, no more and no less.
	made := s.newClient(token, "made by the invitee", "admin client")
	s.guard(made.Secret)
	assert.Equal(t, http.StatusOK, s.status("DELETE", clientsPath+"/"+made.ID, token))
	assert.Equal(t, http.StatusForbidden, s.status("GET", invitationsPath, token))
	ask[object](s, http.StatusForbidden, "POST", clientsPath, token, object{"name": "with full access"})
	full := s.invite(rootToken, "ada@example.com")
	assert.Equal(t, http.StatusOK, s.status("GET", invitationsPath, s.accept(full.linkToken(t)).accepted(t)))
	ask[object](s, http.StatusForbidden, "POST", invitationsPath, adminToken, object{"email": "eve@example.com", "name": "Eve"})
}

// swapCase is another link that looks alike.
func swapCase(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, text)
}

// testAcceptanceRace presses the button many times while the invitation is cancelled many
// times: one call wins.
func testAcceptanceRace(t *testing.T, start func(args ...string) *server) {
	nightly.Only(t)
	s := start("-config", writeOrganizations(t, ""))
	won := map[string]int{}
	for round := range 6 {
		i := s.invite(rootToken, fmt.Sprintf("alan%d@example.com", round))
		raceForInvitation(t, &i, s, s, won)
	}
	t.Logf("winners: %v", won)
}

// raceForInvitation has 50 calls accept an invitation at one server while 50 cancel it at
// another.
func raceForInvitation(t *testing.T, i *invitation, accepts, cancels *server, won map[string]int) {
	t.Helper()
	const each = 50
	var mu sync.Mutex
	var group sync.WaitGroup
	statuses := map[string]map[int]int{"accepted": {}, "cancelled": {}}
	var tokens []string
	begin := make(chan struct{})
	for range each {
		group.Go(func() {
			<-begin
			a := accepts.accept(i.linkToken(t))
			mu.Lock()
			defer mu.Unlock()
			statuses["accepted"][a.status]++
			tokens = append(tokens, shownToken.FindAllString(a.body, -1)...)
		})
		group.Go(func() {
			<-begin
			a := cancels.do("DELETE", invitationsPath+"/"+i.ID, rootToken, "")
			mu.Lock()
			defer mu.Unlock()
			statuses["cancelled"][a.status]++
		})
	}
	close(begin)
	group.Wait()
	winners := 0
	for what, counts := range statuses {
		winners += counts[http.StatusOK]
		won[what] += counts[http.StatusOK]
		// 409: the winner's token is being made.
		assert.Equal(t, each, counts[http.StatusOK]+counts[http.StatusNotFound]+counts[http.StatusConflict], "%s: %v", what, counts)
	}
	assert.Equal(t, 1, winners, "%v", statuses)
	assert.Zero(t, statuses["cancelled"][http.StatusConflict], "%v", statuses)
	assert.Len(t, tokens, statuses["accepted"][http.StatusOK])
	for _, token := range tokens {
		assert.Equal(t, http.StatusOK, cancels.status("GET", clientsPath, token))
	}
}

// testInvitationExpires: from expires_at on an invitation opens nothing, and its address
// can be invited again.
func testInvitationExpires(t *testing.T, start func(args ...string) *server) {
	s := start("-config", writeOrganizations(t, ""))
	i := ask[invitation](s, http.StatusCreated, "POST", invitationsPath, rootToken, object{"email": "alan@example.com", "name": "Alan", "expires_in": 2})
	assert.Equal(t, 2*time.Second, i.ExpiresAt.Sub(i.CreatedAt))
	s.await("the invitation to expire", func() bool {
		asked := time.Now()
		status := s.status("GET", invitationsPath+"/"+i.ID, rootToken)
		answered := time.Now()
		assert.False(t, status == http.StatusOK && !asked.Before(i.ExpiresAt), "shown after its time")
		assert.False(t, status != http.StatusOK && answered.Before(i.ExpiresAt), "%d before its time", status)
		return status != http.StatusOK
	})
	assert.Equal(t, http.StatusNotFound, s.status("GET", invitationsPath+"/"+i.ID, rootToken))
	assert.Equal(t, http.StatusNotFound, s.status("DELETE", invitationsPath+"/"+i.ID, rootToken))
	assert.Equal(t, http.StatusNotFound, s.status("POST", invitationsPath+"/"+i.ID+"/resend", rootToken))
	assert.Equal(t, http.StatusNotFound, s.status("GET", acceptPath+i.linkToken(t), ""))
	assert.Equal(t, http.StatusNotFound, s.accept(i.linkToken(t)).status)
	s.invite(rootToken, "alan@example.com")
	ask[object](s, http.StatusConflict, "POST", invitationsPath, rootToken, object{"email": "Alan@Example.com", "name": "Alan"})
}

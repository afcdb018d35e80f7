package e2e

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestDataHoldsNoKey looks for secrets in the raw bytes of every file of the data folder,
// the one with the root key left aside, and in the logs, while the server runs, after it
// was killed and after it stopped: for API keys, client secrets, access tokens, the links
// of invitations, the root key and what is derived from it. The database keeps digests;
// the logs do not even show those.
func TestDataHoldsNoKey(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	p := buildServer(t)
	dir, config := t.TempDir(), writeConfig(t)
	folder := filepath.Join(dir, "data")
	const marker = "What this says must be found."

	s := p.startIn(t, dir, nil, "-config", config, "-data", folder)
	keys := append(secrets(), rootSecrets(t, folder)...)
	keys = append(keys, knock(t, s, marker)...)
	keys = append(keys, useCredentials(t, s)...)
	assertNoKey(t, keys, folder, s)
	s.kill()
	assertNoKey(t, keys, folder, s)

	// The demo, which makes a key and a token of its own at each start and lets them end
	// with the process, on the same data.
	s = p.startIn(t, dir, nil, "-data", folder)
	demo := s.demoKey()
	keys = append(keys, demo, s.demoToken())
	s.awaitStatus(demo, s.submit(demo, validBody), "completed")
	own := s.newClient(s.demoToken(), "of the demo")
	keys = append(keys, own.Secret, s.token(own.ID, own.Secret))
	assertNoKey(t, keys, folder, s)
	s.stop() // notes the uses of the keys
	assertNoKey(t, keys, folder, s)

	// A second time the keys are there already.
	s = p.startIn(t, dir, nil, "-config", config, "-data", folder)
	keys = append(keys, knock(t, s, marker)...)
	keys = append(keys, useCredentials(t, s)...)
	assertNoKey(t, keys, folder, s)
	s.stop()
	assertNoKey(t, keys, folder, s)

	// That something is not found says little unless what is there would be.
	content := readFolder(t, folder)
	assert.True(t, strings.Contains(content, marker), "the search does not see what the database has")
	for _, key := range []string{goodKey, revokedKey, accessToken, clientSecret, own.Secret} {
		digest := sha256.Sum256([]byte(key))
		assert.True(t, strings.Contains(content, string(digest[:])), "the digest is what the database is meant to have")
	}
}

// rootSecrets returns the root key of a folder, as it stands there and as the bytes that
// it means, and the keys of the invitations and of the vault.
func rootSecrets(t *testing.T, folder string) []string {
	t.Helper()
	text := strings.TrimSpace(string(read(t, filepath.Join(folder, "vault.key"))))
	raw, err := hex.DecodeString(text)
	require.NoError(t, err)
	told := []string{text, string(raw)}
	for _, purpose := range []string{"mortise invitation key v1", "mortise vault key v1"} {
		derived, err := hkdf.Key(sha256.New, raw, nil, purpose, 32)
		require.NoError(t, err)
		told = append(told, string(derived))
	}
	return told
}

// useCredentials makes secrets of every kind, uses each and lets it end, and returns
// them.
func useCredentials(t *testing.T, s *server) (told []string) {
	t.Helper()
	c := s.newClient(accessToken, "short-lived", "admin")
	session := s.token(c.ID, c.Secret)
	rotated := ask[credentials](s, http.StatusOK, "POST", clientsPath+"/"+c.ID+"/rotate-secret", session, object{"overlap_seconds": 1})
	told = append(told, c.Secret, session, rotated.Secret, s.token("c1", clientSecret))

	accepted, cancelled, resent := s.invite(accessToken, "ada@example.com", "viewer"), s.invite(accessToken, "alan@example.org", "viewer"), s.invite(accessToken, "grace@example.com", "viewer")
	again := ask[invitation](s, http.StatusOK, "POST", invitationsPath+"/"+resent.ID+"/resend", accessToken, nil)
	require.NotEqual(t, resent.URL, again.URL)
	told = append(told, s.accept(accepted.linkToken(t)).accepted(t))
	for _, i := range []invitation{accepted, cancelled, resent, again} {
		_, secret, _ := strings.Cut(i.linkToken(t), ".")
		raw, err := base64.RawURLEncoding.DecodeString(secret)
		require.NoError(t, err)
		told = append(told, i.linkToken(t), string(raw))
		s.status("GET", acceptPath+i.linkToken(t), "")
		s.status("DELETE", acceptPath+i.linkToken(t), "")
		s.status("GET", invitationsPath+"/"+i.linkToken(t), accessToken)
	}
	require.Equal(t, http.StatusOK, s.status("DELETE", invitationsPath+"/"+cancelled.ID, accessToken))
	require.Equal(t, http.StatusOK, s.status("DELETE", invitationsPath+"/"+again.ID, accessToken))
	for _, secret := range slices.Clone(told) {
		s.login(c.ID, secret)
		s.login(secret, c.Secret)
		s.do("POST", loginPath+"?client_secret="+url.QueryEscape(secret), "", "grant_type=client_credentials", "Content-Type", "application/x-www-form-urlencoded")
		s.do("POST", loginPath, "", "grant_type=client_credentials", "Content-Type", "application/x-www-form-urlencoded",
			"Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(c.ID)+":"+url.QueryEscape(secret))))
		s.do("POST", loginPath, "", `{"client_secret":`, "Content-Type", "application/json")
		for _, method := range []string{"GET", "PUT", "DELETE", "POST"} {
			s.do(method, clientsPath+"/"+url.PathEscape(secret), accessToken, `{"name":7}`)
			s.do(method, acceptPath+url.PathEscape(secret), "", "")
		}
		s.do("GET", clientsPath+"?limit="+url.QueryEscape(secret), accessToken, "")
	}
	require.Equal(t, http.StatusOK, s.status("DELETE", clientsPath+"/"+c.ID, accessToken))
	return told
}

// knock sends requests of all sorts with keys that are right, wrong, and in the wrong
// place. It returns the wrong keys: they are secrets too, of another service perhaps.
func knock(t *testing.T, s *server, instructions string) (wrong []string) {
	id := s.submit(goodKey, `{"instructions":"`+instructions+`","context":{"n":1}}`)
	s.awaitStatus(goodKey, id, "completed")
	s.do("POST", "/triggers", goodKey, validBody, "Idempotency-Key", "k1")
	s.do("POST", "/triggers", goodKey, `{"instructions":"Something else."}`, "Idempotency-Key", "k1")
	wrong = []string{
		"sk-typo-ffffeeeeddddccccbbbbaaaa9999888877776666555544443333",
		"ghp_AnotherServicesTokenThatWasPastedHere0123456789",
		`sk-"quoted\<&>ü-0123456789abcdef0123456789abcdef`,
		"sk-long-" + strings.Repeat("0f1e2d3c", 500),
	}
	for _, key := range append(slices.Clone(wrong), secrets()...) {
		for _, request := range [][2]string{{"GET", "/triggers"}, {"POST", "/triggers"}, {"GET", "/triggers/" + id}, {"GET", "/healthz"}, {"GET", "/nothing"}, {"PUT", "/triggers"}} {
			s.do(request[0], request[1], key, "", "Content-Type", "application/json")
			s.do(request[0], request[1], key, `{"instructions":`)
		}
		s.do("GET", "/triggers", "", "", "Authorization", key)
		s.do("GET", "/triggers", "", "", "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(key+":")))
		s.do("GET", "/triggers", key+" "+key, "")
		s.do("POST", "/triggers", "", validBody, "X-Api-Key", key, "Cookie", "key="+url.QueryEscape(key), "User-Agent", key, "Traceparent", key)
		for _, query := range []string{"api_key", "cursor", "status", "limit", "source"} {
			s.do("GET", "/triggers?"+query+"="+url.QueryEscape(key), goodKey, "")
		}
		s.do("GET", "/triggers/"+url.PathEscape(key), goodKey, "")
		s.do("GET", "/"+url.PathEscape(key), key, "")
		s.do(strings.ToUpper("x-"+hex.EncodeToString([]byte(key))), "/triggers", goodKey, "")
		s.do("POST", "/triggers", goodKey, `{"instructions":"Refused.","`+hex.EncodeToString([]byte(key))+`":1}`)
	}
	return wrong
}

// assertNoKey looks into the files of a folder, and into the log of a server.
func assertNoKey(t *testing.T, keys []string, folder string, s *server) {
	t.Helper()
	places := map[string]string{"the log": s.stderr.String(), "the data folder": readFolder(t, folder)}
	if len(s.stdout.String()) < 200 { // no demo, which prints its key
		places["standard output"] = s.stdout.String()
	}
	forms, digests := make(map[string]string), make(map[string]string)
	for _, key := range keys {
		addForms(forms, fmt.Sprintf("the key %.8s...", key), []byte(key))
		digest := sha256.Sum256([]byte(key))
		addForms(digests, fmt.Sprintf("the digest of the key %.8s...", key), digest[:])
	}
	for place, content := range places {
		assert.Empty(t, findTexts(content, forms), place)
	}
	assert.Empty(t, findTexts(places["the log"], digests), "the log")
}

// addForms adds the ways to write a secret to texts that are looked for, with what they are.
func addForms(texts map[string]string, what string, secret []byte) {
	for form, text := range secretForms(secret) {
		texts[text] = what + " " + form
	}
}

// findTexts says which of some texts stand in a content. It goes through the content once,
// however many they are.
func findTexts(content string, texts map[string]string) (found []string) {
	const head = 4 // bytes by which a text is found; none that is looked for is shorter
	var begins [1 << 16]bool
	byHead := make(map[string][]string)
	for text := range texts {
		begins[int(text[0])<<8|int(text[1])] = true
		byHead[text[:head]] = append(byHead[text[:head]], text)
	}
	for i := range max(len(content)-head+1, 0) {
		if !begins[int(content[i])<<8|int(content[i+1])] {
			continue
		}
		for _, text := range byHead[content[i:i+head]] {
			if strings.HasPrefix(content[i:], text) {
				found = append(found, texts[text])
			}
		}
	}
	return found
}

// readFolder returns the bytes of all files in a folder but that of the root key. It is
// the test's process that opens the database file here, not the server's: closing it
// drops no lock of the server.
func readFolder(t *testing.T, folder string) string {
	t.Helper()
	var all bytes.Buffer
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if file.Name() == "vault.key" || file.IsDir() { // a folder is that of the demo's sounds
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, file.Name()))
		require.NoError(t, err)
		all.Write(content)
		all.WriteByte(0)
	}
	return all.String()
}

// findSecret says in which form a text holds a secret, "" for none.
func findSecret(text string, secret []byte) (form string) {
	forms := make(map[string]string)
	addForms(forms, "", secret)
	for _, form := range findTexts(text, forms) {
		return form
	}
	return ""
}

// secretForms returns the ways to write a secret that can be undone. Of a long one, a
// part is enough to give it away.
func secretForms(secret []byte) map[string]string {
	const enough = 28
	if len(secret) > enough { // the end: what stands before may be a prefix that many keys share
		secret = secret[len(secret)-enough:]
	}
	backwards := slices.Clone(secret)
	slices.Reverse(backwards)
	quoted, _ := json.Marshal(string(secret))
	forms := map[string]string{
		"plain": string(secret), "reversed": string(backwards), "as JSON": string(quoted[1 : len(quoted)-1]), "in a URL": url.QueryEscape(string(secret)),
		"in hex": hex.EncodeToString(secret), "in HEX": strings.ToUpper(hex.EncodeToString(secret)), "in decimal": strings.Trim(fmt.Sprint(secret), "[]"),
	}
	var percent, PERCENT, little, big, escaped strings.Builder
	for _, b := range secret {
		fmt.Fprintf(&percent, "%%%02x", b)
		fmt.Fprintf(&PERCENT, "%%%02X", b)
	}
	for _, unit := range utf16.Encode([]rune(string(secret))) {
		little.Write([]byte{byte(unit), byte(unit >> 8)})
		big.Write([]byte{byte(unit >> 8), byte(unit)})
		fmt.Fprintf(&escaped, `\u%04x`, unit)
	}
	forms["percent-encoded"], forms["PERCENT-ENCODED"] = percent.String(), PERCENT.String()
	forms["in UTF-16LE"], forms["in UTF-16BE"], forms["in JSON escapes"] = little.String(), big.String(), escaped.String()
	for name, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
		for shift := range 3 {
			// As a part of something longer: without the characters that depend on what
			// stands before and after.
			text := encoding.EncodeToString(append(make([]byte, shift), secret...))
			text = text[(shift*8+5)/6:]
			if (shift+len(secret))%3 != 0 {
				text = text[:len(text)-1]
			}
			forms[fmt.Sprintf("in %s, shifted by %d", name, shift)] = text
		}
	}
	return forms
}

// TestFindSecret: a search that finds nothing is worth as much as what it would find.
func TestFindSecret(t *testing.T) {
	for _, secret := range []string{goodKey, `sk-"quoted\<&>ü-0123456789abcdef0123456789abcdef`} {
		b := []byte(secret)
		backwards := slices.Clone(b)
		slices.Reverse(backwards)
		written := []string{secret, "x" + secret + "y", hex.EncodeToString(b), fmt.Sprintf("%X", b), string(backwards), url.QueryEscape(secret), fmt.Sprint(b)}
		if !strings.Contains(secret, `"`) { // JSON and URLs of ours keep what needs no escape
			quoted, err := json.Marshal(secret)
			require.NoError(t, err)
			written = append(written, string(quoted), url.PathEscape(secret))
		}
		for before := range 4 {
			for after := range 4 {
				long := append(append(bytes.Repeat([]byte{0xab}, before), b...), bytes.Repeat([]byte{0xcd}, after)...)
				for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
					written = append(written, encoding.EncodeToString(long))
				}
			}
		}
		for _, text := range written {
			assert.NotEmpty(t, findSecret("before "+text+" after", b), text)
		}
		assert.Empty(t, findSecret(strings.Repeat(secret[len(secret)-27:]+" ", 100), b))
	}
}

package e2e

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestVaultAtRest looks for values, for digests of values that anybody can compute, and
// for keys in the raw bytes of every file of the data folder, the one with the root key
// left aside, in the folder for temporary files and in all output, while the server runs,
// after it was killed and after it stopped. Whoever has these files cannot even confirm a
// value that they know.
func TestVaultAtRest(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	p := buildServer(t)
	dir, temporary := t.TempDir(), t.TempDir()
	folder := filepath.Join(dir, "data")
	env := []string{"TMPDIR=" + temporary, "SQLITE_TMPDIR=" + temporary}
	const provisionedEmail, provisionedCard = "ada.lovelace@example.com", "4111111111111111"
	config := writeVaults(t, personsTable, `{"table": "persons", "fields": {"email": "`+provisionedEmail+`", "card": "`+provisionedCard+`", "phone": "+44 20 7946 0958"}}`)
	inserted := []object{
		{"email": "grace.hopper@example.com", "card": "5555555555554444", "name": "Grace Brewster Murray Hopper", "phone": "+1 202 555 0143 ext 77"},
		{"email": `"quoted \ <&> ü"@example.org`, "name": "Ångström\x00Ünïcode\u2028\U0001F600 line"},
		{"name": strings.Repeat("A long text that fills pages of the database. ", 1000) + "its end 0123456789"},
	}
	values := []string{provisionedEmail, provisionedCard, "+44 20 7946 0958", "not.there@example.com", "6011000990139424"}
	for _, record := range inserted {
		for _, value := range record {
			values = append(values, value.(string))
		}
	}

	s := p.startIn(t, dir, env, "-config", config, "-data", folder)
	keys := append(rootSecrets(t, folder), vaultKeys(t, folder)...)
	token := useVault(t, s, inserted, values)
	check := func() {
		t.Helper()
		content := readFolder(t, folder)
		left, err := os.ReadDir(temporary)
		require.NoError(t, err)
		if len(left) > 0 {
			content += readFolder(t, temporary)
		}
		assertNothingOf(t, values, keys, map[string]string{"a file": content, "the log": s.stderr.String(), "standard output": s.stdout.String()})
	}
	info, err := os.Stat(filepath.Join(folder, "mortise.db-wal"))
	require.NoError(t, err)
	require.Positive(t, info.Size())
	check()
	s.kill()
	check()
	s = p.startIn(t, dir, env, "-config", config, "-data", folder) // recovers the write-ahead log
	require.Equal(t, token, useVault(t, s, inserted, values))
	require.Equal(t, http.StatusOK, s.status("DELETE", tokensPath+token, rootToken))
	check()
	s.stop()
	check()

	// That something is not found says little unless what is there would be.
	content := readFolder(t, folder)
	assert.Contains(t, content, token, "the search does not see what the database has")
	fingerprint := hmac.New(sha256.New, vaultKey(t, folder, "mortise vault fingerprint v1", "acme", "v1", "emails"))
	fingerprint.Write([]byte("grace.hopper@example.com"))
	assert.True(t, strings.Contains(content, string(fingerprint.Sum(nil))), "the keyed digest is what the database is meant to have, and its key what was looked for")
	for _, value := range values {
		for name, digest := range digests(value) {
			assert.NotEmpty(t, findSecret("x"+string(digest)+"y", digest), name)
		}
	}
}

// useVault sends values to every operation, where they belong and where they do not. It
// returns the token of a card.
func useVault(t *testing.T, s *server, inserted []object, values []string) (token string) {
	t.Helper()
	s.guard(vaultTokens()...)
	tokens := s.insert(rootToken, inserted...)
	for i, record := range inserted {
		for column, value := range record {
			assert.Equal(t, value, s.detokenize(rootToken, tokens[i][column], "PLAIN_TEXT").Value)
			s.detokenize(editorToken, tokens[i][column], "MASKED")
		}
	}
	s.do("DELETE", tokensPath+tokens[0]["phone"], rootToken, "")
	for _, value := range values {
		text := quoted(t, value)
		for _, token := range []string{rootToken, viewerToken, otherToken, "nobody"} {
			for _, place := range []string{`"columnGroup":"emails"`, `"table":"persons","column":"card"`, `"table":"persons","column":"note"`, `"table":"persons"`} {
				s.do("POST", tokenizePath, token, `{"tokenizationParameters":[{"value":`+text+`,`+place+`}]}`)
			}
			s.do("POST", detokenizePath, token, `{"detokenizationParameters":[{"token":`+text+`},{"token":"x","redaction":`+text+`}]}`)
		}
		s.do("POST", personsPath, rootToken, `{"records":[{"fields":{"note":`+text+`}}]}`)
		s.do("POST", personsPath, rootToken, `{"records":[{"fields":{"card":`+text+`, "name":"half of a record"}},{"fields":{"email":7}}]}`)
		for _, body := range []string{`{"tokenizationParameters":[{"value":` + text, `{"tokenizationParameters":` + text + `}`, `{` + text + `:1}`, text} {
			for _, path := range []string{tokenizePath, detokenizePath, personsPath} {
				s.do("POST", path, rootToken, body)
			}
		}
		for _, object := range []string{`{"value":"x","columnGroup":` + text + `}`, `{"value":"x","table":` + text + `,"column":` + text + `}`, `{"value":"x",` + text + `:1}`} {
			s.do("POST", tokenizePath, rootToken, `{"tokenizationParameters":[`+object+`]}`)
		}
		if len(value) < 1000 {
			escaped := url.PathEscape(value)
			for _, path := range []string{"/v1/vaults/" + escaped + "/tokenize", vaultPath + "/" + escaped, tokensPath + escaped, tokenizePath + "?value=" + url.QueryEscape(value)} {
				for _, method := range []string{"GET", "POST", "DELETE"} {
					s.do(method, path, rootToken, `{"records":[{"fields":{`+text+`:`+text+`}}],"tokenizationParameters":[]}`)
				}
			}
		}
	}
	return tokens[0]["card"]
}

// vaultKeys returns the keys by which the vaults of writeVaults find and seal values.
func vaultKeys(t *testing.T, folder string) (all []string) {
	t.Helper()
	for _, vault := range [][2]string{{"acme", "v1"}, {"acme", "v2"}, {"other", "v1"}} {
		all = append(all, string(vaultKey(t, folder, "mortise vault seal v1", vault[0], vault[1])))
		for _, scope := range []string{"emails", "persons.card", "persons.name"} {
			all = append(all, string(vaultKey(t, folder, "mortise vault fingerprint v1", vault[0], vault[1], scope)))
		}
	}
	return all
}

// vaultKey derives a key as package localkeys does, from the vault's key, which is
// derived from the root key.
func vaultKey(t *testing.T, folder, purpose string, parts ...string) []byte {
	t.Helper()
	told := rootSecrets(t, folder)
	root := told[len(told)-1]
	text := func(info []byte, part string) []byte {
		return append(binary.BigEndian.AppendUint64(info, uint64(len(part))), part...)
	}
	info := binary.BigEndian.AppendUint64(text(nil, purpose), 1)
	for _, part := range parts {
		info = text(info, part)
	}
	key, err := hkdf.Key(sha256.New, []byte(root), nil, string(info), 32)
	require.NoError(t, err)
	return key
}

// digests are those of a value that need no key.
func digests(value string) map[string][]byte {
	b := []byte(value)
	m, s1, s224, s256 := md5.Sum(b), sha1.Sum(b), sha256.Sum224(b), sha256.Sum256(b)
	s384, s512, s512256, s3 := sha512.Sum384(b), sha512.Sum512(b), sha512.Sum512_256(b), sha3.Sum256(b)
	empty := hmac.New(sha256.New, nil)
	empty.Write(b)
	return map[string][]byte{
		"MD5": m[:], "SHA-1": s1[:], "SHA-224": s224[:], "SHA-256": s256[:], "SHA-384": s384[:], "SHA-512": s512[:], "SHA-512/256": s512256[:], "SHA3-256": s3[:],
		"HMAC-SHA-256 without a key": empty.Sum(nil),
	}
}

// assertNothingOf looks for values, their digests and keys in every place.
func assertNothingOf(t *testing.T, values, keys []string, places map[string]string) {
	t.Helper()
	forms := make(map[string]string)
	for i, key := range keys {
		addForms(forms, fmt.Sprintf("key %d", i), []byte(key))
	}
	for _, value := range values {
		addForms(forms, fmt.Sprintf("the value %.30q", value), []byte(value))
		for name, digest := range digests(value) {
			addForms(forms, fmt.Sprintf("the %s of %.30q", name, value), digest)
		}
	}
	for place, content := range places {
		assert.Empty(t, findTexts(content, forms), place)
	}
}

// quoted is a value as JSON.
func quoted(t *testing.T, value string) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

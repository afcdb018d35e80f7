package sqlite_test

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"hash"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// vaultFolder and vaultCopy tell the second process of TestValuesAtRest what to copy, and
// where.
const (
	vaultFolder = "MORTISE_SQLITE_VAULT_FOLDER"
	vaultCopy   = "MORTISE_SQLITE_VAULT_COPY"
)

// atRest are values that are inserted, by what they are.
var atRest = map[string][]string{
	"email":  {"ada.lovelace@example.com", "bob@example.org"},
	"card":   {"4012888888881881"},
	"name":   {"Ada Lovelace", "Zoë Ångström", "Zoe\u0308 A\u030angstro\u0308m", "bytes \x00\xff\xfe\x80 that are no text"},
	"diary":  {"a dear diary, kept by nobody"},
	"secret": {"deleted before long"},
}

// TestValuesAtRest: neither a value nor a key, nor what could confirm a guess at a value
// without the keys, stands in any file, whatever was done with the values.
func TestValuesAtRest(t *testing.T) {
	if folder := os.Getenv(vaultFolder); folder != "" { // the second process
		require.NoError(t, os.CopyFS(os.Getenv(vaultCopy), os.DirFS(folder)))
		return
	}
	folder, copied := t.TempDir(), t.TempDir()
	db := openAt(t, filepath.Join(folder, "test.db"), nil)
	useValues(t, db.Vault().Store)

	// To read the files here would drop the locks that SQLite holds on them, and to close
	// the database would do away with the log.
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestValuesAtRest$", "-test.count=1")
	child.Env = append(os.Environ(), vaultFolder+"="+folder, vaultCopy+"="+copied)
	output, err := child.CombinedOutput()
	require.NoError(t, err, string(output))
	open := contents(t, copied)
	require.Contains(t, open, "test.db-wal")
	require.Contains(t, open, "test.db-shm")
	require.NoError(t, db.Close())
	closed := contents(t, folder)
	require.Contains(t, closed, "test.db")

	var all []byte
	for _, files := range []map[string][]byte{open, closed} {
		for _, content := range files {
			all = append(all, content...)
		}
	}
	stored := keyed(fingerprintKey(t, 2, "persons.name"), atRest["name"][0])
	require.True(t, bytes.Contains(all, stored), "a fingerprint is there, so these are the right files and keys")
	needles := make(map[string][]byte)
	for _, values := range atRest {
		for _, value := range values {
			maps.Copy(needles, traces(t, value))
		}
	}
	for version := 1; version <= 2; version++ {
		for name, key := range keysOf(t, version) {
			for form, b := range forms(key) {
				needles[fmt.Sprintf("%s of version %d, %s", name, version, form)] = b
			}
		}
	}
	t.Logf("%d bytes, searched for %d things", len(all), len(needles))
	for name, needle := range needles {
		require.GreaterOrEqual(t, len(needle), 8, name)
		assert.Falsef(t, bytes.Contains(all, needle), "%s stands in a file", name)
	}
}

func contents(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	files := make(map[string][]byte)
	for _, e := range entries {
		files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name()))
		require.NoError(t, err)
	}
	return files
}

// useValues does with the values all that a service can do.
func useValues(t *testing.T, store vault.Store) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) { t.Helper(); require.NoError(t, err) }
	schema := vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Format: "email", Group: "emails"},
		{Name: "card", Tokenization: vault.Deterministic, Format: "digits:luhn,last4"},
		{Name: "name", Tokenization: vault.Deterministic, Mask: "1*1"},
		{Name: "diary", Tokenization: vault.Random},
		{Name: "secret", Tokenization: vault.Deterministic, Format: "prefix:s_"},
	}}}}
	var items []vault.Item
	for column, values := range atRest {
		for _, value := range values {
			items = append(items, vault.Item{Place: vault.InColumn("persons", column), Value: vault.NewValue(value)})
		}
	}
	allow := func(f vault.Field) vault.Redaction {
		return map[string]vault.Redaction{"name": vault.Masked, "diary": vault.Redacted}[f.Column]
	}
	begun := vaultService(t, store, 1)
	for _, id := range []string{"v1", "v2"} {
		_, err := begun.CreateVault(ctx, "acme", "ops", id, schema)
		must(err)
		_, err = begun.Insert(ctx, "acme", "ops", id, items)
		must(err)
	}
	tokens, err := begun.Insert(ctx, "acme", "ops", "v1", items)
	must(err)
	_, err = begun.Insert(ctx, "acme", "ops", "v1", append(items[:len(items):len(items)], vault.Item{Place: vault.InColumn("persons", "card"), Value: vault.NewValue(atRest["name"][0])}))
	require.ErrorIs(t, err, format.ErrMismatch)
	var shown []vault.DetokenizeItem
	var found []vault.Item
	var secret string
	for i, item := range items {
		shown = append(shown, vault.DetokenizeItem{Token: tokens[i]})
		if item.Place != vault.InColumn("persons", "diary") {
			found = append(found, item)
		}
		if item.Place == vault.InColumn("persons", "secret") {
			secret = tokens[i]
		}
	}
	_, err = begun.CreateVault(ctx, "acme", "ops", "v3", schema)
	must(err)
	var moved []vault.ImportItem
	for i, item := range items {
		moved = append(moved, vault.ImportItem{Item: item, Token: tokens[i]})
	}
	must(begun.Import(ctx, "acme", "ops", "v3", moved))
	require.ErrorIs(t, begun.Import(ctx, "acme", "ops", "v2", moved), vault.ErrTokenConflict)
	_, err = begun.Tokenize(ctx, "acme", "v1", found)
	must(err)
	_, err = begun.Detokenize(ctx, "acme", "ada", "v1", shown, func(vault.Field) vault.Redaction { return vault.PlainText })
	must(err)
	_, err = begun.Detokenize(ctx, "acme", "ada", "v1", shown, allow)
	must(err)
	for _, err := range begun.Export(ctx, "acme", "ada", "v1", allow) {
		must(err)
	}
	_, err = begun.ChangeSchema(ctx, "acme", "ops", "v1", func(s *vault.Schema) error {
		s.Tables[0].Columns[2].Mask = "*"
		return nil
	})
	must(err)
	must(begun.Delete(ctx, "acme", "ops", "v1", secret))
	must(vaultService(t, store, 1, 2).Backfill(ctx, 2, nil))
	promoted := vaultService(t, store, 2, 1)
	must(promoted.Rewrap(ctx, nil))
	_, err = promoted.Tokenize(ctx, "acme", "v2", found)
	must(err)
	must(promoted.Retire(ctx, keyring.SealKey, 1, nil))
	must(promoted.Retire(ctx, keyring.FingerprintKey, 1, nil))
}

// traces returns what a value must not leave: itself and its digests, in all forms. What
// begins with one of these contains it.
func traces(t *testing.T, value string) map[string][]byte {
	found := make(map[string][]byte)
	add := func(name string, b []byte) {
		for form, b := range forms(b) {
			found[fmt.Sprintf("%q, %s, %s", value, name, form)] = b
		}
	}
	add("itself", []byte(value))
	little, big := []byte{}, []byte{}
	for _, unit := range utf16.Encode([]rune(value)) {
		little, big = binary.LittleEndian.AppendUint16(little, unit), binary.BigEndian.AppendUint16(big, unit)
	}
	add("UTF-16", little)
	add("UTF-16, big end first", big)
	digests := map[string]func() hash.Hash{
		"MD5": md5.New, "SHA-1": sha1.New, "SHA-224": sha256.New224, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New,
		"SHA-512/256": sha512.New512_256,
	}
	const prefix = 12 // bytes of a digest, so that one which was cut is found, too
	for name, digest := range digests {
		h := digest()
		h.Write([]byte(value))
		add(name, h.Sum(nil)[:prefix])
		h = hmac.New(digest, nil)
		h.Write([]byte(value))
		add("HMAC-"+name+" without a key", h.Sum(nil)[:prefix])
	}
	for version := 1; version <= 2; version++ {
		for key, bytes := range keysOf(t, version) {
			add(fmt.Sprintf("HMAC with %s of version %d", key, version), keyed(bytes, value)[:prefix])
		}
	}
	return found
}

func keyed(key []byte, value string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(value))
	return mac.Sum(nil)
}

// keysOf returns keys with which no value may have been digested: the root key and what
// is derived from it, but for the keys of the fingerprints themselves.
func keysOf(t *testing.T, version int) map[string][]byte {
	digest := sha256.Sum256(rootBytes(version))
	return map[string][]byte{
		"the root key":                       rootBytes(version),
		"the digest of the root key":         digest[:],
		"a key that seals":                   derivedKey(t, "mortise vault seal v1", version, "acme", "v1"),
		"a fingerprint key for all":          derivedKey(t, "mortise vault fingerprint v1", version),
		"a fingerprint key of the vault":     derivedKey(t, "mortise vault fingerprint v1", version, "acme", "v1"),
		"a fingerprint key of other columns": fingerprintKey(t, version, "persons"),
	}
}

func rootBytes(version int) []byte {
	return fmt.Appendf(nil, "root key %d: for tests only, %[1]d%[1]d%[1]d%[1]d", version)
}

func fingerprintKey(t *testing.T, version int, scope string) []byte {
	return derivedKey(t, "mortise vault fingerprint v1", version, "acme", "v1", scope)
}

// derivedKey is how package localkeys documents its keys.
func derivedKey(t *testing.T, purpose string, version int, parts ...string) []byte {
	t.Helper()
	text := func(info []byte, s string) []byte {
		return append(binary.BigEndian.AppendUint64(info, uint64(len(s))), s...)
	}
	info := binary.BigEndian.AppendUint64(text(nil, purpose), uint64(version))
	for _, part := range parts {
		info = text(info, part)
	}
	key, err := hkdf.Key(sha256.New, rootBytes(version), nil, string(info), localkeys.RootSize)
	require.NoError(t, err)
	return key
}

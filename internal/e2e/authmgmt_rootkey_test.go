package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// writeKey writes a file that only its owner can read.
func writeKey(t testing.TB, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "root.key")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func randomKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
}

// testRootKey: the first start makes a key, which can be moved away, and without which
// the data cannot be opened.
func testRootKey(t *testing.T, p program) {
	dir, config := t.TempDir(), writeOrganizations(t, "")
	made := filepath.Join(dir, "mortise-data", "vault.key")
	s := p.startIn(t, dir, nil, "-config", config, "-public-url", "https://id.example.com")
	assert.Equal(t, os.FileMode(0o600), mode(t, made))
	text := string(read(t, made))
	key, err := hex.DecodeString(strings.TrimSpace(text))
	require.NoError(t, err)
	require.Len(t, key, 32)
	s.guard(string(key), strings.TrimSpace(text))
	assert.Equal(t, 1, strings.Count(s.stderr.String(), "move it to a safe place"), s.stderr.String())
	i := s.invite(rootToken, "alan@example.com")
	s.stop()

	again := func(env []string, args ...string) {
		t.Helper()
		s := p.startIn(t, dir, env, append([]string{"-config", config, "-public-url", "https://id.example.com"}, args...)...)
		s.guard(string(key), strings.TrimSpace(text))
		assert.NotContains(t, s.stderr.String(), "root key", "said twice")
		assert.Equal(t, i.URL, ask[invitation](s, http.StatusOK, "GET", invitationsPath+"/"+i.ID, rootToken, nil).URL)
		s.stop()
	}
	again(nil)
	moved := writeKey(t, text)
	require.NoError(t, os.Remove(made))
	again(nil, "-vault-key", moved)
	again([]string{"MORTISE_VAULT_KEY_FILE=" + moved})
	again(nil, "-vault-key", writeKey(t, "  "+base64.StdEncoding.EncodeToString(key)+"\r\n"))
	again([]string{"MORTISE_VAULT_KEY_FILE=/nonexistent"}, "-vault-key", writeKey(t, base64.RawURLEncoding.EncodeToString(key)))

	// Neither another key nor none opens the data, and nothing is provisioned or left
	// behind.
	more := filepath.Join(t.TempDir(), "more.json")
	require.NoError(t, os.WriteFile(more, []byte(`{"organizations": [{"id": "acme", "access_tokens": [{"token": "at-more-00112233445566778899aabbccddeeff", "subject": "s"}]}]}`), 0o600))
	folder := filepath.Dir(made)
	other := hex.EncodeToString(randomKey())
	told := p.refuseIn(t, folder, "-config", more, "-vault-key", writeKey(t, other))
	assert.Contains(t, told, "another key")
	assertUntold(t, other, told)
	told = p.refuseIn(t, folder, "-config", more)
	assert.Contains(t, told, made+" is missing")
	assert.False(t, exists(made), "a key was left behind that opens nothing")
	left, err := filepath.Glob(filepath.Join(folder, "vault*"))
	require.NoError(t, err)
	assert.Equal(t, []string{made + ".revocations"}, left)
	require.NoError(t, os.WriteFile(made, []byte(other), 0o600))
	assert.Contains(t, p.refuseIn(t, folder, "-config", more), "another key")
	assert.Equal(t, other, string(read(t, made)), "the operator's file was changed")
	require.NoError(t, os.Remove(made))
	require.NoError(t, os.Chmod(folder, 0o777))
	s = p.startIn(t, dir, nil, "-config", config, "-vault-key", moved)
	assert.Contains(t, s.stderr.String(), "others can write to the data folder")
	assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, "at-more-00112233445566778899aabbccddeeff"))

	// In memory there is nothing to be opened, with or without a key. One that others can
	// read is worth a warning.
	require.NoError(t, os.Chmod(moved, 0o644))
	s = p.start(t, nil, "-memory", "-config", config, "-vault-key", moved)
	s.guard(string(key), strings.TrimSpace(text))
	assert.Equal(t, 1, strings.Count(s.stderr.String(), "others can read"), s.stderr.String())
}

// testRootKeyRefused: a file that holds no key is refused before anything is made, and
// nothing of it is told.
func testRootKeyRefused(t *testing.T, p program) {
	nightly.Only(t)
	key := randomKey()
	digits, base := hex.EncodeToString(key), base64.StdEncoding.EncodeToString(key)
	for name, text := range map[string]string{
		"empty": "", "too short": digits[:62], "too long": digits + digits[:2], "base64 too short": base64.StdEncoding.EncodeToString(key[1:]),
		"base64 too long": base64.StdEncoding.EncodeToString(append(key, 0)), "no hex": "x" + digits[1:], "raw": string(key), "two lines": digits[:32] + "\n" + digits[32:],
		"base64 on two lines": base[:20] + "\n" + base[20:], "zeros": strings.Repeat("0", 64), "zeros in base64": strings.Repeat("A", 43) + "=", "a whole book": strings.Repeat(digits, 10000),
	} {
		file := writeKey(t, text)
		told := p.refuse(t, 2, nil, "-vault-key", file)
		assert.True(t, strings.HasPrefix(told, "-vault-key: "+file), "%s: %s", name, told)
		if len(text) > 32 {
			assert.Empty(t, findSecret(told, []byte(digits)), name)
			assert.Empty(t, findSecret(told, key), name)
			assert.NotContains(t, told, text[len(text)-8:], name)
		}
		assert.Equal(t, told, p.refuse(t, 2, []string{"MORTISE_VAULT_KEY_FILE=" + file}), name)
		assert.Equal(t, told, p.refuse(t, 2, nil, "-memory", "-vault-key", file), name)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	assert.Contains(t, p.refuse(t, 2, nil, "-vault-key", missing), missing)
	assert.Contains(t, p.refuse(t, 2, nil, "-vault-key", t.TempDir()), "-vault-key: ")
	assert.Contains(t, p.refuse(t, 2, nil, "-vault-key="), "-vault-key: names no file")

	// A file that is where the key is made stays, too.
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "vault.key"), []byte(digits[:40]), 0o600))
	told := p.refuseIn(t, folder)
	assert.Contains(t, told, filepath.Join(folder, "vault.key"))
	assert.NotContains(t, told, digits[:8])
	assert.Equal(t, digits[:40], string(read(t, filepath.Join(folder, "vault.key"))))
}

// testRootKeyOfTwoServers starts servers at once on a new folder: they agree on one key,
// so a link of one opens on the others.
func testRootKeyOfTwoServers(t *testing.T, p program) {
	const servers = 3
	config := writeOrganizations(t, "")
	for range 4 {
		dir := t.TempDir()
		var all [servers]*server
		for i := range all {
			all[i] = p.run(t, dir, nil, "-config", config)
		}
		for _, s := range all {
			s.await("the first line", func() bool { return strings.Contains(s.stdout.String(), "\n") })
			line, _, _ := strings.Cut(s.stdout.String(), "\n")
			s.url = strings.TrimPrefix(line, "listening on ")
		}
		warned := 0
		i := all[0].invite(rootToken, "alan@example.com")
		for _, s := range all {
			assert.Equal(t, http.StatusOK, s.status("GET", acceptPath+i.linkToken(t), ""))
			warned += strings.Count(s.stderr.String(), "move it to a safe place")
		}
		assert.Equal(t, 1, warned, "the server that made the file tells so")
		left, err := filepath.Glob(filepath.Join(dir, "mortise-data", "vault.key*"))
		require.NoError(t, err)
		assert.Len(t, left, 2, "the key, and the number of revocations")
		for _, s := range all {
			s.stop()
		}
	}
}

// testRootKeyAfterCrash kills servers at their first start on a database that has begun
// with no key yet. The next one finds the key that it has begun with since, or makes one,
// and leaves no copy of it.
func testRootKeyAfterCrash(t *testing.T, p program) {
	nightly.Only(t)
	moments := mathrand.New(mathrand.NewPCG(seeded(t), 1<<34))
	files := make(map[int]int)
	for range 10 {
		dir := t.TempDir()
		config := writeOrganizations(t, "")
		folder := filepath.Join(dir, "mortise-data")
		require.NoError(t, os.Mkdir(folder, 0o700))
		db, err := sqlite.Open(t.Context(), filepath.Join(folder, "mortise.db"), nil)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		for range 1 + moments.IntN(3) {
			young := p.run(t, dir, nil, "-config", config)
			time.Sleep(time.Duration(moments.IntN(25_000)) * time.Microsecond)
			young.kill()
		}
		key := filepath.Join(folder, "vault*")
		left, err := filepath.Glob(key)
		require.NoError(t, err)
		files[len(left)]++
		s := p.startIn(t, dir, nil, "-config", config)
		s.invite(rootToken, "alan@example.com")
		left, err = filepath.Glob(key)
		require.NoError(t, err)
		assert.Len(t, left, 2, "the key, and the number of revocations")
		s.stop()
	}
	t.Logf("files that the kills left: %v", files)
}

// testRootKeyIsSynced watches the system calls of a first start: the key is on the disk
// under its name before the database begins with it. A power cut in between would leave
// data that no key opens.
func testRootKeyIsSynced(t *testing.T, p program) {
	strace := tool(t, "strace")
	trace, traced := filepath.Join(t.TempDir(), "trace"), filepath.Join(t.TempDir(), "traced.sh")
	text := fmt.Sprintf("#!/bin/sh\nexec '%s' -D -f -y -e trace=fsync,fdatasync,link,linkat,write -e signal=none -o '%s' '%s' \"$@\"\n", strace, trace, p)
	require.NoError(t, os.WriteFile(traced, []byte(text), 0o700))
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte("{}"), 0o600))
	s := program(traced).start(t, nil, "-config", empty)
	s.kill() // strace ends with it
	var order []string
	for _, call := range tracedCalls(string(read(t, trace))) {
		for what, is := range map[string]*regexp.Regexp{
			"file": traceOfFile, "link": traceOfLink, "folder": traceOfFolder, "database": traceOfDatabase, "listening": traceOfListening,
		} {
			if is.MatchString(call) {
				order = append(order, what)
			}
		}
	}
	end := slices.Index(order, "listening")
	require.Positive(t, end, "%v", order)
	order = order[:end]
	file, link := slices.Index(order, "file"), slices.Index(order, "link")
	require.True(t, file >= 0 && file < link, "the file has to be synced before it gets its name: %v", order)
	assert.Contains(t, order[link:], "folder", "the folder has to be synced")
	folder := link + slices.Index(order[link:], "folder")
	assert.NotContains(t, order[link:folder], "database", "the database began with a key whose name was not on the disk: %v", order)
	assert.Contains(t, order[folder:], "database", "the test does not see how the database begins with the key: %v", order)
}

// tracedCalls returns the calls of a trace by strace, each in one piece: one that another
// thread's interrupted stands on two lines.
func tracedCalls(trace string) (calls []string) {
	begun := make(map[string]string) // by thread
	for line := range strings.Lines(trace) {
		thread, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		if before, ok := strings.CutSuffix(call, " <unfinished ...>"); ok {
			begun[thread] = before
			continue
		}
		if _, after, ok := strings.Cut(call, " resumed>"); ok {
			call = begun[thread] + after
		}
		calls = append(calls, call)
	}
	return calls
}

func TestTracedCalls(t *testing.T) {
	t.Parallel()
	calls := tracedCalls(`7  fsync(3</data/vault.key.new-1> <unfinished ...>
8  write(1<pipe:[5]>, "listening", 9) = 9
7  <... fsync resumed>)                    = 0
`)
	require.Len(t, calls, 2)
	assert.Regexp(t, traceOfListening, calls[0])
	assert.Regexp(t, traceOfFile, calls[1])
}

var (
	traceOfFile      = regexp.MustCompile(`^ *fsync\(\d+<[^>]*/vault\.key\.new-\d+>\) += 0`)
	traceOfLink      = regexp.MustCompile(`^ *link(at)?\(.*/vault\.key".*\) += 0`)
	traceOfFolder    = regexp.MustCompile(`^ *fsync\(\d+<[^>]*/mortise-data>\) += 0`)
	traceOfDatabase  = regexp.MustCompile(`^ *f(data)?sync\(\d+<[^>]*/mortise\.db-wal>\) += 0`)
	traceOfListening = regexp.MustCompile(`^ *write\(1<[^>]*>, "listening`)
)

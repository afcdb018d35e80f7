package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// keyFolder returns settings whose data folder is there.
func keyFolder(t *testing.T) *settings {
	t.Helper()
	return &settings{data: t.TempDir()}
}

// names returns what is in the folder.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

// randomKey returns a key as it is written.
func randomKey() string {
	var random [localkeys.RootSize]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// same reports whether two keys are one, or both none.
func same(t *testing.T, a, b localkeys.Root) bool {
	t.Helper()
	one, err := a.Derive("x")
	other, otherErr := b.Derive("x")
	return one == other && (err == nil) == (otherErr == nil)
}

// TestDerivedKeys: what is derived depends on the root key alone. Another result at another
// version would end every invitation, and leave every value of the vault unreadable. The
// vectors are by openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt hexkey:... -kdfopt
// info:'mortise invitation key v1' HKDF.
func TestDerivedKeys(t *testing.T) {
	var root [32]byte
	for i := range root {
		root[i] = byte(0xf8 + 3*i)
	}
	key, err := localkeys.NewRoot(root[:])
	if err != nil {
		t.Fatal(err)
	}
	for purpose, want := range map[string]string{
		purposeInvitations: "94dda651e59c9e5a1138fe03e09b870d978486d11f72c5067752609cb636bf97",
		purposeVault:       "51ca2ba0c94afeec9875c5bfb6bce3d2af3d8c5dbf8b2c14395469b4c4e9e14a",
	} {
		if got, err := key.Derive(purpose); err != nil || hex.EncodeToString(got[:]) != want {
			t.Errorf("%s: %x, %v", purpose, got, err)
		}
	}
}

func TestKeyFileIsMadeOnce(t *testing.T) {
	s := keyFolder(t)
	first, err := findKey(s, discard())
	if err != nil || !first.Made() || same(t, first.Root, localkeys.Root{}) {
		t.Fatalf("%+v, %v", first, err)
	}
	info, err := os.Stat(filepath.Join(s.data, keyFile))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	second, err := findKey(s, discard())
	if err != nil || second.Made() || !same(t, second.Root, first.Root) {
		t.Errorf("%+v, %v", second, err)
	}
	if left := names(t, s.data); len(left) != 1 || left[0] != keyFile {
		t.Errorf("in the folder: %q", left)
	}
	s.vaultKey = filepath.Join(s.data, keyFile)
	if named, err := namedKey(s); err != nil || !same(t, named.Root, first.Root) {
		t.Errorf("%+v, %v", named, err)
	}
	if other, err := findKey(keyFolder(t), discard()); err != nil || same(t, other.Root, first.Root) {
		t.Errorf("another folder has the same key: %v", err)
	}
}

func TestKeyFileRefused(t *testing.T) {
	dir := t.TempDir()
	const content = "ffeeddccbbaa99887766554433221100"
	for name, text := range map[string]string{"empty": "", "short": content, "long": strings.Repeat(content, 1000), "far": content + content + strings.Repeat(" ", 4096) + "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"empty", "short", "long", "far", "missing", "."} {
		_, err := namedKey(&settings{vaultKey: filepath.Join(dir, name)})
		var usage *usageError
		if !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "-vault-key: ") || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(err.Error(), content[:8]) {
			t.Errorf("%s: the error repeats the file: %v", name, err)
		}
	}
	// One that is there, and no key, is not replaced.
	s := keyFolder(t)
	path := filepath.Join(s.data, keyFile)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var usage *usageError
	if _, err := findKey(s, discard()); !errors.As(err, &usage) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != content {
		t.Errorf("the file was changed: %v", err)
	}
}

// checkOn runs checkKey as a start on the storage would, and returns what it logged.
func checkOn(t *testing.T, b *backends, k *localkeys.RootFile) (log string, err error) {
	t.Helper()
	s, err := wire(testSettings(), b, k.Root, discard())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	err = checkKey(t.Context(), s, k, slog.New(slog.NewJSONHandler(&text, nil)))
	return text.String(), err
}

// TestKeyFileOfOthers: the warning comes once the key is known to be right, since a wrong
// one is told on one line.
func TestKeyFileOfOthers(t *testing.T) {
	b := storages["memory"](t)
	digits := randomKey()
	for mode, warned := range map[fs.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true, 0o601: true} {
		path := filepath.Join(t.TempDir(), "key")
		if err := errors.Join(os.WriteFile(path, []byte(digits), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		found, err := namedKey(&settings{vaultKey: path})
		if err != nil {
			t.Fatal(err)
		}
		log, err := checkOn(t, b, found)
		if err != nil || strings.Contains(log, "others can read") != warned || strings.Contains(log, digits) {
			t.Errorf("%o: %v; logged %s", mode, err, log)
		}
	}
	if log, err := checkOn(t, b, &localkeys.RootFile{Root: testKey(), Exposed: 0o644}); err == nil || log != "" {
		t.Errorf("another key: %v; logged %s", err, log)
	}
}

func TestKeyInMemory(t *testing.T) {
	one, err := findKey(&settings{memory: true, data: "/nonexistent"}, discard())
	if err != nil || one.Made() || same(t, one.Root, localkeys.Root{}) {
		t.Errorf("%+v, %v", one, err)
	}
	if two, err := findKey(&settings{memory: true}, discard()); err != nil || same(t, two.Root, one.Root) {
		t.Errorf("the same key twice: %v", err)
	}
}

// TestWrongKey: data that began with one key takes no other, and a file that was made for
// nothing is gone.
func TestWrongKey(t *testing.T) {
	for name, open := range storages {
		t.Run(name, func(t *testing.T) {
			b, s := open(t), keyFolder(t)
			first, err := findKey(s, discard())
			if err != nil {
				t.Fatal(err)
			}
			log, err := checkOn(t, b, first)
			if err != nil || !strings.Contains(log, `"level":"WARN"`) || !strings.Contains(log, "-vault-key") || !strings.Contains(log, first.Path) {
				t.Errorf("%v; logged %s", err, log)
			}
			again, err := findKey(s, discard())
			if err != nil {
				t.Fatal(err)
			}
			if log, err := checkOn(t, b, again); err != nil || log != "" {
				t.Errorf("%v; logged %s", err, log)
			}

			moved := filepath.Join(t.TempDir(), "moved")
			if err := os.Rename(first.Path, moved); err != nil {
				t.Fatal(err)
			}
			fresh, err := findKey(s, discard())
			if err != nil || !fresh.Made() {
				t.Fatalf("%+v, %v", fresh, err)
			}
			var usage *usageError
			if log, err := checkOn(t, b, fresh); !errors.As(err, &usage) || !strings.Contains(err.Error(), "is missing") || log != "" {
				t.Errorf("%v; logged %s", err, log)
			}
			if left := names(t, s.data); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
			if _, err := checkOn(t, b, &localkeys.RootFile{Root: testKey(), Path: "named"}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "named") {
				t.Errorf("got %v", err)
			}
			named, err := namedKey(&settings{vaultKey: moved})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := checkOn(t, b, named); err != nil {
				t.Errorf("the key that was moved: %v", err)
			}
		})
	}
}

// credentialStore is what the storages of this program have for the credentials service.
type credentialStore interface {
	authmgmt.Store
	authmgmt.KeyChecker
	authmgmt.Pruner
}

// unsure is a store that does not answer when it is asked for its key.
type unsure struct{ credentialStore }

func (unsure) UpdateKeyChecks(context.Context, func([][32]byte) ([][32]byte, error)) error {
	return errors.New("disk on fire")
}

// TestKeyStaysIfInDoubt: the storage may have taken the new key before it failed.
func TestKeyStaysIfInDoubt(t *testing.T) {
	b := storages["memory"](t)
	b.authmgmt.Store = unsure{b.authmgmt.Store.(credentialStore)}
	s := keyFolder(t)
	made, err := findKey(s, discard())
	if err != nil {
		t.Fatal(err)
	}
	var usage *usageError
	if _, err := checkOn(t, b, made); err == nil || errors.As(err, &usage) {
		t.Errorf("got %v, want a failure that may pass", err)
	}
	if left := names(t, s.data); len(left) != 1 {
		t.Errorf("in the folder: %q", left)
	}
}

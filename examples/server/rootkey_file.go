package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// keyFile is the name of the root key's file in the data folder, where it is made unless
// the operator names another.
const keyFile = "vault.key"

// foundKey is a root key and where it came from.
type foundKey struct {
	key     localkeys.Root
	path    string      // "" if it is in RAM only
	exposed fs.FileMode // of the file, if others can read it; else 0
	made    os.FileInfo // of the file, if it was made just now; else nil
}

// namedKey reads the file that the operator named. It returns nil if they named none.
func namedKey(s *settings) (*foundKey, error) {
	if s.vaultKey == "" {
		return nil, nil
	}
	key, exposed, err := readKeyFile(s.vaultKey)
	if err != nil {
		return nil, blame("-vault-key", err)
	}
	return &foundKey{key: key, path: s.vaultKey, exposed: exposed}, nil
}

// findKey returns the key of a storage for which none was named: that of the data folder,
// which is made if it is missing, or a random one for what ends with the process anyway.
func findKey(s *settings, log *slog.Logger) (*foundKey, error) {
	if s.memory {
		key, _ := newRootKey()
		return &foundKey{key: key}, nil
	}
	found, err := readOrMakeKey(filepath.Join(s.data, keyFile))
	if err != nil {
		return nil, blame("-vault-key", err)
	}
	// What the key opens is stored soon. So its file has to be there after a power cut,
	// whichever server made it.
	if err := syncFolder(s.data); err != nil {
		log.Warn("a power cut in the next seconds may take the root key with it", "file", found.path, "error", err)
	}
	return found, nil
}

func readOrMakeKey(path string) (found *foundKey, err error) {
	// Whoever finds no file, and then another server's in its place, looks again. That
	// one may be gone by then: see discard.
	for range 100 {
		found = &foundKey{path: path}
		if found.key, found.exposed, err = readKeyFile(path); err == nil {
			return found, removeLeftovers(path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		var text string
		found.key, text = newRootKey()
		if found.made, err = makeKeyFile(path, text); err == nil {
			return found, removeLeftovers(path)
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, err
}

// makeKeyFile puts a new key into a file, which is there as a whole or not at all, and
// never in the place of another.
func makeKeyFile(path, key string) (os.FileInfo, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+leftover) // with mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(key + "\n")
	made, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return made, os.Link(f.Name(), path)
}

// leftover is the end of the names that a key's file has while it is made.
const leftover = ".new-*"

// removeLeftovers removes what servers left that died while they made the file: each is a
// copy of a key that somebody may have moved to a safe place. One that is still at it
// finds its own file gone, and looks again.
func removeLeftovers(path string) error {
	folder := filepath.Dir(path)
	left, err := fs.Glob(os.DirFS(folder), filepath.Base(path)+leftover)
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// checkKey refuses a key that is not the one with which the storage began. A file that
// was made for nothing does not stay: the right one may have been moved away. If that
// cannot be found out, it stays, since the storage may have begun with it.
func checkKey(ctx context.Context, s *services, k *foundKey, log *slog.Logger) error {
	err := s.authmgmt.service.CheckKey(ctx)
	if err == nil {
		err = s.vault.service.CheckKeys(ctx)
	}
	wrong := errors.Is(err, authmgmt.ErrWrongKey) || errors.Is(err, keyring.ErrWrongKey)
	switch {
	case wrong && k.made != nil:
		if err := k.discard(); err != nil {
			return usagef("-vault-key: %s was made for data that needs another key, and cannot be removed: %w", k.path, err)
		}
		return usagef("-vault-key: %s is missing, and the data needs it; put it back, or name the file that you moved it to", k.path)
	case wrong:
		return usagef("-vault-key: %s holds another key than the one that the data began with", k.path)
	case errors.Is(err, keyring.ErrUnknownKey), errors.Is(err, keyring.ErrRetired):
		return usagef("-vault-key: the keys of the vault were rotated by another program, and this one has their first version only: %w", err)
	case err != nil:
		return fmt.Errorf("check the root key: %w", err)
	}
	if k.exposed != 0 {
		log.Warn("others can read the file of the root key; chmod 600 it", "file", k.path, "mode", k.exposed.String())
	}
	if k.made != nil {
		log.Warn("a root key was made beside the data that it protects; move it to a safe place and name it with -vault-key", "file", k.path)
	}
	return nil
}

// discard removes the file that was made, and no other that has come into its place.
func (k *foundKey) discard() error {
	info, err := os.Stat(k.path)
	if err == nil && os.SameFile(info, k.made) {
		err = os.Remove(k.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// The purposes of what is derived from the root key. Each must be given out once: two
// keys of the same purpose are the same key.
const (
	purposeInvitations = "mortise invitation key v1"
	purposeVault       = "mortise vault key v1"
)

// keyFile is the name of the root key's file in the data folder, where it is made unless
// the operator names another.
const keyFile = "vault.key"

// namedKey reads the file that the operator named. It returns nil if they named none.
func namedKey(s *settings) (*localkeys.RootFile, error) {
	if s.vaultKey == "" {
		return nil, nil
	}
	key, err := localkeys.OpenRootFile(s.vaultKey)
	if err != nil {
		return nil, blame("-vault-key", err)
	}
	return key, nil
}

// findKey returns the key of a storage for which none was named: that of the data folder,
// which is made if it is missing, or a random one for what ends with the process anyway.
func findKey(s *settings, log *slog.Logger) (*localkeys.RootFile, error) {
	if s.memory {
		return &localkeys.RootFile{Root: localkeys.RandomRoot()}, nil
	}
	found, err := localkeys.EnsureRootFile(filepath.Join(s.data, keyFile))
	if err != nil {
		return nil, blame("-vault-key", err)
	}
	if found.Unsynced != nil {
		log.Warn("a power cut in the next seconds may take the root key with it", "file", found.Path, "error", found.Unsynced)
	}
	return found, nil
}

// checkKey refuses a key that is not the one with which the storage began. A file that
// was made for nothing does not stay: the right one may have been moved away. If that
// cannot be found out, it stays, since the storage may have begun with it.
func checkKey(ctx context.Context, s *services, k *localkeys.RootFile, log *slog.Logger) error {
	err := s.authmgmt.service.CheckKey(ctx)
	if err == nil {
		err = s.vault.service.CheckKeys(ctx)
	}
	wrong := errors.Is(err, authmgmt.ErrWrongKey) || errors.Is(err, keyring.ErrWrongKey)
	switch {
	case wrong && k.Made():
		if err := k.Discard(); err != nil {
			return usagef("-vault-key: %s was made for data that needs another key, and cannot be removed: %w", k.Path, err)
		}
		return usagef("-vault-key: %s is missing, and the data needs it; put it back, or name the file that you moved it to", k.Path)
	case wrong:
		return usagef("-vault-key: %s holds another key than the one that the data began with", k.Path)
	case errors.Is(err, keyring.ErrUnknownKey), errors.Is(err, keyring.ErrRetired):
		return usagef("-vault-key: the keys of the vault were rotated by another program, and this one has their first version only: %w", err)
	case err != nil:
		return fmt.Errorf("check the root key: %w", err)
	}
	warnOfMode(log, "others can read the file of the root key; chmod 600 it", k.Path, k.Exposed)
	if k.Made() {
		log.Warn("a root key was made beside the data that it protects; move it to a safe place and name it with -vault-key", "file", k.Path)
	}
	return nil
}

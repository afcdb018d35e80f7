package vaulttest

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// rotatingKeys is a fake's keyring: local keys, of which others are loaded while a
// rotation goes on.
type rotatingKeys struct {
	loaded atomic.Pointer[localkeys.Keyring]

	mu       sync.Mutex // of a rotation
	key      localkeys.Key
	next     *localkeys.Key // while a rotation goes on
	promoted bool           // next is the primary one
}

// begin loads the first version.
func (k *rotatingKeys) begin() (err error) {
	if k.key, err = randomKey(1); err != nil {
		return err
	}
	return k.load(k.key)
}

func randomKey(version int) (localkeys.Key, error) {
	bytes := make([]byte, localkeys.RootSize)
	_, _ = rand.Read(bytes) // never fails
	root, err := localkeys.NewRoot(bytes)
	return localkeys.Key{Version: version, Root: root}, err
}

func (k *rotatingKeys) load(primary localkeys.Key, others ...localkeys.Key) error {
	loaded, err := localkeys.New(primary, others...)
	if err == nil {
		k.loaded.Store(loaded)
	}
	return err
}

// rotate takes the steps that package vault describes. All but the change of the primary
// version can be taken twice.
func (k *rotatingKeys) rotate(ctx context.Context, s *vault.Service) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next == nil {
		next, err := randomKey(k.key.Version + 1)
		if err != nil {
			return err
		}
		if err := k.load(k.key, next); err != nil {
			return err
		}
		k.next = &next
	}
	if !k.promoted {
		if err := s.Backfill(ctx, k.next.Version, nil); err != nil {
			return err
		}
		if err := k.load(*k.next, k.key); err != nil {
			return err
		}
		k.promoted = true
	}
	if err := s.Rewrap(ctx, nil); err != nil {
		return err
	}
	for _, p := range []keyring.Purpose{keyring.SealKey, keyring.FingerprintKey} {
		if err := s.Retire(ctx, p, k.key.Version, nil); err != nil {
			return err
		}
	}
	if err := k.load(*k.next); err != nil {
		return err
	}
	k.key, k.next, k.promoted = *k.next, nil, false
	return nil
}

func (k *rotatingKeys) Versions(ctx context.Context) (keyring.Versions, error) {
	return k.loaded.Load().Versions(ctx)
}

func (k *rotatingKeys) Limits() keyring.Limits { return k.loaded.Load().Limits() }

func (k *rotatingKeys) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	return k.loaded.Load().Fingerprint(ctx, version, items, dst)
}

func (k *rotatingKeys) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	return k.loaded.Load().Seal(ctx, items)
}

func (k *rotatingKeys) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	return k.loaded.Load().Open(ctx, items)
}

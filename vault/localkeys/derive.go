package localkeys

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"sync"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// The purposes of derived keys. No two keys of different purposes are the same.
const (
	purposeFingerprint = "mortise vault fingerprint v1"
	purposeSeal        = "mortise vault seal v1"
)

// Derive returns a key of another purpose, such as that of authmgmt.NewInvitationKey, so that
// a host with one secret need not keep two: HKDF-SHA-256 (RFC 5869) of the root key, without
// salt, and with the purpose as info. A purpose is a text of the host's that begins with no
// U+0000. It is given to one use only, because two keys of the same purpose are the same key,
// and not changed, because what the old key has sealed or signed needs that.
func (r Root) Derive(purpose string) ([RootSize]byte, error) {
	if r.bytes == nil {
		return [RootSize]byte{}, errors.New("localkeys: a zero Root is no root key")
	}
	// A keyring's own infos begin with the length of a short text, in eight bytes.
	if purpose == "" || purpose[0] == 0 {
		return [RootSize]byte{}, errors.New("localkeys: the purpose of a key is a text, and begins with no U+0000")
	}
	key, err := hkdf.Key(sha256.New, r.bytes()[:], nil, purpose, RootSize)
	if err != nil {
		return [RootSize]byte{}, fmt.Errorf("localkeys: derive a key: %w", err)
	}
	return [RootSize]byte(key), nil
}

// derive returns the key for a purpose and what else it is bound to.
func (r Root) derive(purpose string, version int, parts ...string) ([]byte, error) {
	info := appendText(nil, purpose)
	info = binary.BigEndian.AppendUint64(info, uint64(version))
	for _, part := range parts {
		info = appendText(info, part)
	}
	return hkdf.Key(sha256.New, r.bytes()[:], nil, string(info), 32)
}

// appendText appends a text and, before it, its length, so that no two lists of texts
// differ only in where they are cut.
func appendText(dst []byte, text string) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(text)))
	return append(dst, text...)
}

// derived remembers keys, which take two microseconds each to derive.
type derived struct {
	mu    sync.RWMutex
	macs  map[keyName]*macPool
	aeads map[keyName]cipher.AEAD
}

// keyName is what a key is bound to beside its purpose.
type keyName struct {
	version int
	scope   keyring.Scope
}

// maxDerived bounds how many keys of each kind are remembered.
const maxDerived = 4096

// macs returns what makes fingerprints of a version in a scope.
func (k *Keyring) macs(version int, s keyring.Scope) (*macPool, error) {
	return remember(k, &k.derived.macs, keyName{version, s}, func(root Root) (*macPool, error) {
		key, err := root.derive(purposeFingerprint, version, s.Organization, s.Vault, s.Name)
		if err != nil {
			return nil, err
		}
		return &macPool{sync.Pool{New: func() any { return &mac{hash: hmac.New(sha256.New, key)} }}}, nil
	})
}

// aead returns what seals the values of a version in a vault.
func (k *Keyring) aead(version int, s keyring.Scope) (cipher.AEAD, error) {
	s.Name = ""
	return remember(k, &k.derived.aeads, keyName{version, s}, func(root Root) (cipher.AEAD, error) {
		key, err := root.derive(purposeSeal, version, s.Organization, s.Vault)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		return cipher.NewGCMWithRandomNonce(block)
	})
}

// remember returns what is remembered by a name, or makes it.
func remember[T any](k *Keyring, from *map[keyName]T, name keyName, make func(Root) (T, error)) (T, error) {
	k.derived.mu.RLock()
	kept, ok := (*from)[name]
	k.derived.mu.RUnlock()
	if ok {
		return kept, nil
	}
	root, ok := k.roots[name.version]
	if !ok {
		return kept, fmt.Errorf("key version %d: %w", name.version, keyring.ErrUnknownKey)
	}
	made, err := make(root)
	if err != nil {
		return kept, fmt.Errorf("localkeys: derive a key: %w", err)
	}
	k.derived.mu.Lock()
	defer k.derived.mu.Unlock()
	if len(*from) >= maxDerived {
		clear(*from)
	}
	if *from == nil {
		*from = map[keyName]T{}
	}
	(*from)[name] = made
	return made, nil
}

// macPool keeps HMACs that are ready for a value: to make one anew costs as much as a
// fingerprint.
type macPool struct{ pool sync.Pool }

func (p *macPool) get() *mac  { return p.pool.Get().(*mac) }
func (p *macPool) put(m *mac) { p.pool.Put(m) }

// mac is an HMAC and room for a value and a sum.
type mac struct {
	hash  hash.Hash
	value []byte
}

// maxKept bounds the room that is kept for values, in bytes.
const maxKept = 4096

// sum writes the fingerprint of a value.
func (m *mac) sum(value string, dst *keyring.Fingerprint) {
	m.value = append(m.value[:0], value...)
	m.hash.Reset()
	m.hash.Write(m.value)
	m.hash.Sum(dst[:0])
	clear(m.value) // the pool keeps it; the hash has the value's end until it is used again
	if cap(m.value) > maxKept {
		m.value = nil
	}
}

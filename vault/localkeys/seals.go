package localkeys

import (
	"crypto/cipher"
	"encoding/binary"
	"sync"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// seals seals and opens the values of a batch. It keeps what the next value as a rule
// needs again: the key, the beginning of the associated data, and the room for both
// texts.
type seals struct {
	keyring *Keyring
	aead    cipher.AEAD // of version and scope; nil at first
	version int
	scope   keyring.Scope

	place   []byte // the associated data: version, scope and, behind prefix bytes, token
	prefix  int
	text    []byte // a plaintext
	longest int    // how much of text has been used
}

// sealPool keeps room for texts.
var sealPool = sync.Pool{New: func() any { return new(seals) }}

func (k *Keyring) seals() *seals {
	s := sealPool.Get().(*seals)
	s.keyring = k
	return s
}

// done gives s back, without the texts.
func (s *seals) done() {
	clear(s.text[:s.longest])
	if cap(s.text) > maxKept {
		s.text = nil
	}
	s.keyring, s.aead, s.scope, s.longest = nil, nil, keyring.Scope{}, 0
	sealPool.Put(s)
}

// choose takes the key of a version and a scope.
func (s *seals) choose(version int, scope keyring.Scope) error {
	if s.aead != nil && s.version == version && s.scope == scope {
		return nil
	}
	aead, err := s.keyring.aead(version, scope)
	if err != nil {
		return err
	}
	s.aead, s.version, s.scope = aead, version, scope
	s.place = binary.BigEndian.AppendUint64(s.place[:0], uint64(version))
	s.place = appendText(s.place, scope.Organization)
	s.place = appendText(s.place, scope.Vault)
	s.place = appendText(s.place, scope.Name)
	s.prefix = len(s.place)
	return nil
}

// associatedData binds a ciphertext to its place.
func (s *seals) associatedData(token string) []byte {
	s.place = appendText(s.place[:s.prefix], token)
	return s.place
}

func (s *seals) seal(token, value string) []byte {
	s.text = append(s.text[:0], value...)
	s.longest = max(s.longest, len(s.text))
	return s.aead.Seal(nil, nil, s.text, s.associatedData(token))
}

func (s *seals) open(token string, ciphertext []byte) (keyring.Value, error) {
	text, err := s.aead.Open(s.text[:0], nil, ciphertext, s.associatedData(token))
	if err != nil {
		return keyring.Value{}, keyring.ErrCorrupt
	}
	s.text = text
	s.longest = max(s.longest, len(text))
	return keyring.NewValue(string(text)), nil
}

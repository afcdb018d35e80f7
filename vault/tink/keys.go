package tink

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	tinkgo "github.com/tink-crypto/tink-go/v2/tink"
)

// keys are the enabled keys of both keysets. They do not change.
type keys struct {
	fingerprints primitives[prf.PRF]
	seals        primitives[tinkgo.AEAD]
}

// primitives are what the enabled keys of one keyset do.
type primitives[P any] struct {
	primary int
	others  []int
	of      map[int]P // by version
}

func load(fingerprints, seals *keyset.Handle) (*keys, error) {
	var k keys
	var err error
	if k.fingerprints, err = loadKeyset(fingerprints, newPRF); err != nil {
		return nil, fmt.Errorf("%s: %w", fingerprintKeyset, err)
	}
	if k.seals, err = loadKeyset(seals, newAEAD); err != nil {
		return nil, fmt.Errorf("%s: %w", sealKeyset, err)
	}
	return &k, nil
}

// What errors call the keysets.
const (
	fingerprintKeyset = "tink: the keyset for fingerprints"
	sealKeyset        = "tink: the keyset for seals"
)

// loadKeyset makes a primitive of each enabled key. It has a key of its own each, not
// Tink's choice among several, so that a version is what decides which key is used.
func loadKeyset[P any](h *keyset.Handle, primitive func(*keyset.Handle) (P, error)) (primitives[P], error) {
	p := primitives[P]{of: make(map[int]P)}
	if h.Len() == 0 {
		return p, errors.New("it has no keys")
	}
	info := h.KeysetInfo()
	for _, key := range info.GetKeyInfo() {
		if key.GetStatus() != tinkpb.KeyStatusType_ENABLED {
			continue
		}
		version, err := checkKey(key)
		if err == nil {
			p.of[version], err = one(h, key.GetKeyId(), primitive)
		}
		if err != nil {
			return p, fmt.Errorf("key %d of type %s: %w", key.GetKeyId(), typeName(key), err)
		}
		if key.GetKeyId() == info.GetPrimaryKeyId() {
			p.primary = version
		} else {
			p.others = append(p.others, version)
		}
	}
	return p, nil
}

// remote are the types of keys that ask a KMS whenever they are used.
var remote = []string{"KmsAeadKey", "KmsEnvelopeAeadKey"}

// checkKey returns the version that a key is.
func checkKey(key *tinkpb.KeysetInfo_KeyInfo) (int, error) {
	id := key.GetKeyId()
	switch {
	case id == 0 || uint64(id) > math.MaxInt:
		return 0, fmt.Errorf("its ID is no version: those are from 1 to %d", math.MaxInt)
	case slices.Contains(remote, typeName(key)):
		return 0, errors.New("it would ask a KMS for each value, and whenever that fails the value would look corrupt; let the KMS seal the keyset")
	}
	return int(id), nil
}

// typeName returns the type of a key without the domain that all of Tink's have:
// "HmacPrfKey".
func typeName(key *tinkpb.KeysetInfo_KeyInfo) string {
	return strings.TrimPrefix(key.GetTypeUrl(), "type.googleapis.com/google.crypto.tink.")
}

// one returns what the key of an ID does by itself.
func one[P any](h *keyset.Handle, id uint32, primitive func(*keyset.Handle) (P, error)) (p P, err error) {
	m := keyset.NewManagerFromHandle(h)
	if err := m.SetPrimary(id); err != nil {
		return p, err
	}
	for _, other := range h.KeysetInfo().GetKeyInfo() {
		if other.GetKeyId() == id {
			continue
		}
		if err := m.Delete(other.GetKeyId()); err != nil {
			return p, err
		}
	}
	alone, err := m.Handle()
	if err != nil {
		return p, err
	}
	return primitive(alone)
}

// scopeKeySize is the size of the keys that make fingerprints, in bytes: as much as a
// fingerprint has.
const scopeKeySize = 32

// newPRF returns the PRF of the primary key, if that can make keys.
func newPRF(h *keyset.Handle) (prf.PRF, error) {
	set, err := prf.NewPRFSet(h)
	if err != nil {
		return nil, fmt.Errorf("it is no PRF key: %w", err)
	}
	p := set.PRFs[set.PrimaryID]
	if _, err := p.ComputePRF(nil, scopeKeySize); err != nil {
		return nil, fmt.Errorf("it makes less than %d bytes at a time; take HMAC-SHA-256: %w", scopeKeySize, err)
	}
	return p, nil
}

// newAEAD returns the AEAD of the primary key.
func newAEAD(h *keyset.Handle) (tinkgo.AEAD, error) {
	a, err := aead.New(h)
	if err != nil {
		return nil, fmt.Errorf("it is no AEAD key: %w", err)
	}
	return a, nil
}

// agree returns an error if a version that both have is not the same key.
func (k *keys) agree(next *keys) error {
	for version, before := range k.fingerprints.of {
		after, ok := next.fingerprints.of[version]
		if !ok {
			continue
		}
		want, err := before.ComputePRF(nil, scopeKeySize)
		if err != nil {
			return fmt.Errorf("%s: compare key %d: %w", fingerprintKeyset, version, err)
		}
		if got, err := after.ComputePRF(nil, scopeKeySize); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%s: key %d is another one than before", fingerprintKeyset, version)
		}
	}
	for version, before := range k.seals.of {
		after, ok := next.seals.of[version]
		if !ok {
			continue
		}
		sealed, err := before.Encrypt(nil, nil)
		if err != nil {
			return fmt.Errorf("%s: compare key %d: %w", sealKeyset, version, err)
		}
		if _, err := after.Decrypt(sealed, nil); err != nil {
			return fmt.Errorf("%s: key %d is another one than before", sealKeyset, version)
		}
	}
	return nil
}

package tink

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	tinkgo "github.com/tink-crypto/tink-go/v2/tink"
)

// Generate returns two new keysets of one key each, sealed by a key-encryption key, as
// JSON. The documentation of the package says which keys those are, at Which keys to
// take.
func Generate(kek tinkgo.AEAD) (fingerprints, seals []byte, err error) {
	f, err := keyset.NewHandle(prf.HMACSHA256PRFKeyTemplate())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", fingerprintKeyset, err)
	}
	s, err := keyset.NewHandle(aead.XAES256GCM192BitNonceKeyTemplate())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", sealKeyset, err)
	}
	if fingerprints, err = seal(f, kek, asJSON); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", fingerprintKeyset, err)
	}
	if seals, err = seal(s, kek, asJSON); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", sealKeyset, err)
	}
	return fingerprints, seals, nil
}

// Read returns a keyring of two keysets that are sealed by a key-encryption key: one of
// PRF keys and one of AEAD keys, each in Tink's JSON or binary format. It asks kek twice,
// and wraps its error. A kek that needs a context is for keyset.ReadWithContext and
// [New].
func Read(fingerprints, seals []byte, kek tinkgo.AEAD) (*Keyring, error) {
	f, _, err := unseal(fingerprints, kek)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fingerprintKeyset, err)
	}
	s, _, err := unseal(seals, kek)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sealKeyset, err)
	}
	return New(f, s)
}

// Update changes a sealed keyset, of either kind, and returns it sealed again by the same
// key-encryption key and in the same format.
func Update(sealed []byte, kek tinkgo.AEAD, change func(*keyset.Manager) error) ([]byte, error) {
	h, as, err := unseal(sealed, kek)
	if err != nil {
		return nil, fmt.Errorf("tink: the keyset: %w", err)
	}
	m := keyset.NewManagerFromHandle(h)
	if err := change(m); err != nil {
		return nil, err
	}
	if h, err = m.Handle(); err != nil {
		return nil, fmt.Errorf("tink: the changed keyset: %w", err)
	}
	if sealed, err = seal(h, kek, as); err != nil {
		return nil, fmt.Errorf("tink: the changed keyset: %w", err)
	}
	return sealed, nil
}

// format is one of the two that Tink has for sealed keysets.
type format int

const (
	asJSON format = iota
	asBinary
)

// formatOf tells the formats apart by how they begin: an object, and field 2 of an
// EncryptedKeyset. A binary keyset that is not sealed begins with field 1. It is refused
// here because Tink would take its keys for a ciphertext and send them to the KMS.
func formatOf(sealed []byte) (format, error) {
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(sealed, " \t\r\n"), []byte("{")):
		return asJSON, nil
	case bytes.HasPrefix(sealed, []byte{2<<3 | 2}):
		return asBinary, nil
	}
	return 0, errFormat
}

var (
	errNoKEK  = errors.New("it needs a key-encryption key")
	errFormat = errors.New("it is no sealed keyset in Tink's JSON or binary format")
)

func seal(h *keyset.Handle, kek tinkgo.AEAD, as format) ([]byte, error) {
	if kek == nil {
		return nil, errNoKEK
	}
	var sealed bytes.Buffer
	var w keyset.Writer = keyset.NewBinaryWriter(&sealed)
	if as == asJSON {
		w = keyset.NewJSONWriter(&sealed)
	}
	call := kekCall{AEAD: kek}
	if err := h.Write(w, &call); err != nil {
		return nil, call.explain(err)
	}
	return sealed.Bytes(), nil
}

func unseal(sealed []byte, kek tinkgo.AEAD) (*keyset.Handle, format, error) {
	if kek == nil {
		return nil, 0, errNoKEK
	}
	as, err := formatOf(sealed)
	if err != nil {
		return nil, 0, err
	}
	var r keyset.Reader = keyset.NewBinaryReader(bytes.NewReader(sealed))
	if as == asJSON {
		r = keyset.NewJSONReader(bytes.NewReader(sealed))
	}
	call := kekCall{AEAD: kek}
	h, err := keyset.Read(r, &call)
	if err != nil && !call.made {
		return nil, 0, errFormat // Tink's error may quote what it could not read, such as a keyset that is not sealed
	}
	return h, as, call.explain(err)
}

// kekCall remembers how the call of a key-encryption key ended, which Tink's errors only
// have as text.
type kekCall struct {
	tinkgo.AEAD
	made bool
	err  error
}

// Encrypt implements [tinkgo.AEAD].
func (c *kekCall) Encrypt(plaintext, associatedData []byte) ([]byte, error) {
	ciphertext, err := c.AEAD.Encrypt(plaintext, associatedData)
	c.made, c.err = true, err
	return ciphertext, err
}

// Decrypt implements [tinkgo.AEAD].
func (c *kekCall) Decrypt(ciphertext, associatedData []byte) ([]byte, error) {
	plaintext, err := c.AEAD.Decrypt(ciphertext, associatedData)
	c.made, c.err = true, err
	return plaintext, err
}

// explain returns what made Tink fail with err.
func (c *kekCall) explain(err error) error {
	if c.err != nil {
		return fmt.Errorf("the key-encryption key failed: %w", c.err)
	}
	return err
}

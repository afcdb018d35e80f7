// Package secret issues, digests and compares the random credentials of the domain
// packages: API keys, client secrets, access tokens. A secret is shown once; only its
// digest is kept. It has 256 random bits, so a plain SHA-256 is enough: there is no
// dictionary to try (NIST SP 800-63B section 5.1.2 allows this for look-up secrets of 112
// bits and more).
package secret

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
)

// MinImported is the least length, in bytes, of a secret that was made elsewhere.
const MinImported = 32

// MaxLength bounds what is accepted as a secret, in bytes, before it is digested.
const MaxLength = 1024

// minDifferent is how many different bytes a secret that was made elsewhere must have. Of
// secrets of 32 random hexadecimal digits, one in 10,000 has fewer; of those with 64 such
// digits, or with 32 random letters and digits, practically none.
const minDifferent = 10

// ImportProblem says what is wrong with a secret that was made elsewhere, "" if nothing
// is. It cannot tell that a secret is random, only that some are not.
func ImportProblem(text string) string {
	if len(text) < MinImported || len(text) > MaxLength {
		return fmt.Sprintf("must be %d to %d bytes long", MinImported, MaxLength)
	}
	var seen [256]bool
	different := 0
	for _, b := range []byte(text) {
		if !seen[b] {
			seen[b] = true
			different++
		}
	}
	if different < minDifferent {
		return fmt.Sprintf("must be random: it has fewer than %d different characters", minDifferent)
	}
	return ""
}

// Digest is what is kept of a secret: its SHA-256.
type Digest = [sha256.Size]byte

// Issue returns a new secret: the prefix and 256 bits from random as 64 hexadecimal
// digits.
func Issue(random io.Reader, prefix string) (string, error) {
	var b [32]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return prefix + hex.EncodeToString(b[:]), nil
}

// Sum returns the digest of a secret.
func Sum(text string) Digest {
	if len(text) <= 128 {
		var b [128]byte // keeps the copy off the heap for secrets of an ordinary length
		return sha256.Sum256(b[:copy(b[:], text)])
	}
	return sha256.Sum256([]byte(text))
}

// Equal compares digests in constant time.
func Equal(a, b Digest) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

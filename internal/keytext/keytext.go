// Package keytext reads keys of 32 bytes as people keep them: hex or base64, in a
// variable or in a file.
package keytext

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
)

// Size is the size of a key, in bytes.
const Size = 32

// What a key must be. The messages of this package go on after the name of a key ("the
// root key of KEY" "must be ..."). Neither they nor any that wraps them hold a key.
var (
	ErrSize = fmt.Errorf("must be %d random bytes", Size)
	ErrText = fmt.Errorf("must be written as %d bytes in hex (%d digits) or base64, as openssl rand -hex %[1]d prints them", Size, 2*Size)
	ErrZero = errors.New("must not be zeros only")
)

// New returns a key of exactly 32 bytes.
func New(key []byte) ([Size]byte, error) {
	if len(key) != Size {
		return [Size]byte{}, fmt.Errorf("%w, not %d", ErrSize, len(key))
	}
	if [Size]byte(key) == ([Size]byte{}) {
		return [Size]byte{}, ErrZero
	}
	return [Size]byte(key), nil
}

// Parse reads a key that is written as hex or base64 (RFC 4648, either alphabet, padded
// or not), with white space around it.
func Parse(text string) ([Size]byte, error) {
	text = strings.TrimSpace(text)
	key, err := hex.DecodeString(text)
	if err != nil {
		if key, err = decodeBase64(text); err != nil {
			return [Size]byte{}, ErrText
		}
	}
	if len(key) != Size {
		return [Size]byte{}, fmt.Errorf("%w; this one has %d bytes", ErrText, len(key))
	}
	return New(key)
}

func decodeBase64(text string) ([]byte, error) {
	// Package base64 skips line breaks, which are no part of a key.
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return nil, ErrText
	}
	encoding := base64.StdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.URLEncoding
	}
	if !strings.HasSuffix(text, "=") {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	return encoding.Strict().DecodeString(text)
}

// maxFile bounds what is read of a key file, in bytes. Whoever names another file by
// mistake need not wait for all of it.
const maxFile = 4096

// FromFile reads a key from a file, as Parse does.
func FromFile(path string) ([Size]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return [Size]byte{}, fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return [Size]byte{}, fmt.Errorf("cannot be read: %w", err)
	}
	if len(text) > maxFile {
		return [Size]byte{}, ErrText
	}
	return Parse(string(text))
}

// FromEnv reads a key from an environment variable, as Parse does.
func FromEnv(name string) ([Size]byte, error) {
	text, ok := os.LookupEnv(name)
	if !ok {
		return [Size]byte{}, errors.New("is not in the environment: set it to the key, 32 random bytes as openssl rand -hex 32 prints them")
	}
	return Parse(text)
}

// Predictable reports whether a key cannot be random: it has few different bytes, or each
// byte is the one before plus the same number.
func Predictable(key [Size]byte) bool {
	different := make(map[byte]bool)
	steps := make(map[byte]bool)
	for i, b := range key {
		different[b] = true
		if i > 0 {
			steps[b-key[i-1]] = true
		}
	}
	return len(different) < 10 || len(steps) == 1
}

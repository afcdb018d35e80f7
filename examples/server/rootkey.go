package main

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"unicode"
)

// rootKey is what all other keys of the program are derived from. It prints as
// [redacted].
type rootKey [32]byte

// The purposes of derived keys. Each must be given out once: two keys of the same purpose
// are the same key.
const (
	purposeInvitations = "mortise invitation key v1"
	purposeVault       = "mortise vault key v1"
)

// derive returns the key for a purpose: HKDF-SHA-256 (RFC 5869) of the root key, without
// salt.
func (k *rootKey) derive(purpose string) ([32]byte, error) {
	key, err := hkdf.Key(sha256.New, k[:], nil, purpose, 32)
	if err != nil {
		return [32]byte{}, fmt.Errorf("derive a key: %w", err)
	}
	return [32]byte(key), nil
}

// Format and LogValue keep the key out of messages and logs, through every verb.
func (rootKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }
func (rootKey) LogValue() slog.Value       { return slog.StringValue("[redacted]") }

// newRootKey returns a random key.
func newRootKey() (k rootKey) {
	_, _ = rand.Read(k[:]) // never fails
	return k
}

var (
	errKeyText = errors.New("must hold 32 bytes as hex (64 digits) or base64, as openssl rand -hex 32 prints them")
	errKeyZero = errors.New("holds a key of zeros only")
)

// parseRootKey reads a key as hex or base64, with white space around it. Its errors say
// how long it is at most.
func parseRootKey(text string) (rootKey, error) {
	text = strings.TrimSpace(text)
	raw, err := hex.DecodeString(text)
	if err != nil {
		raw, err = decodeBase64(text)
	}
	switch {
	case err != nil:
		return rootKey{}, errKeyText
	case len(raw) != len(rootKey{}):
		return rootKey{}, fmt.Errorf("holds %d bytes: %w", len(raw), errKeyText)
	case rootKey(raw) == rootKey{}:
		return rootKey{}, errKeyZero
	}
	return rootKey(raw), nil
}

// decodeBase64 reads both alphabets of base64, padded or not. Package base64 skips line
// breaks, which are no part of a key.
func decodeBase64(text string) ([]byte, error) {
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return nil, errKeyText
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

// maxKeyFile bounds what is read of a key file, in bytes. Whoever names another file by
// mistake need not wait for all of it.
const maxKeyFile = 4096

// readKeyFile reads a root key from a file. It returns the file's mode if others than its
// owner can read it, else 0.
func readKeyFile(path string) (key rootKey, exposed fs.FileMode, err error) {
	text, exposed, err := readFile(path, maxKeyFile)
	if errors.Is(err, errTooLarge) {
		err = fmt.Errorf("%s: %w", path, errKeyText)
	}
	if err != nil {
		return rootKey{}, 0, err
	}
	if key, err = parseRootKey(string(text)); err != nil {
		return rootKey{}, 0, fmt.Errorf("%s: %w", path, err)
	}
	return key, exposed, nil
}

// errTooLarge is what readBounded says of a file that has more than it may.
var errTooLarge = errors.New("the file is too large")

// readFile is readBounded of a file by its name.
func readFile(path string, most int64) (data []byte, exposed fs.FileMode, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return readBounded(f, most)
}

// readBounded reads a whole file, of so many bytes at most, and closes it. It returns the
// file's mode if others than its owner can read it, else 0.
func readBounded(f *os.File, most int64) (data []byte, exposed fs.FileMode, err error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%w: it may have %d bytes", errTooLarge, most)
	}
	return data, exposedMode(info), err
}

// exposedMode is the mode of a file that others than its owner can read or write, else 0.
// A pipe's says nothing.
func exposedMode(info fs.FileInfo) fs.FileMode {
	if mode := info.Mode(); mode.IsRegular() && runtime.GOOS != "windows" && mode.Perm()&0o077 != 0 {
		return mode.Perm()
	}
	return 0
}

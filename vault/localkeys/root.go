package localkeys

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"unicode"
)

// RootSize is the size of a root key, in bytes.
const RootSize = 32

// Root is a root key. It prints as [redacted] through every verb, as JSON and in logs, also as a field of something else. The zero value is no
// key, and is refused everywhere.
type Root struct {
	// A function, because fmt does not call the methods of unexported fields. (It follows a pointer, given a verb that does not fit.)
	bytes func() *[RootSize]byte
}

// What a root key must be. Neither error, nor any that wraps one, holds the key.
var (
	errSize = fmt.Errorf("localkeys: a root key must be %d random bytes", RootSize)
	errText = fmt.Errorf("localkeys: a root key must be written as %d bytes in hex (%d digits) or base64, as openssl rand -hex %[1]d prints them", RootSize, 2*RootSize)
	errZero = errors.New("localkeys: the root key is zeros only")
)

// NewRoot returns a root key of exactly 32 bytes, which it copies.
func NewRoot(key []byte) (Root, error) {
	if len(key) != RootSize {
		return Root{}, fmt.Errorf("%w, not %d", errSize, len(key))
	}
	bytes := [RootSize]byte(key)
	if bytes == ([RootSize]byte{}) {
		return Root{}, errZero
	}
	return Root{func() *[RootSize]byte { return &bytes }}, nil
}

// ParseRoot reads a root key that is written as hex or base64 (RFC 4648, either alphabet, padded or not), with white space around it.
func ParseRoot(text string) (Root, error) {
	text = strings.TrimSpace(text)
	key, err := hex.DecodeString(text)
	if err != nil {
		if key, err = decodeBase64(text); err != nil {
			return Root{}, errText
		}
	}
	if len(key) != RootSize {
		return Root{}, fmt.Errorf("%w; this one has %d bytes", errText, len(key))
	}
	return NewRoot(key)
}

func decodeBase64(text string) ([]byte, error) {
	if strings.ContainsFunc(text, unicode.IsSpace) { // package base64 skips line breaks, which are no part of a key
		return nil, errText
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

// RootFromEnv reads a root key from an environment variable, as [ParseRoot] does.
func RootFromEnv(name string) (Root, error) {
	text, ok := os.LookupEnv(name)
	if !ok {
		return Root{}, fmt.Errorf("localkeys: the environment has no %s", name)
	}
	root, err := ParseRoot(text)
	if err != nil {
		return Root{}, fmt.Errorf("%s: %w", name, err)
	}
	return root, nil
}

// maxFile bounds what is read of a key file, in bytes. Whoever names another file by mistake need not wait for all of it.
const maxFile = 4096

// RootFromFile reads a root key from a file, as [ParseRoot] does.
func RootFromFile(path string) (Root, error) {
	f, err := os.Open(path)
	if err != nil {
		return Root{}, fmt.Errorf("localkeys: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Root{}, fmt.Errorf("localkeys: %w", err)
	}
	if len(text) > maxFile {
		return Root{}, fmt.Errorf("%s: %w", path, errText)
	}
	root, err := ParseRoot(string(text))
	if err != nil {
		return Root{}, fmt.Errorf("%s: %w", path, err)
	}
	return root, nil
}

const redacted = "[redacted]"

// String, Format, MarshalText and LogValue keep the key out of messages, JSON and logs.
func (Root) String() string               { return redacted }
func (Root) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (Root) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Root) LogValue() slog.Value         { return slog.StringValue(redacted) }

package localkeys

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/seed-6363c74e/mortise/internal/keytext"
)

// RootSize is the size of a root key, in bytes.
const RootSize = keytext.Size

// Root is a root key. It prints as [redacted] through every verb, as JSON and in logs,
// also as a field of something else. The zero value is no key, and is refused everywhere.
type Root struct {
	// A function, because fmt does not call the methods of unexported fields. (It follows
	// a pointer, given a verb that does not fit.)
	bytes func() *[RootSize]byte
}

// NewRoot returns a root key of exactly 32 bytes, which it copies.
func NewRoot(key []byte) (Root, error) {
	bytes, err := keytext.New(key)
	if err != nil {
		return Root{}, fmt.Errorf("localkeys: a root key %w", err)
	}
	return newRoot(bytes), nil
}

func newRoot(bytes [RootSize]byte) Root { return Root{func() *[RootSize]byte { return &bytes }} }

// ParseRoot reads a root key that is written as hex or base64 (RFC 4648, either alphabet,
// padded or not), with white space around it.
func ParseRoot(text string) (Root, error) {
	bytes, err := keytext.Parse(text)
	if err != nil {
		return Root{}, fmt.Errorf("localkeys: a root key %w", err)
	}
	return newRoot(bytes), nil
}

// RootFromEnv reads a root key from an environment variable, as [ParseRoot] does.
func RootFromEnv(name string) (Root, error) {
	bytes, err := keytext.FromEnv(name)
	if err != nil {
		return Root{}, fmt.Errorf("localkeys: the root key of %s %w", name, err)
	}
	return newRoot(bytes), nil
}

// RootFromFile reads a root key from a file, as [ParseRoot] does.
func RootFromFile(path string) (Root, error) {
	bytes, err := keytext.FromFile(path)
	if err != nil {
		return Root{}, fmt.Errorf("localkeys: the root key of %s %w", path, err)
	}
	return newRoot(bytes), nil
}

const redacted = "[redacted]"

// String, Format, MarshalText and LogValue keep the key out of messages, JSON and logs.
func (Root) String() string               { return redacted }
func (Root) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (Root) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Root) LogValue() slog.Value         { return slog.StringValue(redacted) }

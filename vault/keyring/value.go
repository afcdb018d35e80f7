package keyring

import (
	"fmt"
	"log/slog"
)

// Value is a sensitive text on its way through the service: any bytes, kept exactly as
// they are. It prints as [redacted] through every verb, as JSON and in logs, also as a
// field of something else. Two Values are compared by what Reveal returns, not by ==.
type Value struct {
	// A pointer, because fmt does not call the methods of unexported fields, and shows its
	// address.
	text *string
}

// NewValue returns a Value.
func NewValue(text string) Value { return Value{&text} }

// Values makes Values of many texts at once. It keeps the slice; its elements must not
// change any more.
func Values(texts []string) []Value {
	values := make([]Value, len(texts))
	for i := range texts {
		values[i].text = &texts[i]
	}
	return values
}

// Reveal returns the text itself, "" for the zero Value.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// IsZero reports whether v is no value at all, not even an empty one.
func (v Value) IsZero() bool { return v.text == nil }

const redactedText = "[redacted]"

// String, Format, MarshalText and LogValue keep the text out of messages, JSON and logs.
func (Value) String() string               { return redactedText }
func (Value) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(redactedText)) }
func (Value) MarshalText() ([]byte, error) { return []byte(redactedText), nil }
func (Value) LogValue() slog.Value         { return slog.StringValue(redactedText) }

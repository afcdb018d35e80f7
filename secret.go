package mortise

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a text that was made just now and is shown once: an API key, a client's
// secret, an access token, the link of an invitation. All domains return such a text as a
// Secret, after the record of what was made. What a caller hands in, such as a token that
// came in a header, is a string: the caller has it as one already.
//
// It prints as [redacted] through every verb of package fmt, in logs, as JSON and as
// other text, also as a part of something else, and cannot be read back from that. Reveal
// it where it is handed over, and nowhere before. The zero value is not a secret.
//
// Two Secrets cannot be compared, by == or by reflect.DeepEqual: neither takes the same
// time for every guess. To check what somebody sends, ask the service that made the
// secret. It compares digests.
type Secret struct {
	// A function, because fmt does not call the methods of unexported fields, and what
	// prints by reflection follows pointers.
	text func() string
}

// NewSecret returns a Secret. The empty text gives the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{func() string { return text }}
}

// Reveal returns the text itself, "" for the zero Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return s.text()
}

// IsZero reports whether s is the zero value, which is not a secret.
func (s Secret) IsZero() bool { return s.text == nil }

// The zero Secret prints the same, so that what is printed does not tell.
const redacted = "[redacted]"

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// Format writes [redacted], whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText returns [redacted], for JSON, XML and what else asks for text.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns [redacted].
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

package format_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/format"
)

func TestFormatsCheckTheirDomain(t *testing.T) {
	for _, domain := range []string{"no domain", "a..b", "@", "a.example\r\n", strings.Repeat("a.", 150) + "a"} {
		formats := &format.Standard{EmailDomain: domain}
		require.Error(t, formats.CheckFormat("email"), domain)
		require.NoError(t, formats.CheckFormat("email:a.example"))
		_, err := tokenOf(t, formats, "email", "ada@example.com")
		require.Error(t, err)
	}
}

// always is a source that returns one byte for ever.
type always byte

func (a always) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(a)
	}
	return len(p), nil
}

// A source that is not random is an error, not a call without end.
func TestRandomnessThatIsNone(t *testing.T) {
	for value, random := range map[string]io.Reader{"123456": always(0xff), "000000": always(0)} {
		_, err := tokenOf(t, &format.Standard{Rand: random}, "digits", value)
		require.Error(t, err)
		require.False(t, errors.Is(err, format.ErrMismatch))
	}
}

package printed_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/printed"
)

const text = "a text that nobody sees"

// Each leaks in one way only.
type (
	plain      struct{ text string }
	byVerb     struct{}
	toLogs     struct{ hidden func() string }
	asJSON     struct{ hidden func() string }
	byPointer  struct{ hidden func() string }
	unexported struct{ text string }
)

func (byVerb) Format(f fmt.State, verb rune) {
	if verb == 'x' {
		fmt.Fprintf(f, "%x", text)
	}
}
func (byVerb) MarshalText() ([]byte, error) { return nil, nil }
func (byVerb) LogValue() slog.Value         { return slog.IntValue(0) }

func (toLogs) Format(fmt.State, rune)       {}
func (toLogs) MarshalText() ([]byte, error) { return nil, nil }
func (v toLogs) LogValue() slog.Value       { return slog.StringValue(v.hidden()) }

func (asJSON) Format(fmt.State, rune)         {}
func (v asJSON) MarshalText() ([]byte, error) { return []byte(v.hidden()), nil }
func (asJSON) LogValue() slog.Value           { return slog.IntValue(0) }

func (v *byPointer) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.hidden()) }
func (byPointer) MarshalText() ([]byte, error)  { return nil, nil }

func (unexported) Format(fmt.State, rune)       {}
func (unexported) MarshalText() ([]byte, error) { return nil, nil }
func (unexported) LogValue() slog.Value         { return slog.IntValue(0) }

// What is seen in one way only is found, and so is each spelling.
func TestWaysAndFoundHaveTeeth(t *testing.T) {
	show := func() string { return text }
	seen := func(out string, err error) bool {
		require.NoError(t, err)
		return len(printed.Found(out, text)) > 0
	}
	require.True(t, seen(printed.Ways(text)))
	require.True(t, seen(printed.Ways(plain{text})))
	require.True(t, seen(printed.Ways(byVerb{})), "%x")
	require.True(t, seen(printed.Ways(toLogs{show})))
	require.True(t, seen(printed.Ways(asJSON{show})))
	require.True(t, seen(printed.Ways(byPointer{show})))
	require.True(t, seen(printed.Ways(unexported{text})), "in a field that fmt calls no methods of")
	require.False(t, seen(printed.Ways(struct{ hidden func() string }{show})))

	encoded, err := json.Marshal([]byte("before " + text + " after"))
	require.NoError(t, err)
	for _, out := range []string{
		"x" + text + "y", fmt.Sprintf("%X", text), fmt.Sprintf("%v", []byte(text)), fmt.Sprintf("% x", text), fmt.Sprintf("%#v", []byte(text)),
		string(encoded), base64.StdEncoding.EncodeToString([]byte(text)),
		base64.StdEncoding.EncodeToString([]byte("1" + text)), base64.StdEncoding.EncodeToString([]byte("12" + text + "123")),
	} {
		require.NotEmpty(t, printed.Found(out, text), out)
	}
	require.Empty(t, printed.Found("another text that nobody", text))
}

package tracetext_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/tracetext"
)

// TestText: databases hold these bytes.
func TestText(t *testing.T) {
	for text, trace := range map[string]map[string]string{
		"": {},
		"traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": {
			"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		},
		"%00=%FF&a+b=c%3D%26d": {"a b": "c=&d", "\x00": "\xff"},
	} {
		require.Equal(t, text, tracetext.Format(trace))
		parsed, err := tracetext.Parse(text)
		require.NoError(t, err)
		require.Equal(t, trace, parsed)
	}
	require.Empty(t, tracetext.Format(nil))
	_, err := tracetext.Parse("%zz")
	require.Error(t, err, "a damaged row")
}

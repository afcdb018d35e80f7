package audiosearch_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestClassOrder: the indices are AudioSet's, so that the outputs of models can be told apart.
func TestClassOrder(t *testing.T) {
	for index, name := range map[audiosearch.Class]string{
		0: "Speech", 1: "Male speech, man speaking", 74: "Dog", 137: "Music", 388: "Alarm", 396: "Siren", 500: "Silence", 501: "Sine wave",
		503: "Chirp tone", 505: "Pulse", 520: "White noise", 526: "Field recording",
	} {
		c, err := audiosearch.ParseClass(name)
		require.NoError(t, err, name)
		assert.Equal(t, index, c, name)
		assert.Equal(t, name, index.String())
	}
}

func TestClassNames(t *testing.T) {
	all := audiosearch.Classes()
	require.Len(t, all, audiosearch.NumClasses)
	seen := make(map[string]bool)
	for _, c := range all {
		assert.False(t, seen[c.String()], c)
		seen[c.String()] = true
		text, err := json.Marshal(c)
		require.NoError(t, err)
		var back audiosearch.Class
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, c, back)
	}
	for _, name := range []string{"", "speech", "Speech ", "Dial Tone", "\x00", "Zzz"} {
		_, err := audiosearch.ParseClass(name)
		require.ErrorIs(t, err, audiosearch.ErrUnknownClass, name)
		require.EqualError(t, err, fmt.Sprintf("audiosearch: no such sound class: %q", name))
	}
	_, err := json.Marshal(audiosearch.Class(audiosearch.NumClasses))
	require.ErrorIs(t, err, audiosearch.ErrUnknownClass)
	assert.Equal(t, "Class(527)", audiosearch.Class(527).String())
	require.ErrorIs(t, json.Unmarshal([]byte(`"Dogs"`), new(audiosearch.Class)), audiosearch.ErrUnknownClass)
}

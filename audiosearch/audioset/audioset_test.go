package audioset_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestOrder: the indices are AudioSet's, so that the outputs of models can be told apart.
func TestOrder(t *testing.T) {
	all := audioset.Classes()
	for index, name := range map[int]sound.Class{
		0: "Speech", 1: "Male speech, man speaking", 74: "Dog", 137: "Music", 388: "Alarm",
		396: "Siren", 500: "Silence", 501: "Sine wave", 503: "Chirp tone", 505: "Pulse",
		520: "White noise", 526: "Field recording",
	} {
		found, ok := audioset.Index(name)
		require.True(t, ok, name)
		assert.Equal(t, index, found, name)
		assert.Equal(t, name, all[index])
	}
}

func TestClasses(t *testing.T) {
	all := audioset.Classes()
	require.Len(t, all, audioset.NumClasses)
	seen := make(map[sound.Class]bool)
	for i, c := range all {
		assert.True(t, c.Valid(), c)
		assert.False(t, seen[c], c)
		seen[c] = true
		index, ok := audioset.Index(c)
		assert.True(t, ok, c)
		assert.Equal(t, i, index, c)
	}
	all[0] = "changed"
	assert.Equal(t, sound.Class("Speech"), audioset.Classes()[0], "a copy each")
	for _, name := range []sound.Class{"", "speech", "Speech ", "Dial Tone", "\x00", "Zzz"} {
		_, ok := audioset.Index(name)
		assert.False(t, ok, name)
	}
}

// A class is its name. The index is for those who read the output of a model.
func Example() {
	index, ok := audioset.Index("Dial tone")
	fmt.Println(len(audioset.Classes()), index, ok)
	// Output: 527 393 true
}

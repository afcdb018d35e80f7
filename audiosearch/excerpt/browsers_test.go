package excerpt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/excerpt"
)

// TestMediaType: nothing but sounds and videos is served as what its name says.
func TestMediaType(t *testing.T) {
	for file, want := range map[string]string{
		"a/b.MP4": "video/mp4", "a.opus": "audio/ogg", "a.wav": "audio/wav", "page.html": "application/octet-stream",
		"image.svg": "application/octet-stream", "none": "application/octet-stream",
	} {
		require.Equal(t, want, excerpt.MediaType(file), file)
	}
	require.True(t, excerpt.Unplayed("old/clip.AVI"))
	require.False(t, excerpt.Unplayed("clip.mp4"))
}

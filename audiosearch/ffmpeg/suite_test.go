package ffmpeg

import (
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestMediaRules: the contract of a media, by the suite.
func TestMediaRules(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	audiosearchtest.RunMedia(t, func(t *testing.T) sound.Media {
		return newMedia(t, nil)
	})
}

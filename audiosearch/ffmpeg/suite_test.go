package ffmpeg

import (
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
)

// TestMediaRules: the contract of a media, by the suite.
func TestMediaRules(t *testing.T) {
	needFFmpeg(t)
	audiosearchtest.RunMedia(t, func(t *testing.T) audiosearch.Media { return newAsking(t, nil) })
}

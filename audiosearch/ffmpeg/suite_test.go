package ffmpeg

import (
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/effort"
)

// TestMediaRules: the contract of a media, by the suite. Some rules start the programs for
// many files, of which other tests have the like.
func TestMediaRules(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	audiosearchtest.RunMedia(t, func(t *testing.T) sound.Media {
		for rule, instead := range map[string]string{
			"media/average-of-channels": "TestAgreesWithWAV",
			"media/resamples":           "TestAgreesWithWAV",
			"media/broken-files":        "TestNoMedia",
			"media/no-sound":            "TestNoMedia",
			"media/cut":                 "TestCut",
		} {
			if strings.HasSuffix(t.Name(), rule) {
				effort.InCI(t, instead)
			}
		}
		return newMedia(t, nil)
	})
}

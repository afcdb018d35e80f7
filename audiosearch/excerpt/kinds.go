package excerpt

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/spectrogram"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// Pictures are of keyframes of videos, of so many pixels in width. There is one for the
// time of each keyframe, and the second time means nothing. of makes it of a file, as
// ffmpeg.Media.Picture does.
func Pictures(of func(ctx context.Context, file string, at time.Duration, width int) ([]byte, error), width int) Kind {
	return Kind{Has: hasKeyframe, Make: func(ctx context.Context, file string, at, _ time.Duration) ([]byte, error) {
		return of(ctx, file, at, width)
	}}
}

// Browsers do not play all that can be searched. For what they do not play there is the
// sound of a place, as WAV.
const (
	soundLength = 30 * time.Second
	soundRate   = 24000            // Hz
	soundLimit  = 30 * time.Second // for the decoding of all that is before the place
)

// Sounds are WAV files of one channel at 24 kHz, of 30 seconds at most. There is one
// from the start of each segment on, and the second time means nothing. Media may read
// all before the segment, for which it has 30 seconds.
func Sounds(media sound.Media) Kind {
	return Kind{Has: beginsSegment, Make: func(ctx context.Context, file string, at, _ time.Duration) ([]byte, error) {
		part, err := samples(ctx, media, file, soundRate, at, at+soundLength)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = wav.Encode(&b, soundRate, part)
		return b.Bytes(), err
	}}
}

// What the picture of a sound shows.
const (
	drawnMost   = 60 * time.Second // of a segment
	drawnAround = 5 * time.Second  // before and after it, at most
)

// Spectrograms are pictures of segments, as PNG, with a little of what is before and
// after them. See package spectrogram. There is one from the start to the end of each
// segment, which shows its first minute.
func Spectrograms(media sound.Media) Kind {
	return Kind{Has: isSegment, Make: func(ctx context.Context, file string, at, to time.Duration) ([]byte, error) {
		to = min(to, at+drawnMost)
		around := min(max((to-at)/4, time.Second/2), drawnAround)
		first := max(at-around, 0)
		part, err := samples(ctx, media, file, spectrogram.Rate, first, to+around)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = png.Encode(&b, spectrogram.Draw(part, at-first, to-first))
		return b.Bytes(), err
	}}
}

// samples decodes a part of the sound of a file. The sound may end before the part does.
func samples(
	ctx context.Context, media sound.Media, file string, rate int, from, to time.Duration,
) (part []float32, err error) {
	ctx, cancel := context.WithTimeout(ctx, soundLimit)
	defer cancel()
	skip, length := int(from.Seconds()*float64(rate)), int((to-from).Seconds()*float64(rate))
	for block, err := range media.PCM(ctx, file, rate) {
		if errors.Is(err, sound.ErrIncomplete) {
			break // what is there counts
		}
		if err != nil {
			return nil, err
		}
		skipped := min(skip, len(block))
		skip -= skipped
		part = append(part, block[skipped:]...)
		if len(part) >= length {
			part = part[:length]
			break
		}
	}
	if len(part) == 0 {
		return nil, errors.New("the sound ends before")
	}
	return part, nil
}

func hasKeyframe(scoring *audiosearch.Scoring, at, _ time.Duration) bool {
	_, isKeyframe := slices.BinarySearch(scoring.Keyframes, at)
	return scoring.HasVideo && isKeyframe
}

// beginsSegment reports whether a segment begins at that time.
func beginsSegment(scoring *audiosearch.Scoring, at, _ time.Duration) bool {
	i := segmentAt(scoring, at)
	start, _ := scoring.Span(int(i))
	return i >= 0 && start == at
}

// isSegment reports whether a segment begins and ends at those times.
func isSegment(scoring *audiosearch.Scoring, at, to time.Duration) bool {
	_, end := scoring.Span(int(segmentAt(scoring, at)))
	return beginsSegment(scoring, at, to) && end == to
}

// segmentAt is the segment that begins at a time, if any does: as near as the rounding to
// milliseconds leaves it. -1 is none.
func segmentAt(scoring *audiosearch.Scoring, at time.Duration) time.Duration {
	if at < 0 || scoring.Hop <= 0 {
		return -1
	}
	if i := (at + scoring.Hop/2) / scoring.Hop; i < time.Duration(scoring.Windows) {
		return i
	}
	return -1
}

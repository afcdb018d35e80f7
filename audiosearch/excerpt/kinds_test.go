package excerpt

import (
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestSegmentStarts: a sound can be had from the start of each segment on, and from
// nowhere else.
func TestSegmentStarts(t *testing.T) {
	s := audiosearch.Scoring{Windows: 4, Window: time.Second, Hop: time.Second / 3, Duration: 2 * time.Second}
	for ms, want := range map[int]bool{0: true, 333: true, 667: true, 1000: true, -333: false, 1: false, 334: false, 666: false, 1333: false, 99_000: false} {
		if got := beginsSegment(&s, time.Duration(ms)*time.Millisecond, 0); got != want {
			t.Errorf("%d: %v", ms, got)
		}
	}
	if beginsSegment(new(audiosearch.Scoring), 0, 0) {
		t.Error("a video without scores has a segment")
	}
}

// TestSegmentsEnd: the last segment may be shorter than a window.
func TestSegmentsEnd(t *testing.T) {
	s := audiosearch.Scoring{Windows: 2, Window: 10 * time.Second, Hop: 2 * time.Second, Duration: 11 * time.Second}
	for _, test := range []struct {
		at, to time.Duration
		want   bool
	}{{0, 10, true}, {2, 11, true}, {2, 12, false}, {0, 11, false}, {0, 0, false}, {4, 11, false}} {
		if got := isSegment(&s, test.at*time.Second, test.to*time.Second); got != test.want {
			t.Errorf("%v to %v: %v", test.at, test.to, got)
		}
	}
}

package main

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/excerpt"
)

// TestRunInWords: what a run that scores says of itself. Nothing is said that nobody knows.
func TestRunInWords(t *testing.T) {
	running := func(done, total int, sound audiosearch.SoundProgress) audiosearch.Run {
		return audiosearch.Run{State: audiosearch.StateRunning, Done: done, Total: total, Sound: sound}
	}
	const hour = time.Hour
	for _, test := range []struct {
		run          audiosearch.Run
		state, sound string
		share        float64 // -1: not known
	}{
		{audiosearch.Run{State: audiosearch.StateQueued}, "The search waits for its turn.", "", -1},
		{running(0, 0, audiosearch.SoundProgress{}), "Searching.", "", -1},
		{running(1, 4, audiosearch.SoundProgress{}), "Searching: 1 of 4 videos are ready.", "", 0.25},
		{running(1, 4, audiosearch.SoundProgress{Done: 90 * time.Second}), "Searching: 1 of 4 videos are ready.", "Listened to 1:30 of sound.", 0.25},
		{running(1, 4, audiosearch.SoundProgress{Done: hour, Total: 10 * hour}), "Searching: 1 of 4 videos are ready.", "Listened to 1:00:00 of about 10:00:00 of sound.", 0.1},
		{running(1, 4, audiosearch.SoundProgress{Done: hour, Total: 10 * hour, Speed: 13.512}), "Searching: 1 of 4 videos are ready.",
			"Listened to 1:00:00 of about 10:00:00 of sound, 13.5 times as fast as it plays; about 39:58 left.", 0.1},
		{running(1, 4, audiosearch.SoundProgress{Done: 11 * hour, Total: 10 * hour, Speed: 1234.4}), "Searching: 1 of 4 videos are ready.",
			"Listened to 11:00:00 of about 10:00:00 of sound, 1234 times as fast as it plays; about 0:00 left.", 1},
		{audiosearch.Run{State: audiosearch.StateQueued, Done: 1, Total: 4, Sound: audiosearch.SoundProgress{Done: hour, Total: 2 * hour, Speed: 5}},
			"The search waits for its turn.", "", 0.5},
	} {
		far, share := farOf(&test.run), -1.0
		if far.Share != nil {
			share = *far.Share
		}
		if far.State != test.state || far.Sound != test.sound || share != test.share || far.Ended {
			t.Errorf("%+v: %+v, %v", test.run, far, share)
		}
	}
}

// TestHeard: what is heard at a place stands beside it, for so many places and no more, and
// nobody waits for an organization that asks for many pages.
func TestHeard(t *testing.T) {
	r := newExcerptRig(t)
	page := r.s.audio.page
	places := make([]excerpt.Stretch, heardPlaces+5)
	for i := range places {
		places[i].Best = audiosearch.Result{VideoID: "v", End: 10 * time.Second}
	}
	places[3].Best.VideoID = "deleted"
	heard := page.heard(t.Context(), "acme", "d", places)
	for i, views := range heard {
		none := i == 3 || i >= heardPlaces
		if (len(views) == 0) != none || len(views) > heardMost {
			t.Errorf("place %d: %v", i, views)
		}
		if !none && (views[0].Class != "Sine wave" || percent(views[0].Score) != 100) {
			t.Errorf("place %d: %v", i, views)
		}
		if !slices.IsSortedFunc(views, func(a, b audiosearch.TopClass) int { return cmp.Compare(b.Score, a.Score) }) {
			t.Errorf("place %d: %v", i, views)
		}
	}
	for range 2 { // as many places as one organization has
		if _, err := page.listening.Take(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if heard = page.heard(ctx, "acme", "d", places); len(heard[0]) > 0 || len(heard) != len(places) {
		t.Errorf("an organization reads for more than two pages at a time")
	}
	if heard = page.heard(t.Context(), "rival", "d", places[:1]); len(heard[0]) == 0 {
		t.Error("and holds up others by that")
	}
}

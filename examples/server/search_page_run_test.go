package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
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
		share := -1.0
		if known := shareOf(&test.run); known != nil {
			share = *known
		}
		if stateInWords(&test.run) != test.state || soundOf(&test.run) != test.sound || share != test.share {
			t.Errorf("%+v: %q, %q, %v", test.run, stateInWords(&test.run), soundOf(&test.run), share)
		}
	}
}

// TestHeard: what is heard at a place stands beside it, for so many places and no more, and
// nobody waits for an organization that asks for many pages.
func TestHeard(t *testing.T) {
	r := newExtractRig(t)
	page := r.s.audio.page
	who := httpadapter.Principal{Organization: "acme", Access: access.Full()}
	places := make([]stretch, heardPlaces+5)
	for i := range places {
		places[i].best = audiosearch.Result{VideoID: "v", End: 10 * time.Second}
	}
	places[3].best.VideoID = "deleted"
	heard := page.heard(t.Context(), who, "d", places)
	for i, views := range heard {
		none := i == 3 || i >= heardPlaces
		if (len(views) == 0) != none || len(views) > heardMost {
			t.Errorf("place %d: %v", i, views)
		}
		if !none && (views[0] != heardView{"Sine wave", 100}) {
			t.Errorf("place %d: %v", i, views)
		}
		if !slices.IsSortedFunc(views, func(a, b heardView) int { return b.Percent - a.Percent }) {
			t.Errorf("place %d: %v", i, views)
		}
	}
	for range ownPlaces {
		if err := page.listening.take(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if heard = page.heard(ctx, who, "d", places); len(heard[0]) > 0 || len(heard) != len(places) {
		t.Errorf("an organization reads for more than %d pages at a time", ownPlaces)
	}
	rival := httpadapter.Principal{Organization: "rival", Access: access.Full()}
	if heard = page.heard(t.Context(), rival, "d", places[:1]); len(heard[0]) == 0 {
		t.Error("and holds up others by that")
	}
}

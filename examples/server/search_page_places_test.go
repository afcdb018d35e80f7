package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// worker takes places for organizations, and notes in which order they get them.
type worker struct {
	t      *testing.T
	places *places

	mu   sync.Mutex
	got  []string
	left []error
}

// begin asks for n places, one after the other. Whoever gets one keeps it.
func (w *worker) begin(ctx context.Context, organization string, n int) {
	w.t.Helper()
	for range n {
		go func() {
			err := w.places.take(ctx, organization)
			w.mu.Lock()
			defer w.mu.Unlock()
			if err != nil {
				w.left = append(w.left, err)
				return
			}
			w.got = append(w.got, organization)
		}()
		synctest.Wait()
	}
}

// end gives places back, and checks who has got one since the beginning.
func (w *worker) end(organization string, got ...string) {
	w.t.Helper()
	w.places.giveBack(organization)
	synctest.Wait()
	if !slices.Equal(w.got, got) {
		w.t.Errorf("got %q, want %q", w.got, got)
	}
}

// TestPlacesInTurn: no organization has all places, and a long line of one does not hold
// up the others.
func TestPlacesInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{t: t, places: newPlaces()}
		ctx := t.Context()
		w.begin(ctx, "a", ownPlaces+5)
		if len(w.got) != ownPlaces || w.places.free != 1 {
			t.Fatalf("got %q, %d free", w.got, w.places.free)
		}
		w.begin(ctx, "b", 3)
		w.begin(ctx, "c", 1)
		first := []string{"a", "a", "b"}
		w.end("a", append(first, "a")...)                // who has waited longest
		w.end("a", append(first, "a", "b")...)           // and then one of each in turn
		w.end("b", append(first, "a", "b", "c")...)      // c was the last to come
		w.end("c", append(first, "a", "b", "c", "a")...) // a is the first again
		// The last of b comes, though three of a still wait.
		w.end("a", append(first, "a", "b", "c", "a", "b")...)
		w.end("b", append(first, "a", "b", "c", "a", "b", "a")...)
		w.end("b", append(first, "a", "b", "c", "a", "b", "a")...) // a has all that it may have
		w.end("a", append(first, "a", "b", "c", "a", "b", "a", "a")...)
		w.end("a", append(first, "a", "b", "c", "a", "b", "a", "a", "a")...)
		w.end("a", w.got...)
		w.end("a", w.got...)
		if p := w.places; p.free != allPlaces || len(p.held)+len(p.waiting)+len(p.turns) > 0 {
			t.Errorf("left: %+v", p)
		}
	})
}

// TestPlacesAreNotWaitedForWithoutEnd: whoever leaves, waits too long or comes to a long
// line has no place, and keeps none.
func TestPlacesAreNotWaitedForWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{t: t, places: newPlaces()}
		w.begin(t.Context(), "a", ownPlaces)
		ctx, leave := context.WithCancel(t.Context())
		w.begin(ctx, "a", ownWaiting)
		w.begin(t.Context(), "a", 1)
		if len(w.left) != 1 || !errors.Is(w.left[0], errCrowded) {
			t.Fatalf("%v", w.left)
		}
		w.begin(t.Context(), "b", 1) // that line is not theirs
		if len(w.got) != ownPlaces+1 {
			t.Fatalf("got %q", w.got)
		}
		leave()
		synctest.Wait()
		if len(w.left) != 1+ownWaiting || !errors.Is(w.left[1], context.Canceled) {
			t.Fatalf("%d left: %v", len(w.left), w.left)
		}
		begun := time.Now()
		w.begin(t.Context(), "a", 1)
		time.Sleep(placeWait)
		synctest.Wait()
		if last := w.left[len(w.left)-1]; !errors.Is(last, errWaited) || time.Since(begun) != placeWait {
			t.Errorf("%v after %v", last, time.Since(begun))
		}
		for _, organization := range []string{"a", "a", "b"} {
			w.end(organization, w.got...)
		}
		if p := w.places; p.free != allPlaces || len(p.held)+len(p.waiting)+len(p.turns) > 0 {
			t.Errorf("left: %+v", p)
		}

		// One that is told to leave when it has just got its place has it, or has not:
		// none is lost.
		for range 100 {
			ctx, leave := context.WithCancel(t.Context())
			w.begin(t.Context(), "a", ownPlaces)
			done := make(chan error)
			go func() { done <- w.places.take(ctx, "a") }()
			synctest.Wait()
			go leave()
			w.places.giveBack("a")
			if err := <-done; err == nil {
				w.places.giveBack("a")
			}
			w.places.giveBack("a")
			if w.places.free != allPlaces {
				t.Fatalf("%d free", w.places.free)
			}
		}
	})
}

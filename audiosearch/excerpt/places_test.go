package excerpt

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
	places *Places

	mu   sync.Mutex
	got  []string
	held map[string][]func() // what gives the places back, by organization
	left []error
}

func newWorker(t *testing.T) *worker {
	return &worker{t: t, places: NewPlaces(), held: make(map[string][]func())}
}

// allFree reports whether nobody has or wants a place.
func allFree(p *Places) bool {
	free := p.all.TryAcquire(allPlaces)
	if free {
		p.all.Release(allPlaces)
	}
	return free && len(p.own) == 0
}

// begin asks for n places, one after the other. Whoever gets one keeps it.
func (w *worker) begin(ctx context.Context, organization string, n int) {
	w.t.Helper()
	for range n {
		go func() {
			giveBack, err := w.places.Take(ctx, organization)
			w.mu.Lock()
			defer w.mu.Unlock()
			if err != nil {
				w.left = append(w.left, err)
				return
			}
			w.got = append(w.got, organization)
			w.held[organization] = append(w.held[organization], giveBack)
		}()
		synctest.Wait()
	}
}

// end gives places back, and checks who has got one since the beginning.
func (w *worker) end(organization string, got ...string) {
	w.t.Helper()
	held := w.held[organization]
	w.held[organization] = held[1:]
	held[0]()
	synctest.Wait()
	if !slices.Equal(w.got, got) {
		w.t.Errorf("got %q, want %q", w.got, got)
	}
}

// TestPlacesInTurn: no organization has all places, and a long line of one does not hold
// up the others.
func TestPlacesInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorker(t)
		ctx := t.Context()
		w.begin(ctx, "a", ownPlaces+5)
		if len(w.got) != ownPlaces {
			t.Fatalf("got %q", w.got)
		}
		w.begin(ctx, "b", 3)
		w.begin(ctx, "c", 1)
		first := []string{"a", "a", "b"}
		w.end("a", append(first, "b")...)                          // though five of a were there before
		w.end("a", append(first, "b", "c")...)                     // and c
		w.end("b", append(first, "b", "c", "a")...)                // and then those of a, of which
		w.end("c", append(first, "b", "c", "a", "a")...)           // no more than two stood in line
		w.end("a", append(first, "b", "c", "a", "a", "b")...)      // before the last of b
		w.end("b", append(first, "b", "c", "a", "a", "b", "a")...) // and a is the last
		all := append(first, "b", "c", "a", "a", "b", "a", "a")
		w.end("a", all...)
		w.end("b", all...) // a has all that it may have
		w.end("a", append(all, "a")...)
		w.end("a", w.got...)
		w.end("a", w.got...)
		if !allFree(w.places) {
			t.Error("somebody has a place")
		}
	})
}

// TestPlacesAreNotWaitedForWithoutEnd: whoever leaves, waits too long or comes to a long
// line has no place, and keeps none.
func TestPlacesAreNotWaitedForWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorker(t)
		w.begin(t.Context(), "a", ownPlaces)
		ctx, leave := context.WithCancel(t.Context())
		w.begin(ctx, "a", ownWaiting)
		w.begin(t.Context(), "a", 1)
		if len(w.left) != 1 || !errors.Is(w.left[0], ErrCrowded) {
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
		if last := w.left[len(w.left)-1]; !errors.Is(last, ErrWaited) || time.Since(begun) != placeWait {
			t.Errorf("%v after %v", last, time.Since(begun))
		}
		for _, organization := range []string{"a", "a", "b"} {
			w.end(organization, w.got...)
		}
		if !allFree(w.places) {
			t.Error("somebody has a place")
		}

		// One that is told to leave when it has just got its place has it, or has not:
		// none is lost.
		for range 100 {
			ctx, leave := context.WithCancel(t.Context())
			w.begin(t.Context(), "a", ownPlaces)
			done := make(chan error, 1)
			go func() {
				giveBack, err := w.places.Take(ctx, "a")
				if err == nil {
					giveBack()
				}
				done <- err
			}()
			synctest.Wait()
			go leave()
			w.end("a", w.got...)
			<-done
			w.end("a", w.got...)
			if !allFree(w.places) {
				t.Fatal("somebody has a place")
			}
		}
	})
}

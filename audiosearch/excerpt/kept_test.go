package excerpt

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestExcerptsKept: the latest are kept, in bounded memory, and each is made once.
func TestExcerptsKept(t *testing.T) {
	p := newKept(defaultKept, NewPlaces())
	made := 0
	image := func(i int, size int) []byte {
		t.Helper()
		image, err := p.get(t.Context(), name{from: time.Duration(i)}, func(context.Context) ([]byte, error) {
			made++
			return make([]byte, size), nil
		})
		if err != nil || len(image) != size {
			t.Fatalf("%d bytes, %v", len(image), err)
		}
		return image
	}
	const size = defaultKept / 4
	for range 3 {
		for i := range 4 {
			image(i, size)
		}
	}
	if made != 4 {
		t.Errorf("%d made, want 4", made)
	}
	image(4, size) // in the place of the first
	image(1, size)
	if image(0, size); made != 6 {
		t.Errorf("%d made, want 6", made)
	}
	image(5, 2*defaultKept) // too large to be kept
	if p.bytes > defaultKept || len(p.order) != len(p.made) {
		t.Errorf("%d bytes, %d of %d kept", p.bytes, len(p.order), len(p.made))
	}
	failure := errors.New("no")
	for range 2 {
		_, err := p.get(t.Context(), name{from: -1}, func(context.Context) ([]byte, error) { made++; return nil, failure })
		if !errors.Is(err, failure) {
			t.Errorf("got %v", err)
		}
	}
	if made != 9 {
		t.Errorf("%d made, want 9: a failure is not kept", made)
	}
}

// TestExcerptsMadeOnce: all who want the same one share its making, which ends when the
// last of them leaves.
func TestExcerptsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newKept(defaultKept, NewPlaces())
		key := name{organization: "acme"}
		begun, ended := 0, 0
		hang := func(ctx context.Context) ([]byte, error) {
			begun++
			<-ctx.Done()
			ended++
			return nil, ctx.Err()
		}
		var leave []context.CancelFunc
		var group sync.WaitGroup
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			leave = append(leave, cancel)
			group.Go(func() {
				if _, err := e.get(ctx, key, hang); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		leave[0]()
		leave[2]()
		synctest.Wait()
		if begun != 1 || ended != 0 {
			t.Fatalf("%d made, %d ended", begun, ended)
		}
		leave[1]()
		group.Wait()
		synctest.Wait()
		if begun != 1 || ended != 1 || len(e.made) != 0 || !allFree(e.places) {
			t.Errorf("%d made, %d ended, %d being made, all places free: %v", begun, ended, len(e.made), allFree(e.places))
		}
		// What was abandoned is no answer for the next one.
		content, err := e.get(t.Context(), key, func(context.Context) ([]byte, error) { return []byte("x"), nil })
		if string(content) != "x" || err != nil {
			t.Errorf("%q, %v", content, err)
		}
		// One that is there already is kept, though the last who waits for it leaves before
		// they are told.
		there := &made{cancel: func() {}, done: make(chan struct{})}
		key = name{organization: "rival"}
		e.made[key] = there
		e.keep(key, there)
		ctx, cancel := context.WithCancel(t.Context())
		group.Go(func() { _, _ = e.get(ctx, key, hang) })
		synctest.Wait()
		cancel()
		group.Wait()
		if len(e.made) != len(e.order) || e.made[key] != there {
			t.Errorf("%d are there, %d kept", len(e.made), len(e.order))
		}
		_, err = e.get(t.Context(), name{}, func(context.Context) ([]byte, error) { panic("on the way") })
		if err == nil || !strings.Contains(err.Error(), "on the way") || !allFree(e.places) {
			t.Errorf("%v, all places free: %v", err, allFree(e.places))
		}
	})
}

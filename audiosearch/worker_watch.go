package audiosearch

import (
	"context"
	"errors"
	"sync"
	"time"
)

// progress is how far a run is.
type progress struct {
	mu          sync.Mutex
	done, total int
	changed     bool
	sound       hearing
}

func (p *progress) set(done, total int) {
	p.mu.Lock()
	p.done, p.total, p.changed = max(done, p.done), total, true
	p.mu.Unlock()
}

// take returns the progress, and whether it has changed since the last take.
func (p *progress) take() (done, total int, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed, p.changed = p.changed, false
	return p.done, p.total, changed
}

// again makes the next take report a change.
func (p *progress) again() {
	p.mu.Lock()
	p.changed = true
	p.mu.Unlock()
}

// signOfLife is how often a run is touched that makes no progress.
const signOfLife = 10 * time.Second

// soundTurns is in how many turns of a watch the sound is written once that was scored.
const soundTurns = 3

// watch writes how far the attempt is, until ctx ends, and cancels it if somebody has
// asked for that, or another attempt has begun.
func (w *Worker) watch(ctx context.Context, r *Run, far *progress, cancel context.CancelCauseFunc) {
	s := w.service
	ticker := time.NewTicker(w.opts.Watch)
	defer ticker.Stop()
	written, heard := time.Now(), SoundProgress{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		stored, err := s.store.Run(ctx, r.Organization, r.ID)
		switch {
		case errors.Is(err, ErrRunNotFound), err == nil && (stored.State == StateTerminated || stored.Attempts != r.Attempts):
			cancel(errDrop)
			return
		case err == nil && stored.State == StateTerminating:
			cancel(errCancelled)
			return
		}
		sound := SoundProgress(far.sound.Progress(time.Now()))
		if err != nil {
			continue
		}
		done, total, changed := far.take()
		since := time.Since(written)
		if !changed && since < signOfLife && (sound == heard || since < soundTurns*w.opts.Watch) {
			continue
		}
		written, heard = time.Now(), sound
		err = s.update(ctx, r.Organization, r.ID, func(stored *Run) error {
			if stored.State == StateTerminated || stored.Attempts != r.Attempts {
				return errDrop
			}
			stored.Done, stored.Total, stored.Sound = done, total, sound
			stored.alive(latest(s.now(), stored.UpdatedAt))
			return nil
		})
		if err != nil {
			far.again() // the next turn writes it
		}
	}
}

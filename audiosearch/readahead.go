package audiosearch

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/internal/clips"
	"github.com/seed-6363c74e/mortise/internal/watch"
)

// While the scorer has a batch, or the store a part, the file is decoded further, on a
// goroutine of its own. It decodes ahead by as many samples as a batch has, and by
// 4 Mi at most; then it stands still until the scoring takes some of them. What is
// scored, and in which batches, does not depend on who is faster: how the decoding ended
// comes behind the samples before it.
//
// The one whom the scoring waits for is the one who may be blamed: the scorer or the
// store during a call of theirs, and the decoder while there are no samples. The time of
// each counts from where the waiting began. So a decoder that stands still meanwhile,
// because it is far enough ahead or for a reason of its own, has all of Options.Stall
// when the scorer is done; and what it decodes meanwhile gives the scorer no more time.

// ahead is a file that is being decoded.
type ahead struct {
	*clips.Queue
	cancel context.CancelFunc // tells the decoder to end
	done   chan struct{}      // closed when it has
	end    decoded            // once done is closed
}

// decoded is how the decoding ended. All nil: at the end of the sound, or before that
// because it was told to.
type decoded struct {
	said error    // by the Media
	bad  *outcome // what is wrong with what it gave
	lost error    // what became of it if it panicked, or ended its goroutine
}

// decodeAhead begins to decode the file.
func (in *ingestion) decodeAhead(ctx context.Context, file string) *ahead {
	ctx, cancel := context.WithCancel(ctx)
	a := &ahead{Queue: clips.NewQueue(&in.model), cancel: cancel, done: make(chan struct{})}
	go func() {
		end := decoded{lost: watch.ErrGoexit}
		defer func() {
			if p := recover(); p != nil {
				end = decoded{lost: in.broke(ctx, mediaHook, p)}
			}
			a.end = end
			close(a.done)
		}()
		end = in.decode(ctx, file, a)
	}()
	return a
}

// decode gives what the file has to a, until ctx ends.
func (in *ingestion) decode(ctx context.Context, file string, a *ahead) decoded {
	s, total := in.service, int64(0)
	for block, err := range s.opts.Media.PCM(ctx, file, in.model.SampleRate) {
		if err != nil {
			return decoded{said: err}
		}
		if !areNumbers(block) {
			return decoded{bad: broken(errors.New("its sound has samples that are no numbers: make it again"))}
		}
		if !a.Give(ctx, block) {
			break
		}
		total += int64(len(block))
		if lasting(&in.model, total) > s.opts.MaxDuration {
			return decoded{bad: in.tooLong()}
		}
	}
	return decoded{}
}

// stop ends the decoding, and waits for that. A decoder that goes on is blamed after
// Grace, unless ctx has ended already, for which somebody else is.
func (a *ahead) stop(ctx context.Context, in *ingestion, beat func(time.Duration)) {
	a.cancel()
	select {
	case <-a.done:
		return
	default:
	}
	if ctx.Err() == nil {
		opts := &in.service.opts
		stage := in.stage.Swap(reading)
		beat(min(opts.Grace, opts.Stall))
		defer func() {
			beat(opts.Stall)
			in.stage.Store(stage)
		}()
	}
	<-a.done
}

package sound

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise/internal/mark"
)

// The bounds of [Batching].
const (
	defaultBatch        = 8
	defaultBatchingWait = 20 * time.Millisecond
	maxBatchingWait     = 10 * time.Second
)

// Batching returns a Scorer that gathers the clips of calls that are made side by side,
// as for several videos, into one call of scorer. That helps where a large batch takes
// hardly longer than a small one, as on a graphics card or over the network.
//
// A batch has at most max clips. It is scored when it is full, or when its first clips
// have waited for so long. A max of 0 or less is the model's Batch, and at most it is
// 1024. A wait of 0 or less is 20 ms, and at most it is 10 s. A batch also ends before 64
// Mi samples, but has one clip at least. Batching of nil is nil.
//
// The Model stays what it is. A service brings [Model].Batch clips with each call, so a
// max of several times that joins as many videos; a max of 0 joins no more than their
// ends. Which clips share a batch depends on who comes when. So scores are the same bit
// for bit each time only if those of scorer do not depend on the batch at all.
//
// Each call is as if it were alone:
//
//   - Clips of a call over max are scored one batch after another. A full batch of one call is
//     given to scorer as it is: with the call's context and clips, on the call's goroutine. So
//     is one that nobody has joined. Others are copied, and scored with a context that has no
//     values and no deadline. It ends when nobody waits for the batch any more.
//   - A call that shares a batch, or waits for others, returns at once when its context ends,
//     and they go on. Its clips were copied, so it may overwrite them. One that has a batch of
//     its own returns when scorer does.
//   - Nobody waits for a batch of others: those that are full or due are scored side by side,
//     never more of them than there are calls. A call that comes joins the batch that is
//     gathered now, whoever has how many calls waiting.
//
// An error of a joined batch can be the fault of one call's clips:
//
//   - After a panic, an error that is [Permanent] or another number of rows than of clips, each
//     call scores its clips again, alone, and gets what comes of that. A panic is then one of
//     the call's own goroutine.
//   - An error with [RetryAfter] is that of all calls. None of them scores again.
//   - After any other error the calls score again alone too, but one after another until one
//     is answered. After two more errors of that kind, or one with RetryAfter, scorer is taken
//     to be away, and the others get the latest error. So for one batch a scorer that is away
//     is called three times at most, however many wait.
//
// There is no goroutine while no clips wait, so there is nothing to close.
func Batching(scorer Scorer, max int, wait time.Duration) Scorer {
	if scorer == nil {
		return nil
	}
	if wait <= 0 {
		wait = defaultBatchingWait
	}
	return &batching{scorer: scorer, max: clampBatch(max, 0), wait: min(wait, maxBatchingWait)}
}

// clampBatch returns a number of clips within the bounds.
func clampBatch(n, unset int) int {
	if n <= 0 {
		return unset
	}
	return min(n, maxBatch)
}

// batching is what Batching returns.
type batching struct {
	scorer Scorer
	max    int // 0: batch
	wait   time.Duration
	batch  atomic.Int64 // of the model when it was last asked; 0: not yet
	memory sync.Pool    // of *[]float32, for copies of clips

	mu        sync.Mutex // of gathering, and of all batches
	gathering *batch     // the one that who comes joins; nil: none
}

// Model implements Scorer.
func (b *batching) Model(ctx context.Context) (Model, error) {
	m, err := b.scorer.Model(ctx)
	if err == nil {
		b.batch.Store(int64(clampBatch(m.Batch, defaultBatch)))
	}
	return m, err
}

// most returns how many clips a batch has.
func (b *batching) most(ctx context.Context) (int, error) {
	if b.max > 0 {
		return b.max, nil
	}
	if b.batch.Load() == 0 {
		if _, err := b.Model(ctx); err != nil {
			return 0, err
		}
	}
	return int(b.batch.Load()), nil
}

// Score implements Scorer.
func (b *batching) Score(ctx context.Context, clips [][]float32) ([]Scores, error) {
	most, err := b.most(ctx)
	if err != nil {
		return nil, err
	}
	var all []Scores
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, samples := firstOf(clips, most)
		piece, rest := clips[:n:n], clips[n:]
		var rows []Scores
		if n == 0 || n == most || len(rest) > 0 {
			rows, err = b.alone(ctx, piece, nil)
		} else {
			rows, err = b.join(ctx, piece, samples, most)
		}
		if err != nil {
			return nil, err
		}
		if all = append(all, rows...); len(rest) == 0 {
			return all, nil
		}
		clips = rest
	}
}

// firstOf returns how many of the clips fit into one batch, and how many samples they
// have.
func firstOf(clips [][]float32, most int) (n, samples int) {
	for n < min(len(clips), most) && (n == 0 || samples+len(clips[n]) <= maxSamples) {
		samples += len(clips[n])
		n++
	}
	return n, samples
}

// alone scores the clips of one call as they are. It tells what the answer was, if
// anybody asks, even if the scorer panics.
func (b *batching) alone(
	ctx context.Context, clips [][]float32, report chan<- answer,
) ([]Scores, error) {
	said := answer{kind: answerOwn}
	if report != nil {
		defer func() { report <- said }()
	}
	rows, err := b.scorer.Score(ctx, clips)
	if err == nil {
		err = rightRows(rows, len(clips))
	}
	if report != nil {
		said = answerOf(err)
		if err != nil && ctx.Err() != nil {
			said.kind = answerLeft
		}
	}
	return rows, err
}

// answer is what a scorer said to a batch.
type answer struct {
	kind answerKind
	err  error
}

type answerKind int

const (
	answerScores answerKind = iota
	answerOwn               // the clips, or the scorer as it is set up, are at fault
	answerLater             // an error that says when to try again
	answerAway              // any other error
	answerLeft              // nobody waited for it
)

func answerOf(err error) answer {
	_, later := mark.Wait(err)
	switch {
	case err == nil:
		return answer{kind: answerScores}
	case errors.Is(err, ErrPermanent):
		return answer{answerOwn, err}
	case later:
		return answer{answerLater, err}
	}
	return answer{answerAway, err}
}

// rightRows looks whether there is a row for each clip.
func rightRows(rows []Scores, clips int) error {
	if len(rows) != clips {
		return Permanent(fmt.Errorf("the scorer returned %d rows of scores for %d clips",
			len(rows), clips))
	}
	return nil
}

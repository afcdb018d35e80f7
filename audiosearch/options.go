package audiosearch

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/overdue"
	"github.com/seed-6363c74e/mortise/internal/setting"
)

// Options are the optional parts and settings of a Service. The zero value means the
// defaults, and a number below 0 is an error, unless the setting says that it means none.
//
// After a panic of a [sound.Scorer] the answer is that of a scorer that is away
// ([mortise.ErrUnavailable]). One of a [sound.Media] or a [sound.Files] costs the video.
// After one of Moderate there are no moderation scores. One of Backoff is a failed attempt
// of [Worker.Run]. One of OnEnd, an Observer or a Tracer changes nothing. All of these are
// logged with their stack at ERROR. Stores and queues must not panic, nor must the methods
// of an error that a host's code returns: on a goroutine of the service, that ends the
// program.
type Options struct {
	mortise.Env

	// Scorers are the models that score videos here, of a Family each. A sound class
	// belongs to the first one that predicts it. None: no video can be scored here;
	// searches find what others scored.
	Scorers []sound.Scorer

	Media sound.Media // nil: no video can be scored here; searches find what others scored
	Files sound.Files // where the bytes are; required with Media. Package folder has one.

	// Moderate says how far segments that are to be shown are fit to be shown: a score in
	// [0,1] for each result, in order. An error leaves all of them without one. nil:
	// results have no moderation score.
	Moderate func(ctx context.Context, org string, results []Result) ([]float64, error)

	MaxLimit    int           // results of one search: 1000
	MaxFilters  int           // of one search: 100
	MaxDuration time.Duration // of a video: 24 h; a longer one cannot be searched
	Part        time.Duration // sound that is scored at a time, and kept if the process ends: 10 min

	// Ingesting is how many videos are decoded and scored at a time, for all runs
	// together: the number of processors. If several organizations have some, they take
	// turns. A video that waits for the next turn stays open, with its decoder and its
	// local file.
	Ingesting int

	MaxWaiting int // runs of an organization that have not ended: 1000; Start makes no more

	// KeepRuns is how many runs of an organization that have ended are kept: 10,000. A
	// Sweeper forgets older ones if the store is a [Pruner].
	KeepRuns int

	// LostAfter is how long after its job was queued, or its latest attempt began, a run
	// that has not ended is queued again, since the queue may have lost the job: 1 h, and
	// never less than 15 min. Where runs and jobs are in one database, no job is lost.
	LostAfter time.Duration

	// OnEnd returns jobs of the host's own kinds, at most 100, that tell of a run which
	// has ended, however it ended; see package storage, Jobs of a host's own. Where run
	// and job are in one database, the transaction that ends the run adds the jobs. Where
	// they are not, they are queued after it, at least once, by the process that ended
	// the run or by a [Sweeper]. A job that is in the queue stays as it is. A run that is
	// removed, with its organization say, has no end to tell of. The run comes without
	// its Results, which [Service.Results] returns.
	//
	// OnEnd is called while the store changes the run, perhaps more than once: it returns
	// at once, and does not call the service or its store. A panic, and a job that is not
	// valid, are logged at ERROR, and hold up no end. Each Service over the store must
	// have the same OnEnd.
	OnEnd func(r Run) []mortise.Job

	// Stall is how long scoring a video may show no progress before it is given up: 2
	// min. Open is that for Files.Local, which may download the video, and for
	// Media.Probe, which may have to read all of it to find its keyframes: 1 h each.
	// Grace is how long they, or a Scorer, may ignore the end of their context before
	// they are left behind: 5 s; below 0: none. A file is decoded ahead while its sound
	// is scored or stored: the time of the decoder counts only while the scorer has
	// nothing to do.
	Stall, Open, Grace time.Duration
}

// validate says which settings make no sense.
func (o *Options) validate() error {
	if o == nil {
		return nil
	}
	if o.Media != nil && o.Files == nil {
		return errors.New("audiosearch: Options.Media needs Options.Files; folder.Open returns one")
	}
	if slices.Contains(o.Scorers, nil) {
		return errors.New("audiosearch: Options.Scorers has a nil")
	}
	return setting.Check("audiosearch: Options",
		setting.Of("MaxLimit", o.MaxLimit), setting.Of("MaxFilters", o.MaxFilters), setting.Of("MaxDuration", o.MaxDuration),
		setting.Of("Part", o.Part), setting.Of("Ingesting", o.Ingesting), setting.Of("MaxWaiting", o.MaxWaiting),
		setting.Of("KeepRuns", o.KeepRuns), setting.Of("LostAfter", o.LostAfter), setting.Of("Stall", o.Stall), setting.Of("Open", o.Open))
}

// withDefaults returns a copy with the defaults filled in.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	setting.Default(&c.MaxLimit, 1000)
	setting.Default(&c.MaxFilters, 100)
	setting.Default(&c.MaxDuration, 24*time.Hour)
	setting.Default(&c.Part, 10*time.Minute)
	setting.Default(&c.Ingesting, runtime.GOMAXPROCS(0))
	setting.Default(&c.MaxWaiting, 1000)
	setting.Default(&c.KeepRuns, 10_000)
	setting.Default(&c.LostAfter, time.Hour)
	c.LostAfter = max(c.LostAfter, overdue.LeastLostAfter)
	setting.Default(&c.Stall, 2*time.Minute)
	setting.Default(&c.Open, max(time.Hour, c.Stall))
	setting.DefaultOrNone(&c.Grace, 5*time.Second)
	setting.Env(&c.Env)
	return c
}

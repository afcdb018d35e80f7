package oip_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/oip"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/oipserver"
)

// steps is a Media whose files say how many seconds of sound they have. Each second is
// louder than the one before.
type steps struct{}

func (steps) seconds(file string) (n int, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		_, err = fmt.Sscan(string(text), &n)
	}
	return n, err
}

func (steps) ID() string { return "steps/1" }

func (s steps) Probe(_ context.Context, file string) (sound.Info, error) {
	n, err := s.seconds(file)
	return sound.Info{Duration: time.Duration(n) * time.Second}, err
}

func (s steps) PCM(_ context.Context, file string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		n, err := s.seconds(file)
		if err != nil {
			yield(nil, err)
			return
		}
		second := make([]float32, rate)
		for i := range n {
			for j := range second {
				second[j] = float32(i) / float32(n)
			}
			if !yield(second, nil) {
				return
			}
		}
	}
}

// newService returns a service with one video of so many seconds.
func newService(t *testing.T, seconds int, scorer sound.Scorer) *audiosearchtest.Fake {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), fmt.Append(nil, seconds), 0o600))
	folder, err := folder.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = folder.Close() })
	f := audiosearchtest.New(t, &audiosearchtest.Options{Service: audiosearch.Options{
		Scorers: []sound.Scorer{scorer}, Media: steps{}, Files: folder, Part: 10 * time.Second,
	}})
	_, err = f.CreateDataset(t.Context(), "acme", "", "d")
	require.NoError(t, err)
	require.NoError(t, f.PutVideos(t.Context(), "acme", "", "d", audiosearch.Video{ID: "a", Path: "a"}))
	return f
}

// start starts a search, and makes its first attempt.
func start(t *testing.T, f *audiosearchtest.Fake) audiosearch.Run {
	t.Helper()
	run, err := f.Start(t.Context(), "acme", "ada", audiosearch.Query{Dataset: "d", Class: "a", Limit: 1})
	require.NoError(t, err)
	f.Drain(t.Context())
	return results(t, f, run)
}

func results(t *testing.T, f *audiosearchtest.Fake, run audiosearch.Run) audiosearch.Run {
	t.Helper()
	run, err := f.Results(t.Context(), "acme", "d", run.ID)
	require.NoError(t, err)
	return run
}

// TestAnswersThatFail: what a status means for a run, and how often the server is asked.
func TestAnswersThatFail(t *testing.T) {
	const done = -1 // the run has ended
	quick := []time.Duration{15 * time.Second, 25 * time.Second}
	backoff := []time.Duration{time.Second, time.Second}
	ended := []time.Duration{done, done}
	sec := func(n int) []time.Duration {
		return []time.Duration{time.Duration(n) * time.Second, time.Duration(n) * time.Second}
	}
	tests := []struct {
		status, body, retryAfter string
		asked                    int
		wait                     []time.Duration // until the next attempt: at least, at most
		gone                     bool            // the model is not ready
	}{
		{status: "503", asked: 3, wait: quick},
		{status: "503", retryAfter: "120", asked: 1, wait: sec(120)},
		{status: "503", retryAfter: "3", asked: 3, wait: sec(5)},
		{status: "429", retryAfter: "0", asked: 3, wait: sec(5)},
		{status: "429", retryAfter: "99999999999999999999999", asked: 1, wait: sec(600)},
		{status: "429", retryAfter: "86400", asked: 1, wait: sec(600)},
		// A bubble begins at midnight.
		{status: "503", retryAfter: "Sat, 01 Jan 2000 00:02:00 GMT", asked: 1, wait: sec(120)},
		{status: "503", retryAfter: "Sat, 01 Jan 1999 00:02:00 GMT", asked: 3, wait: sec(5)},
		{status: "503", retryAfter: "soon", asked: 3, wait: quick},
		{status: "503", retryAfter: "-5", asked: 3, wait: quick},
		{status: "500", body: `{"error":"out of memory"}`, asked: 3, wait: quick},
		{status: "502", body: "<html>Bad Gateway</html>", asked: 3, wait: quick},
		{status: "504", asked: 3, wait: quick},
		{status: "501", asked: 1, wait: quick},
		{status: "408", asked: 3, wait: quick},
		{status: "404", asked: 1, wait: backoff},
		{status: "400", body: `{"error":"inference request batch-size must be <= 4"}`, asked: 1, wait: ended},
		{status: "400", body: `{"error":"Request for unknown model"}`, gone: true, asked: 1, wait: backoff},
		{status: "401", asked: 1, wait: ended},
		{status: "403", asked: 1, wait: ended},
		{status: "407", asked: 1, wait: ended},
		{status: "413", asked: 1, wait: ended},
		{status: "415", asked: 1, wait: ended},
		{status: "422", asked: 1, wait: ended},
		{status: "302", asked: 1, wait: backoff}, // without a Location
		{status: "204", asked: 1, wait: backoff},
	}
	for _, test := range tests {
		t.Run(test.status+" "+test.retryAfter+test.body, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &oipserver.Server{}
				server.Serve(meanModel(-1, "1"))
				asked := 0
				server.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
					if strings.HasSuffix(r.URL.Path, "/ready") && test.gone {
						w.WriteHeader(http.StatusBadRequest)
						return true
					}
					if !strings.HasSuffix(r.URL.Path, "/infer") {
						return false
					}
					asked++
					_, _ = io.Copy(io.Discard, r.Body)
					var status int
					_, _ = fmt.Sscan(test.status, &status)
					if test.retryAfter != "" {
						w.Header().Set("Retry-After", test.retryAfter)
					}
					w.WriteHeader(status)
					_, _ = io.WriteString(w, test.body)
					return true
				}
				_, client := newWire(t, server)
				s := newScorer(t, "http://wire", func(o *oip.Options) { o.Client = client })
				f := newService(t, 1, s)
				run := start(t, f)
				assert.Equal(t, test.asked, asked)
				if test.wait[0] == done {
					assert.Equal(t, audiosearch.InternalError, run.Termination)
					return
				}
				require.Equal(t, audiosearch.StateQueued, run.State)
				assert.GreaterOrEqual(t, run.DueAt.Sub(f.Now()), test.wait[0])
				assert.LessOrEqual(t, run.DueAt.Sub(f.Now()), test.wait[1])
			})
		})
	}
}

// TestAMinuteAway: a server goes away in the middle of a long video, with what it is
// computing, and comes back after a minute. The run goes on where it was.
func TestAMinuteAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &oipserver.Server{Extensions: []string{oipserver.Binary}}
		m := meanModel(-1, "1")
		run, clips := m.Run, int64(0)
		var w *wire
		var back time.Time
		m.Run = func(version string, shape []int64, input []float32) (map[string][]float32, error) {
			before := clips
			if clips += shape[0]; before < 500 && clips >= 500 {
				back = time.Now().Add(time.Minute)
				w.away(true)
			}
			return run(version, shape, input)
		}
		server.Serve(m)
		w, client := newWire(t, server)
		s := newScorer(t, "http://wire", func(o *oip.Options) { o.Client = client })
		f := newService(t, 300, s)
		search := start(t, f)
		for search.State != audiosearch.StateTerminated {
			require.False(t, back.IsZero(), "it went away")
			wait := search.DueAt.Sub(f.Now()) + time.Millisecond
			time.Sleep(wait)
			f.Advance(wait)
			if time.Now().After(back) {
				w.away(false)
			}
			f.Drain(t.Context())
			search = results(t, f, search)
		}
		require.Equal(t, audiosearch.Success, search.Termination)
		assert.LessOrEqual(t, search.Attempts, 6)
		require.Len(t, search.Results, 1)
		assert.InDelta(t, scoresOf("1", []float32{299. / 300 * samples})[0], search.Results[0].Score, 1e-4)
		const windows, part = 2*2*300 - 1, 40 // 0.25 s of 300 s; 10 s
		assert.LessOrEqual(t, clips, int64(windows+part+8), "but one part is scored once")
		assert.Greater(t, clips, int64(windows), "what was under way is scored again")
	})
}

// TestModelChanges: a new version on the server is another model, and no score is by two.
func TestModelChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &oipserver.Server{}
		server.Serve(meanModel(-1, "1"))
		_, client := newWire(t, server)
		s := newScorer(t, "http://wire", func(o *oip.Options) { o.Client = client })
		id := func() string {
			m, err := s.Model(t.Context())
			require.NoError(t, err)
			return idOf(m)
		}
		require.Equal(t, "mean/1/oip:mean@1", id())
		clips := clipsOf(2)

		// Both are there: the one that was described scores, until the server is asked
		// again.
		server.Serve(meanModel(-1, "1", "2"))
		scores, err := s.Score(t.Context(), clips)
		require.NoError(t, err)
		requireScores(t, "1", clips, scores)
		require.Equal(t, "mean/1/oip:mean@1", id(), "kept")
		time.Sleep(10 * time.Second)
		require.Equal(t, "mean/1/oip:mean@2", id())
		scores, err = s.Score(t.Context(), clips)
		require.NoError(t, err)
		requireScores(t, "2", clips, scores)

		// The described one is gone: nothing is scored by another one in its place.
		server.Serve(meanModel(-1, "3"))
		_, err = s.Score(t.Context(), clips)
		require.ErrorContains(t, err, "404")
		require.NotErrorIs(t, err, sound.ErrPermanent)
		_, err = s.Score(t.Context(), clips)
		require.ErrorContains(t, err, "changed from mean/1/oip:mean@2/described:", "which nobody was told of")
		require.NotErrorIs(t, err, sound.ErrPermanent)
		require.Equal(t, "mean/1/oip:mean@3", id(), "asked again at once")
		scores, err = s.Score(t.Context(), clips)
		require.NoError(t, err)
		requireScores(t, "3", clips, scores)

		// It is gone altogether.
		server.Remove("mean")
		time.Sleep(10 * time.Second)
		_, err = s.Model(t.Context())
		require.ErrorContains(t, err, "404")
		server.Serve(meanModel(-1, "3"))
		require.Equal(t, "mean/1/oip:mean@3", id())
	})
}

// TestModelChangesInAVideo: a video whose model changes meanwhile is scored by the new
// one alone.
func TestModelChangesInAVideo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &oipserver.Server{}
		m := meanModel(-1, "1")
		run, clips := m.Run, int64(0)
		m.Run = func(version string, shape []int64, input []float32) (map[string][]float32, error) {
			if clips += shape[0]; clips == 80 {
				server.Serve(meanModel(-1, "1", "2"))
				time.Sleep(11 * time.Second) // so that the server is asked again
			}
			return run(version, shape, input)
		}
		server.Serve(m)
		_, client := newWire(t, server)
		s := newScorer(t, "http://wire", func(o *oip.Options) { o.Client = client })
		f := newService(t, 60, s)
		search := start(t, f)
		for search.State != audiosearch.StateTerminated {
			f.Advance(search.DueAt.Sub(f.Now()) + time.Millisecond)
			f.Drain(t.Context())
			search = results(t, f, search)
		}
		require.Equal(t, audiosearch.Success, search.Termination)
		assert.InDelta(t, scoresOf("2", []float32{59. / 60 * samples})[0], search.Results[0].Score, 1e-4)
	})
}

// TestAsking: the server is asked for the model once in 10 s, and once by all who ask at
// a time; one who gives up does not end that for the others.
func TestAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &oipserver.Server{}
		server.Serve(meanModel(-1, "1"))
		var asked atomic.Int64
		server.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/mean") {
				asked.Add(1)
				time.Sleep(time.Second)
			}
			return false
		}
		_, client := newWire(t, server)
		s := newScorer(t, "http://wire", func(o *oip.Options) { o.Client = client })
		short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		errs := make(chan error, 5)
		go func() {
			_, err := s.Model(short)
			errs <- err
		}()
		synctest.Wait()
		for range 4 {
			go func() {
				_, err := s.Model(t.Context())
				errs <- err
			}()
		}
		require.ErrorIs(t, <-errs, context.DeadlineExceeded)
		for range 4 {
			require.NoError(t, <-errs)
		}
		assert.EqualValues(t, 2, asked.Load())
		time.Sleep(9 * time.Second)
		_, err := s.Model(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 2, asked.Load())
		time.Sleep(time.Second)
		_, err = s.Model(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 3, asked.Load())
	})
}

// TestSlow: a server that takes too long, before its answer or in it, ends the request
// and is not asked again at once.
func TestSlow(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"no answer": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client goes
			<-r.Context().Done()
		},
		"a body that drips": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Second)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &oipserver.Server{}
				server.Serve(meanModel(-1, "1"))
				asked := 0
				server.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.HasSuffix(r.URL.Path, "/infer") {
						return false
					}
					asked++
					answer(w, r)
					return true
				}
				_, client := newWire(t, server)
				s := newScorer(t, "http://wire", func(o *oip.Options) { o.Client, o.Timeout = client, 30*time.Second })
				began := time.Now()
				_, err := s.Score(t.Context(), clipsOf(1))
				require.ErrorContains(t, err, "did not answer in time: 30s")
				require.NotErrorIs(t, err, sound.ErrPermanent)
				assert.Equal(t, 30*time.Second, time.Since(began))
				assert.Equal(t, 1, asked)

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err = s.Score(ctx, clipsOf(1))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				time.Sleep(time.Minute) // so that the server's handlers end
			})
		})
	}
}

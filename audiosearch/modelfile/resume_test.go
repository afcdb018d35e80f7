package modelfile

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A connection that is cut again and again costs no byte twice.
func TestCutAndResumed(t *testing.T) {
	s := newSite(t, randomModel(10, 9<<20))
	const piece = 5<<18 + 7 // more than what an attempt has to gain
	s.serve = func(_ int, w http.ResponseWriter, r *http.Request) bool { s.cutAfter(piece, w, r); return true }
	o := s.options()
	o.retries = 1
	var calls []Progress
	o.Progress = func(p Progress) { calls = append(calls, p) }
	mustFetch(t, t.TempDir(), s.URL+"/model.onnx", o, s.data)
	for i, asked := range s.asked()[1:] {
		require.Equal(t, fmt.Sprintf("bytes=%d-", (i+1)*piece), asked)
		require.Equal(t, `"one"`, s.headers()[i+1].Get("If-Range"))
	}
	require.Len(t, s.asked(), len(s.data)/piece+1)
	require.Equal(t, len(s.data), s.total())

	troubles, done := 0, int64(0)
	for _, p := range calls {
		require.GreaterOrEqual(t, p.Done, done)
		require.Equal(t, int64(len(s.data)), p.Total)
		if done = p.Done; p.Trouble != nil {
			troubles++
			require.EqualError(t, p.Trouble, "the connection was cut")
		}
	}
	require.Equal(t, len(s.asked())-1, troubles)
	require.Equal(t, int64(len(s.data)), done)
}

// A server that never gets on is given up, with what is here; the next call goes on from
// there.
func TestGivesUp(t *testing.T) {
	s := newSite(t, randomModel(11, 1<<20))
	s.serve = func(_ int, w http.ResponseWriter, r *http.Request) bool { s.cutAfter(1000, w, r); return true }
	dir, o := t.TempDir(), s.options()
	var waits []time.Duration
	o.wait = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	refused(t, dir, s.URL+"/model.onnx", o, "the connection was cut; given up after 6 attempts without progress, 6000 bytes are kept")
	require.Equal(t, 6, s.requests())
	require.Len(t, waits, 5)
	for i, d := range waits {
		require.LessOrEqual(t, d, time.Second<<i)
		require.GreaterOrEqual(t, d, time.Second<<i*3/4)
	}
	s.serve = nil
	mustFetch(t, dir, s.URL+"/model.onnx", o, s.data)
	require.Equal(t, "bytes=6000-", s.asked()[6])
	require.Equal(t, len(s.data), s.total())

	o.retries = -1
	s.serve = func(_ int, w http.ResponseWriter, r *http.Request) bool { s.cutAfter(1000, w, r); return true }
	refused(t, t.TempDir(), s.URL+"/other.onnx", o, "given up after 1 attempts")
	_, err := Fetch(t.Context(), t.TempDir(), s.URL+"/third.onnx", o)
	require.ErrorIs(t, err, ErrUnavailable)
}

// Whatever the server does with the second request, the file is one file in the end.
func TestSecondAnswer(t *testing.T) {
	old, changed := randomModel(12, 1<<20), randomModel(13, 1<<20+5)
	partial := func(w http.ResponseWriter, contentRange string, body []byte) {
		w.Header().Set("Content-Range", contentRange)
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(body)
	}
	const had = 300_000
	for name, c := range map[string]struct {
		second func(s *site, w http.ResponseWriter, r *http.Request) // nil: as a good server
		now    []byte
		want   []string // ranges asked for
	}{
		"ignores ranges": {
			func(s *site, w http.ResponseWriter, r *http.Request) { r.Header.Del("Range"); s.whole(w, r) },
			old, []string{"", "bytes=300000-"},
		},
		"has another file": {nil, changed, []string{"", "bytes=300000-"}},
		"sends another range": {
			func(_ *site, w http.ResponseWriter, _ *http.Request) {
				partial(w, fmt.Sprintf("bytes 1-%d/%d", len(old)-1, len(old)), old[1:])
			}, old, []string{"", "bytes=300000-", ""},
		},
		"sends a later range": {
			func(_ *site, w http.ResponseWriter, _ *http.Request) {
				partial(w, fmt.Sprintf("bytes %d-%d/%d", had+8, len(old)-1, len(old)), old[had+8:])
			}, old, []string{"", "bytes=300000-", ""},
		},
		"says another size": {
			func(_ *site, w http.ResponseWriter, _ *http.Request) {
				partial(w, fmt.Sprintf("bytes %d-%d/%d", had, len(old), len(old)+1), append(old[had:], 1))
			}, old, []string{"", "bytes=300000-", ""},
		},
		"does not say the size": {
			func(_ *site, w http.ResponseWriter, _ *http.Request) {
				partial(w, fmt.Sprintf("bytes %d-%d/*", had, len(old)-1), old[had:])
			}, old, []string{"", "bytes=300000-", ""},
		},
		"says no range": {
			func(_ *site, w http.ResponseWriter, _ *http.Request) { partial(w, "nonsense", old[had:]) },
			old, []string{"", "bytes=300000-", ""},
		},
		"sends a part of another file": {
			func(_ *site, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("ETag", `"two"`)
				partial(w, fmt.Sprintf("bytes %d-%d/%d", had, len(old)-1, len(old)), changed[had:len(old)])
			}, old, []string{"", "bytes=300000-", ""},
		},
		"sends more than it said": {
			func(_ *site, w http.ResponseWriter, _ *http.Request) {
				partial(w, fmt.Sprintf("bytes %d-%d/%d", had, len(old)-1, len(old)), append(old[had:], 1, 2, 3))
			}, old, []string{"", "bytes=300000-", ""},
		},
		"sends less than the rest": {
			func(_ *site, w http.ResponseWriter, _ *http.Request) {
				partial(w, fmt.Sprintf("bytes %d-%d/%d", had, had+999, len(old)), old[had:had+1000])
			}, old, []string{"", "bytes=300000-", "bytes=301000-"},
		},
		"does not have the range": {
			func(_ *site, w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			}, old, []string{"", "bytes=300000-", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, old)
			s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
				switch {
				case n == 0:
					defer func() {
						s.mu.Lock()
						defer s.mu.Unlock()
						if s.data = c.now; &c.now[0] != &old[0] {
							s.etag = `"two"`
						}
					}()
					s.cutAfter(had, w, r)
				case n == 1 && c.second != nil:
					c.second(s, w, r)
				default:
					return false
				}
				return true
			}
			mustFetch(t, t.TempDir(), s.URL+"/model.onnx", s.options(), c.now)
			require.Equal(t, c.want, s.asked())
		})
	}
}

// Without a strong validator nothing is resumed.
func TestValidators(t *testing.T) {
	long := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	for name, c := range map[string]struct{ etag, modified, want string }{
		"weak":               {etag: `W/"one"`},
		"none":               {},
		"changed just now":   {modified: time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)},
		"weak but long ago":  {`W/"one"`, long, long},
		"long ago":           {"", long, long},
		"strong":             {`"one"`, long, `"one"`},
		"strong but endless": {etag: `"` + strings.Repeat("x", 2000) + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, randomModel(14, 1<<20))
			s.etag = c.etag
			s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
				if c.modified != "" {
					w.Header().Set("Last-Modified", c.modified)
				}
				if n > 0 {
					return false
				}
				s.cutAfter(1000, w, r)
				return true
			}
			mustFetch(t, t.TempDir(), s.URL+"/model.onnx", s.options(), s.data)
			require.Equal(t, c.want, s.headers()[1].Get("If-Range"))
			require.Equal(t, c.want != "", s.asked()[1] != "")
		})
	}
}

// A server that sends nothing is left after a while, before and after the head of its
// answer.
func TestStalled(t *testing.T) {
	s := newSite(t, randomModel(15, 1<<20))
	s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 0:
			<-r.Context().Done()
		case 1:
			s.whole(&gate{written{w, s}, 5000, func() { <-r.Context().Done() }}, r)
		default:
			return false
		}
		return true
	}
	o := s.options()
	o.stall = 100 * time.Millisecond
	o.retries = 20 // a busy machine may stall, too
	var troubles []string
	o.Progress = func(p Progress) {
		if p.Trouble != nil {
			troubles = append(troubles, p.Trouble.Error())
		}
	}
	mustFetch(t, t.TempDir(), s.URL+"/model.onnx", o, s.data)
	require.GreaterOrEqual(t, len(troubles), 2)
	require.Equal(t, "the server sends nothing any more", troubles[0])
	require.Equal(t, troubles[0], troubles[1])
	require.Contains(t, s.asked(), "bytes=5000-")
}

// A server that sends a byte now and then is left after a while, too, and its bytes are kept.
func TestTooSlow(t *testing.T) {
	s := newSite(t, randomModel(17, 1<<20))
	s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n > 0 {
			return false
		}
		w.Header().Set("ETag", s.etag)
		w.Header().Set("Content-Length", strconv.Itoa(len(s.data)))
		for i := 0; r.Context().Err() == nil && i < len(s.data); i++ {
			_, _ = w.Write(s.data[i : i+1])
			_ = http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
		return true
	}
	o := s.options()
	o.slow = 200 * time.Millisecond
	o.retries = 20 // a busy machine may be slow, too
	var troubles []string
	o.Progress = func(p Progress) {
		if p.Trouble != nil {
			troubles = append(troubles, p.Trouble.Error())
		}
	}
	mustFetch(t, t.TempDir(), s.URL+"/model.onnx", o, s.data)
	require.NotEmpty(t, troubles)
	require.Equal(t, "the server sends less than 1024 bytes a second", troubles[0])
	require.Regexp(t, `^bytes=\d+-$`, s.asked()[1])
}

// Only the time that the server was waited for counts, and each minute for itself.
func TestPace(t *testing.T) {
	p := pace{over: time.Minute}
	require.False(t, p.tooSlow(0, 59*time.Second))
	require.False(t, p.tooSlow(60<<10, time.Second), "1 KiB a second is enough")
	require.False(t, p.tooSlow(1<<20, 30*time.Second))
	require.False(t, p.tooSlow(0, 90*time.Second), "8 KiB a second")
	for range 119 {
		require.False(t, p.tooSlow(1, 500*time.Millisecond))
	}
	require.True(t, p.tooSlow(1, 500*time.Millisecond))
	require.False(t, p.tooSlow(1, 500*time.Millisecond), "the next minute begins")
}

// lateAnswers answers the first two requests as they are given up, with nothing.
type lateAnswers struct {
	http.RoundTripper
	asked int
}

func (l *lateAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.asked++; l.asked > 2 {
		return l.RoundTripper.RoundTrip(r)
	}
	<-r.Context().Done()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
}

// An answer that comes as its request is given up is none: a server whose handler ends then
// says that the file is empty.
func TestAnswerToWhatWasGivenUp(t *testing.T) {
	s := newSite(t, randomModel(15, 1<<20))
	o := s.options()
	o.stall = 100 * time.Millisecond
	o.retries = 20
	late := &lateAnswers{RoundTripper: o.Client.Transport}
	o.Client = &http.Client{Transport: late}
	mustFetch(t, t.TempDir(), s.URL+"/model.onnx", o, s.data)
	require.Greater(t, late.asked, 2)
}

// Who ends the context gets its error, and the part stays.
func TestCancelled(t *testing.T) {
	s := newSite(t, randomModel(16, 1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	dir, o := t.TempDir(), s.options()
	o.Progress = func(p Progress) { cancel() }
	s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 0 {
			s.whole(&gate{written{w, s}, 5000, func() { <-r.Context().Done() }}, r)
		}
		return n == 0
	}
	_, err := Fetch(ctx, dir, s.URL+"/model.onnx?"+secretQuery, o)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "the next start goes on there")
	require.NotContains(t, err.Error(), "s3cr3t")
	require.Len(t, names(t, dir, ".part", ".resume"), 2)

	o.Progress = nil
	mustFetch(t, dir, s.URL+"/model.onnx?"+secretQuery, o, s.data)
	require.NotEmpty(t, s.asked()[1])
	require.LessOrEqual(t, s.total(), len(s.data)+5000)

	_, err = Fetch(ctx, dir, s.URL+"/model.onnx?"+secretQuery, o)
	require.ErrorIs(t, err, context.Canceled, "a kept file is read although nobody waits for it")
}

// Who waits for another download leaves when the context ends.
func TestCancelledBehindAnother(t *testing.T) {
	s := newSite(t, randomModel(17, 1<<20))
	dir := t.TempDir()
	to, err := parseAddress(s.URL + "/model.onnx")
	require.NoError(t, err)
	path := filepath.Join(dir, to.name)
	release, busy, err := tryLock(path + ".lock")
	require.NoError(t, err)
	require.False(t, busy)
	defer release()
	require.NoError(t, writeJSON(path+".resume", resume{Offset: 7, Total: 9}, false))

	ctx, cancel := context.WithCancel(t.Context())
	o := s.options()
	var got Progress
	o.Progress = func(p Progress) { got = p; cancel() }
	_, err = Fetch(ctx, dir, s.URL+"/model.onnx", o)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, Progress{Done: 7, Total: 9}, got)
	require.Zero(t, s.requests())
}

// A part that is not what it was is not built upon.
func TestDamagedPart(t *testing.T) {
	part := func(t *testing.T, path string, change func([]byte) []byte) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, change(data), 0o600))
	}
	for name, c := range map[string]struct {
		end    string
		change func([]byte) []byte
		want   string
	}{
		"as it was":         {".part", func(b []byte) []byte { return b }, "bytes=500000-"},
		"longer":            {".part", func(b []byte) []byte { return append(b, make([]byte, 1<<20)...) }, "bytes=500000-"},
		"shorter":           {".part", func(b []byte) []byte { return b[:len(b)-1] }, ""},
		"a flipped bit":     {".part", func(b []byte) []byte { b[499_999] ^= 1; return b }, ""},
		"zeros":             {".part", func(b []byte) []byte { return make([]byte, len(b)) }, ""},
		"no record":         {".resume", func([]byte) []byte { return nil }, ""},
		"a negative offset": {".resume", func([]byte) []byte { return []byte(`{"offset":-1,"total":-1}`) }, ""},
		"a huge offset":     {".resume", func([]byte) []byte { return []byte(`{"offset":9223372036854775807,"total":-1,"etag":"\"one\""}`) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, randomModel(18, 1<<20))
			s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 0 {
					s.cutAfter(500_000, w, r)
				}
				return false
			}
			dir, o := t.TempDir(), s.options()
			o.retries = -1
			refused(t, dir, s.URL+"/model.onnx", o, "500000 bytes are kept")
			part(t, filepath.Join(dir, names(t, dir, c.end)[0]), c.change)
			mustFetch(t, dir, s.URL+"/model.onnx", o, s.data)
			require.Equal(t, []string{"", c.want}, s.asked())
		})
	}
}

// A process that ended between the last byte and the new name needs no network any more.
func TestEndedBeforeRename(t *testing.T) {
	s := newSite(t, randomModel(19, 1<<20))
	dir := t.TempDir()
	file := mustFetch(t, dir, s.URL+"/model.onnx", s.options(), s.data)
	require.NoError(t, os.Rename(file.Path, file.Path+".part"))
	require.NoError(t, writeJSON(file.Path+".resume", resume{
		Offset: int64(len(s.data)), Total: int64(len(s.data)), SHA256: fmt.Sprintf("%x", file.Digest),
	}, false))
	url := s.URL
	s.Close()
	mustFetch(t, dir, url+"/model.onnx", s.options(), s.data)
}

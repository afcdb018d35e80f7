package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// testSearchRestart: what is scored stays so; what has changed is scored again.
func testSearchRestart(t *testing.T, p program) {
	nightly.Only(t)
	m := newMedia(t)
	m.wav("tone.wav", dialTone(20))
	m.wav("noise.wav", whiteNoise(20, 1))
	m.write("broken.wav", []byte("no sound"))
	videos := []clip{{"tone", "tone.wav", object{"n": 1}}, {"noise", "noise.wav", object{"n": 2}}, {"broken", "broken.wav", nil}}
	config, dir := m.document(videos...), t.TempDir()
	// restarted runs a server until it has looked at all videos, and returns how many it
	// scored, and how many it could not.
	restarted := func(look func(s *server)) (scored, broken int) {
		s := p.startIn(t, dir, nil, "-config", config).guardMedia(m)
		s.awaitIngestion()
		if look != nil {
			look(s)
		}
		s.stop()
		return s.scored(), strings.Count(s.stderr.String(), `"msg":"a video cannot be searched"`)
	}
	same := func(scored, broken int) func(gotScored, gotBroken int) {
		return func(gotScored, gotBroken int) {
			t.Helper()
			assert.Equal(t, []int{scored, broken}, []int{gotScored, gotBroken})
		}
	}
	var first []segment
	var run string
	same(3, 1)(restarted(func(s *server) { // the tone is in d2, too
		run = s.search(viewerToken, "Dial tone", nil)
		s.awaitRun(viewerToken, run)
		first = s.results(viewerToken, run)
		require.Equal(t, "tone", first[0].Video.ID)
	}))
	same(0, 1)(restarted(func(s *server) {
		assert.Equal(t, first, s.find(viewerToken, "Dial tone", nil))
		assert.Equal(t, first, s.results(viewerToken, run), "a run stays")
	}))

	// Another time alone is no other file.
	now := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(m.path("tone.wav"), now, now))
	same(0, 1)(restarted(nil))
	m.wav("noise.wav", dialTone(20))
	m.wav("broken.wav", dialTone(5))
	same(2, 0)(restarted(func(s *server) {
		found := map[string]bool{}
		for _, r := range s.find(viewerToken, "Dial tone", object{"limit": 1000}) {
			found[r.Video.ID] = found[r.Video.ID] || r.Score > 0.8
		}
		assert.Equal(t, map[string]bool{"tone": true, "noise": true, "broken": true}, found)
	}))

	// A document adds what is missing, and changes nothing.
	m.wav("new.wav", dialTone(5))
	m.document(clip{"tone", "noise.wav", object{"n": 1}}, clip{"noise", "noise.wav", object{"n": 3}}, clip{"new", "new.wav", nil})
	same(1, 0)(restarted(func(s *server) {
		for _, other := range []string{"another path", "other metadata"} {
			assert.Contains(t, s.stderr.String(), "a video is stored with "+other+"; what exists is never changed")
		}
		found := s.find(viewerToken, "Dial tone", object{"metadata_filters": []object{{"key": "n", "value": "2"}}})
		require.NotEmpty(t, found, "as it was")
		assert.Equal(t, "noise", found[0].Video.ID)
		assert.Len(t, s.find(viewerToken, "Dial tone", object{"limit": 1000}), 6+6+1+1, "what is not in the document stays")
	}))
	require.NoError(t, os.Remove(m.path("new.wav")))
	same(0, 1)(restarted(nil))
}

// testSearchShared: two servers on one data folder that begin at the same time.
func testSearchShared(t *testing.T, p program) {
	nightly.Only(t)
	m := newMedia(t)
	for i := range 4 {
		m.wav(strconv.Itoa(i)+".wav", whiteNoise(30, uint64(i)), dialTone(float64(4+2*i)))
	}
	var videos []clip
	for i := range 4 {
		videos = append(videos, clip{strconv.Itoa(i), strconv.Itoa(i) + ".wav", object{"n": i}})
	}
	config, dir := m.document(videos...), t.TempDir()
	p.startIn(t, dir, nil).stop() // makes the key
	a := p.run(t, dir, nil, "-config", config).guardMedia(m)
	b := p.startIn(t, dir, nil, "-config", config).guardMedia(m)
	a.await("the first line", func() bool { return strings.Contains(a.stdout.String(), "\n") })
	a.url = strings.TrimSpace(strings.TrimPrefix(a.stdout.String(), "listening on "))
	run := a.search(viewerToken, "Dial tone", nil)
	found := b.find(viewerToken, "Dial tone", nil)
	require.Len(t, found, 40)
	assert.Equal(t, "3", found[0].Video.ID)
	assert.Equal(t, "SUCCESS", *b.awaitRun(viewerToken, run).Termination)
	assert.Equal(t, found, b.results(viewerToken, run))
	a.awaitIngestion()
	b.awaitIngestion()
	assert.Equal(t, found, a.find(viewerToken, "Dial tone", nil))
	for _, s := range []*server{a, b} {
		assert.NotContains(t, s.stderr.String(), "cannot be searched")
		assert.NotContains(t, s.stderr.String(), `"level":"ERROR"`)
	}
}

// children returns the processes that a process has begun and that run a program of the
// name.
func children(parent int, name string) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		before, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		if strings.HasSuffix(before, "("+name) && len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// testSearchStopped ends the server in the middle of its work, in peace and by force. No
// program stays behind, and what was scored stays so.
func testSearchStopped(t *testing.T, p program) {
	nightly.Only(t)
	if !exists("/proc/self/stat") {
		t.Skip("looks for processes in /proc")
	}
	m := newMedia(t)
	m.wav("short.wav", dialTone(3))
	m.ffmpeg("-f", "lavfi", "-i", "anoisesrc=duration=120:sample_rate=16000:amplitude=0.0005", "-sample_fmt", "s16", "part.flac")
	m.ffmpeg("-stream_loop", "59", "-i", "part.flac", "-c", "copy", "long.mkv")
	config, dir := m.document(clip{"a-short", "short.wav", nil}, clip{"long", "long.mkv", nil}), t.TempDir()
	// One that ends in peace goes on for a while.
	for i, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGTERM} {
		s := p.startIn(t, dir, nil, "-config", config).guardMedia(m)
		run := s.search(viewerToken, "Dial tone", nil)
		var programs []int
		s.await("ffmpeg", func() bool {
			programs = children(s.cmd.Process.Pid, "ffmpeg")
			return len(programs) > 0 && (i > 0 || s.scored() > 0)
		})
		assert.Contains(t, []string{"QUEUED", "RUNNING"}, s.runStatus(viewerToken, run).State)
		if end == syscall.SIGKILL {
			s.kill()
		} else {
			assert.Less(t, s.stop(), stopLimit)
		}
		for _, pid := range programs {
			s.await("ffmpeg to be gone", func() bool { return !alive(pid) })
		}
		if i > 0 {
			assert.Zero(t, s.scored(), "the short one again")
		}
	}
}

// testSearchWithoutPrograms: without ffmpeg WAV files can be searched, and for others it
// is said what to do.
func testSearchWithoutPrograms(t *testing.T, p program) {
	m := newMedia(t)
	m.mp4("clip.mp4", dialTone(5))
	m.wav("tone.wav", dialTone(5))
	s := p.start(t, []string{"PATH=" + t.TempDir()}, "-config", m.document(clip{"clip", "clip.mp4", nil}, clip{"tone", "tone.wav", nil})).guardMedia(m)
	run := s.search(viewerToken, "Dial tone", nil)
	ended := s.awaitRun(viewerToken, run)
	require.NotNil(t, ended.Message)
	assert.Contains(t, *ended.Message, `"clip": ffmpeg is missing here: install ffmpeg`)
	found := s.results(viewerToken, run)
	require.Len(t, found, 1)
	assert.Equal(t, "tone", found[0].Video.ID)
	s.awaitIngestion()
	assert.Equal(t, http.StatusOK, s.status("GET", "/readyz", ""))
	assert.Equal(t, 2, strings.Count(s.stderr.String(), "ffmpeg is missing here: install ffmpeg"), "once for each dataset: %s", &s.stderr)

	// Where it is installed then, nothing else has to be done.
	config := m.path("acme.json")
	dir := s.dir
	s.stop()
	s = p.startIn(t, dir, nil, "-config", config).guardMedia(m)
	assert.Equal(t, "SUCCESS", *s.awaitRun(viewerToken, s.search(viewerToken, "Dial tone", nil)).Termination)
	s.awaitIngestion()
	assert.Equal(t, 2, s.scored())
}

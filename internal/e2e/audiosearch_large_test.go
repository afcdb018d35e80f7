package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLargeResults prints what searches with the largest results do to others: twelve of
// one organization at once, over 400 videos with 60 KB of metadata each, and then eight
// clients that read one result of 60 MB, slowly; how long the triggers of another
// organization take meanwhile, and how much memory the server has. It takes a minute, and
// runs with MORTISE_SOAK=1 only.
func TestLargeResults(t *testing.T) {
	if os.Getenv("MORTISE_SOAK") != "1" || runtime.GOOS != "linux" {
		t.Skip("runs with MORTISE_SOAK=1, on Linux: it measures")
	}
	const videos, searches, readers = 400, 12, 8
	p, m := buildServer(t), newMedia(t)
	m.wav("a.wav", whiteNoise(8, 1), dialTone(8))
	var clips []clip
	for i := range videos {
		text := strings.Repeat(fmt.Sprintf("%05d ", i), 10_000)
		clips = append(clips, clip{fmt.Sprintf("video%04d", i), "a.wav", object{"n": i, "text": text}})
	}
	list, err := json.Marshal(clips)
	require.NoError(t, err)
	m.write("acme.json", []byte(`{"organizations": [
		{"id": "acme", "access_tokens": [{"token": "`+rootToken+`", "subject": "root"}], "datasets": [{"id": "d1", "videos": `+string(list)+`}]},
		{"id": "other", "setup_complete": true, "api_keys": [{"key": "`+goodKey+`"}],
		 "doc_collections": [{"id": "`+largeCollection+`", "ready": true}]}]}`))
	dir := t.TempDir()
	s := p.startIn(t, dir, nil, "-config", m.path("acme.json"))
	assert.Eventually(t, func() bool { return strings.Contains(s.stderr.String(), "all videos have been looked at") }, endurance, 50*time.Millisecond)
	s.stop()

	s = p.startIn(t, dir, nil) // the memory that reading the document took is another matter
	memory := s.watchMemory()
	start := func() string { return s.search(rootToken, "Dial tone", object{"limit": 1000}) }
	s.awaitRun(rootToken, start()) // the dataset is in memory now
	time.Sleep(time.Second)
	t.Logf("at rest: %s", memory())
	quiet := s.submissions(5 * time.Second)
	t.Logf("others' submissions, nothing else going on: %s", quiet())

	var runs []string
	beside := s.submissions(0)
	begun := time.Now()
	for range searches {
		runs = append(runs, start())
	}
	for _, run := range runs {
		require.Equal(t, "SUCCESS", *s.awaitRun(rootToken, run).Termination)
	}
	t.Logf("%d searches took %v; submissions beside them: %s; %s", searches, time.Since(begun).Round(time.Millisecond), beside(), memory())

	beside = s.submissions(0)
	begun = time.Now()
	var all sync.WaitGroup
	sizes := make([]int64, readers)
	for i := range readers {
		all.Go(func() { sizes[i] = s.readSlowly(runResultPath+runs[0]+"?dataset_id=d1", rootToken, 4<<20) })
	}
	all.Wait()
	t.Logf("%d readers of %.1f MB took %v; submissions beside them: %s; %s", readers, float64(sizes[0])/1e6,
		time.Since(begun).Round(time.Millisecond), beside(), memory())
	require.Equal(t, sizes[0], slices.Min(sizes))
	require.Len(t, s.results(rootToken, runs[0]), 1000)
}

const largeCollection = "0b1f5b7e-3f0e-4c6f-9f0a-1d2c3b4a5f60"

// watchMemory returns a function that says how much memory the server has, and had at
// most since it said so the last time.
func (s *server) watchMemory() func() string {
	var mu sync.Mutex
	most := 0
	now := func() int {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
		if err != nil {
			return 0
		}
		_, rest, ok := strings.Cut(string(text), "VmRSS:")
		if !ok { // it has ended
			return 0
		}
		kB, _ := strconv.Atoi(strings.Fields(rest)[0])
		mu.Lock()
		defer mu.Unlock()
		most = max(most, kB)
		return kB
	}
	done := make(chan struct{})
	s.t.Cleanup(func() { close(done) })
	go func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				now()
			}
		}
	}()
	return func() string {
		kB := now()
		mu.Lock()
		defer mu.Unlock()
		text := fmt.Sprintf("%d MB of memory, at most %d MB", kB/1000, most/1000)
		most = 0
		return text
	}
}

// submissions submits triggers one after the other, a few milliseconds apart, for as long
// as given or until the returned function is called. That waits for the end and says how
// long they took.
func (s *server) submissions(long time.Duration) func() string {
	stop := make(chan struct{})
	took := make(chan []time.Duration, 1)
	go func() {
		var all []time.Duration
		begun := time.Now()
		for over := false; !over; {
			at := time.Now()
			if !s.submits(goodKey) {
				break
			}
			all = append(all, time.Since(at))
			time.Sleep(5 * time.Millisecond)
			select {
			case <-stop:
				over = long == 0 || time.Since(begun) > long
			default:
				over = long > 0 && time.Since(begun) > long
			}
		}
		took <- all
	}()
	return func() string {
		close(stop)
		all := <-took
		if len(all) == 0 {
			return "none"
		}
		slices.Sort(all)
		return fmt.Sprintf("median %v, 99 of 100 within %v, worst %v of %d", all[len(all)/2].Round(10*time.Microsecond),
			all[len(all)*99/100].Round(10*time.Microsecond), all[len(all)-1].Round(10*time.Microsecond), len(all))
	}
}

// submits submits a trigger, on any goroutine.
func (s *server) submits(key string) bool {
	r, err := http.NewRequest(http.MethodPost, s.url+"/triggers", strings.NewReader(`{"instructions":"measure"}`))
	if !assert.NoError(s.t, err) {
		return false
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if !assert.NoError(s.t, err) {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return assert.NoError(s.t, err) && assert.Equal(s.t, http.StatusAccepted, resp.StatusCode)
}

// readSlowly reads an answer at so many bytes a second, and returns how long it is.
func (s *server) readSlowly(path, token string, rate int64) (size int64) {
	r, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if !assert.NoError(s.t, err) {
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if !assert.NoError(s.t, err) {
		return 0
	}
	defer resp.Body.Close()
	for {
		n, err := io.CopyN(io.Discard, resp.Body, rate/50)
		size += n
		if err != nil {
			assert.Equal(s.t, io.EOF, err)
			return size
		}
		time.Sleep(20 * time.Millisecond)
	}
}

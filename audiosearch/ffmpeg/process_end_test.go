//go:build unix

package ffmpeg

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// gone reports whether a process is no longer there. One that was left to another parent
// may still be a zombie.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

func readPID(t testing.TB, path string) int {
	t.Helper()
	var pid int
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.HasSuffix(b, []byte("\n")) {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	return pid
}

// Whatever ends the reading, the program and what it started are gone, and nothing of it
// is left in this process.
func TestNothingStays(t *testing.T) {
	needFFmpeg(t)
	path := flac(t)
	folder := t.TempDir()
	lines := strings.ReplaceAll("echo $$ >D/new; mv D/new D/pid; sleep 1000 & echo $! >D/new; mv D/new D/child; head -c 200000 /dev/zero; wait", "D", folder)
	m := newMedia(t, &Options{FFmpeg: script(t, lines)})
	_, err := collect(t, t.Context(), newMedia(t, nil), path, 16000) // what is made once is there now
	require.NoError(t, err)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what is forgotten
	goroutines, files := runtime.NumGoroutine(), openFiles()

	for name, read := range map[string]func(){
		"stop": func() {
			for range m.PCM(t.Context(), path, 16000) {
				break
			}
		},
		"cancel": func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			for _, err := range m.PCM(ctx, path, 16000) {
				cancel()
				last = err
			}
			assert.ErrorIs(t, last, context.Canceled)
		},
		"deadline": func() {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			var last error
			for _, err := range m.PCM(ctx, path, 16000) {
				last = err
			}
			assert.ErrorIs(t, last, context.DeadlineExceeded)
		},
		"panic": func() {
			defer func() { _ = recover() }()
			for range m.PCM(t.Context(), path, 16000) {
				panic("of the caller")
			}
		},
	} {
		_ = os.Remove(folder + "/pid")
		_ = os.Remove(folder + "/child")
		read()
		if _, err := os.Stat(folder + "/pid"); err != nil {
			continue // it was over before the program got that far
		}
		assert.True(t, gone(readPID(t, folder+"/pid")), name)
		if _, err := os.Stat(folder + "/child"); err == nil {
			child := readPID(t, folder+"/child")
			assert.Eventually(t, func() bool { return gone(child) }, time.Minute, 20*time.Millisecond, name)
		}
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines || openFiles() > files; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines and %d files before, %d and %d after", goroutines, files, runtime.NumGoroutine(), openFiles())
		}
	}
}

// openFiles counts what this process has open; 0 if the system does not tell.
func openFiles() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(names)
}

func TestCancelled(t *testing.T) {
	needFFmpeg(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := flac(t)
	_, err := newMedia(t, nil).Probe(ctx, path)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = collect(t, ctx, newMedia(t, nil), path, 16000)
	assert.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	m := newMedia(t, &Options{FFprobe: script(t, "kill -STOP $$")})
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = m.Probe(ctx, path)
	assert.ErrorIs(t, err, context.Canceled)
}

// The error is that of the context, whatever its cause is.
func TestCancelledWithCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	j, err := newMedia(t, nil).open(ctx, write(t, "a.flac", "whatever it is"))
	require.NoError(t, err)
	defer j.close()
	p, err := j.start("/bin/sh", "-c", "head -c 60000 /dev/zero; exec sleep 1000")
	require.NoError(t, err)
	defer p.stop()
	var b [1]byte
	_, err = p.Read(b[:])
	require.NoError(t, err)
	cancel(errors.New("the cause"))
	n, err := p.Read(b[:])
	assert.Equal(t, context.Canceled, err)
	assert.Zero(t, n, "though there is more")
	assert.Equal(t, context.Canceled, p.wait())
}

// A program may start another one that leaves its group and keeps the output open.
func TestChildThatGetsAway(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		missing(t, "setsid is missing")
	}
	folder := t.TempDir()
	m := newMedia(t, &Options{Timeout: time.Second, FFprobe: script(t, "setsid sh -c 'echo $$ >"+folder+"/new; mv "+folder+"/new "+folder+"/pid; exec sleep 100' 2>&-")})
	_, err := m.Probe(t.Context(), write(t, "a.flac", "whatever it is"))
	assert.ErrorIs(t, err, errTimeout)
	if _, err := os.Stat(folder + "/pid"); err == nil {
		assert.NoError(t, syscall.Kill(readPID(t, folder+"/pid"), syscall.SIGKILL))
	}
}

// A real one, in the middle of an hour.
func TestCancelDecoding(t *testing.T) {
	needFFmpeg(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	blocks := 0
	for block, err := range newMedia(t, nil).PCM(ctx, silence(t, time.Hour), 16000) {
		if blocks++; block == nil {
			assert.ErrorIs(t, err, context.Canceled)
		}
		cancel()
	}
	assert.LessOrEqual(t, blocks, 3) // the first one, the rest of a second, and the error
}

// silence is a WAV file of zeros, most of which is a hole.
func silence(t testing.TB, length time.Duration) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, wav.Encode(&b, 8000, nil))
	header := b.Bytes()
	require.Len(t, header, 44)
	size := uint32(length.Seconds() * 8000 * 2)
	binary.LittleEndian.PutUint32(header[4:], 36+size)
	binary.LittleEndian.PutUint32(header[40:], size)
	path := write(t, "silence.wav", string(header))
	require.NoError(t, os.Truncate(path, 44+int64(size)))
	return path
}

// An hour must not need more memory than a minute. On somebody's machine it has 20 minutes,
// whose samples would not fit either.
func TestMemoryIsFlat(t *testing.T) {
	needFFmpeg(t)
	m := newMedia(t, nil)
	allocated := func(length time.Duration) uint64 {
		path := silence(t, length)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		samples := 0
		for block, err := range m.PCM(t.Context(), path, 4000) {
			require.NoError(t, err)
			samples += len(block)
		}
		runtime.ReadMemStats(&after)
		require.InDelta(t, length.Seconds()*4000, samples, 2)
		return after.TotalAlloc - before.TotalAlloc
	}
	minute, hour := allocated(time.Minute), allocated(time.Hour)
	assert.Less(t, hour, minute+8<<20, "bytes allocated for an hour, against those for a minute")
}

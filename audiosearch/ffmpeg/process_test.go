//go:build unix

package ffmpeg

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// script makes a program for the shell. ffmpeg's question for its version is answered by the real one.
func script(t testing.TB, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nif [ \"$1\" = -version ]; then exec ffmpeg -version; fi\n"+lines+"\n"), 0o700))
	return path
}

// flac is a file of a second.
func flac(t testing.TB) string {
	t.Helper()
	return record(t, append(tone("0.5*sin(2*PI*440*t):s=16000:d=1"), "a.flac")...)
}

func TestFFprobeThatFails(t *testing.T) {
	path := write(t, "a.flac", "whatever it is")
	for lines, c := range map[string]struct {
		says string
		bad  bool
	}{
		"echo nonsense":                        {"see whether Options.FFprobe", false},
		"true":                                 {"see whether Options.FFprobe", false},
		"yes":                                  {"see whether Options.FFprobe", false},
		"cat /dev/zero":                        {"see whether Options.FFprobe", false},
		"echo '{}'":                            {"no sound", true},
		"exit 3":                               {"exit status 3", true},
		"kill -SEGV $$":                        {"segmentation fault", true},
		"kill -9 $$":                           {"was killed", false},
		"echo /etc/secret: Oh dear. >&2;false": {"(Oh dear)", true},
		"yes x | head -c 1000000 >&2; exit 1":  {"(x)", true},
		"echo '{}'; echo 'Cannot allocate memory' >&2; exit 1":                                                                   {"more memory", true},
		`echo '{"streams":[{"codec_type":"audio","channels":65}]}'`:                                                              {"65 channels", false},
		`echo '{"streams":[{"codec_type":"audio","channels":0}]}'`:                                                               {"no sound", true},
		`echo '{"streams":[{"codec_type":"audio","channels":1}],"format":{"duration":"1e300"}}'`:                                 {"longer than 24h", false},
		`echo '{"streams":[{"codec_type":"audio","channels":1,"start_time":"1e300"}],"format":{"duration":"NaN"}}'`:              {"longer than 24h", false},
		`case "$*" in *packet=*) yes;; esac; echo '{"streams":[{"codec_type":"audio","channels":1},{"codec_type":"video"}]}'`:    {"takes ffmpeg too long", false},
		`case "$*" in *packet=*) exit 5;; esac; echo '{"streams":[{"codec_type":"audio","channels":1},{"codec_type":"video"}]}'`: {"exit status 5", true},
		`case "$*" in *packet=*) head -c 100000 /dev/zero; exit;; esac
echo '{"streams":[{"codec_type":"audio","channels":1},{"codec_type":"video"}]}'`: {"see whether Options.FFprobe", false},
	} {
		options := &Options{FFprobe: script(t, lines)}
		if strings.Contains(c.says, "too long") {
			options.Timeout = time.Second
		}
		_, err := newMedia(t, options).Probe(t.Context(), path)
		assert.ErrorContains(t, err, c.says, lines)
		assert.Equal(t, c.bad, errors.Is(err, audiosearch.ErrBadMedia), lines)
	}
}

func TestFFmpegThatFails(t *testing.T) {
	path := write(t, "a.flac", "whatever it is")
	header := script(t, `echo '{"streams":[{"codec_type":"audio","channels":1}]}'`)
	for lines, c := range map[string]struct {
		says    string
		bad     bool
		samples int
	}{
		"true":                                {"no sound", true, 0},
		"printf abc":                          {"no sound", true, 0},
		"exit 3":                              {"exit status 3", true, 0},
		"head -c 64000 /dev/zero; exit 1":     {"exit status 1", true, 16000},
		"head -c 64003 /dev/zero":             {"", false, 16000},
		"head -c 400000 /dev/urandom":         {"", false, 100000},
		"yes | head -c 400000":                {"", false, 100000},
		"cat /dev/zero":                       {"longer than 24h", false, -1},
		"head -c 64000 /dev/zero; kill -9 $$": {"was killed", false, 16000},
		"head -c 64000 /dev/zero; yes >&2":    {"too long", false, 16000},
		"head -c 64000 /dev/zero; exec >&- 2>&-;sleep 99": {"too long", false, 16000},
		"sleep 99":                   {"too long", false, 0},
		"sleep 99 & sleep 99 & wait": {"too long", false, 0},
		"trap '' TERM INT HUP; while :; do sleep 1; done": {"too long", false, 0},
	} {
		// All programs are written before the tests run side by side: one that is open for writing anywhere cannot be started.
		options := &Options{FFmpeg: script(t, lines), FFprobe: header}
		rate := 16000
		switch {
		case c.says == "too long":
			options.Timeout = 2 * time.Second
		case c.samples < 0:
			options.MaxBytes, rate = 24*3600*1000*4, 1000
		}
		m := newMedia(t, options)
		m.resampler = soxr
		t.Run(lines, func(t *testing.T) {
			t.Parallel()
			samples := 0
			var err error
			for block, e := range m.PCM(t.Context(), path, rate) {
				samples, err = samples+len(block), e
			}
			if c.says == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.says)
			}
			assert.Equal(t, c.bad, errors.Is(err, audiosearch.ErrBadMedia))
			switch {
			case c.says == "too long":
				assert.LessOrEqual(t, samples, c.samples)
			case c.samples >= 0:
				assert.Equal(t, c.samples, samples)
			}
		})
	}
}

// The time that the caller takes is not the program's.
func TestSlowCaller(t *testing.T) {
	j, err := newMedia(t, nil).open(t.Context(), write(t, "a.flac", "whatever it is"))
	require.NoError(t, err)
	defer j.close()
	p, err := j.start("/bin/sh", "-c", "head -c 1000000 /dev/zero")
	require.NoError(t, err)
	defer p.stop()
	var b [1]byte
	_, err = p.Read(b[:])
	require.NoError(t, err)
	left := j.left
	time.Sleep(50 * time.Millisecond)
	assert.Equal(t, left, j.left)
}

func TestNotInstalled(t *testing.T) {
	path := write(t, "a.mp3", "x")
	t.Setenv("PATH", t.TempDir())
	file := write(t, "no-program", "x")
	for _, options := range []*Options{nil, {FFmpeg: "/nowhere/ffmpeg", FFprobe: "/nowhere/ffprobe"}, {FFmpeg: file, FFprobe: file}, {FFmpeg: t.TempDir(), FFprobe: t.TempDir()}} {
		m := newMedia(t, options)
		_, err := m.Probe(t.Context(), path)
		assert.ErrorIs(t, err, ErrNotInstalled)
		assert.ErrorContains(t, err, "apt-get install ffmpeg")
		assert.NotErrorIs(t, err, audiosearch.ErrBadMedia)
		_, err = collect(t, t.Context(), m, path, 16000)
		assert.ErrorIs(t, err, ErrNotInstalled)
		_, err = m.Picture(t.Context(), path, 0, 320)
		assert.ErrorIs(t, err, ErrNotInstalled)
	}
	notRunnable := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(notRunnable, []byte("#!/nowhere/sh\n"), 0o700))
	_, err := newMedia(t, &Options{FFprobe: notRunnable}).Probe(t.Context(), path)
	assert.ErrorIs(t, err, ErrNotInstalled)
}

// gone reports whether a process is no longer there. One that was left to another parent may still be a zombie.
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

// Whatever ends the reading, the program and what it started are gone, and nothing of it is left in this process.
func TestNothingStays(t *testing.T) {
	needFFmpeg(t)
	path := flac(t)
	folder := t.TempDir()
	lines := strings.ReplaceAll("echo $$ >D/new; mv D/new D/pid; sleep 1000 & echo $! >D/new; mv D/new D/child; head -c 200000 /dev/zero; wait", "D", folder)
	m := newMedia(t, &Options{FFmpeg: script(t, lines)})
	_, err := collect(t, t.Context(), newMedia(t, nil), path, 16000) // what is made once is there now
	require.NoError(t, err)
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
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines && openFiles() <= files }, time.Minute, 20*time.Millisecond,
		"goroutines: %d before; files: %d before", goroutines, files)
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
	require.NoError(t, wav.Encode(&b, 8000, make([]float32, int(length.Seconds()*8000))))
	size := int64(b.Len())
	path := write(t, "silence.wav", string(b.Next(44)))
	require.NoError(t, os.Truncate(path, size))
	return path
}

// An hour must not need more memory than a minute.
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
	assert.Less(t, hour, minute+2<<20, "bytes allocated for an hour, against those for a minute")
}

// Opening a pipe that nobody writes to would wait for ever.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := newMedia(t, nil).Probe(t.Context(), path)
	assert.ErrorContains(t, err, "a pipe")
	_, err = collect(t, t.Context(), newMedia(t, nil), path, 16000)
	assert.ErrorContains(t, err, "a pipe")
}

func TestPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	path := write(t, "a.mp3", "x")
	require.NoError(t, os.Chmod(path, 0))
	_, err := newMedia(t, nil).Probe(t.Context(), path)
	assert.ErrorIs(t, err, os.ErrPermission)
	assert.NotContains(t, err.Error(), path)
}

func TestEnvironment(t *testing.T) {
	needFFmpeg(t)
	t.Setenv("FFREPORT", "file=report.log")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	folder := t.TempDir()
	m := newMedia(t, &Options{FFprobe: script(t, "env > "+folder+"/env; exit 1")})
	_, err := m.Probe(t.Context(), flac(t))
	require.Error(t, err)
	for line := range strings.Lines(string(readFile(t, folder+"/env"))) {
		name, _, _ := strings.Cut(line, "=")
		assert.Contains(t, []string{"PATH", "LANG", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_"}, name) // some are the shell's
	}
}

func needStrace(t testing.TB) {
	t.Helper()
	if err := exec.Command("strace", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skip("strace is missing, or may not be used here")
	}
}

// What the programs open is seen by strace: the recording alone, and no address.
func TestOpensNothingElse(t *testing.T) {
	needFFmpeg(t)
	needStrace(t)
	folder := t.TempDir()
	traced := func(program string) string {
		return script(t, "exec strace -f -qq -e trace=execve,open,openat,connect,socket -A -o "+folder+"/trace "+program+` "$@"`)
	}
	m := newMedia(t, &Options{FFmpeg: traced("ffmpeg"), FFprobe: traced("ffprobe")})
	sound := flac(t)
	for _, path := range []string{
		write(t, "hls.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n/etc/passwd\n#EXT-X-ENDLIST\n"), write(t, "concat.mp4", "ffconcat version 1.0\nfile /etc/passwd\n"), sound,
	} {
		_, _ = m.Probe(t.Context(), path)
		_, _ = collect(t, t.Context(), m, path, 16000)
	}
	trace := string(readFile(t, folder+"/trace"))
	assert.Contains(t, trace, "/proc/self/fd/3", "the trace has what was opened")
	assert.NotContains(t, trace, "passwd")
	assert.NotContains(t, trace, filepath.Base(sound), "the path is not even in the arguments")
	assert.NotContains(t, trace, "connect(")
	assert.NotContains(t, trace, "socket(")
}

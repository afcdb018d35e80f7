//go:build unix

package ffmpeg

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// script makes a program for the shell. ffmpeg's question for its version is answered by
// the real one.
func script(t testing.TB, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nif [ \"$1\" = -version ]; then exec ffmpeg -version; fi\n"+lines+"\n"), 0o700))
	return path
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
		"echo '{}'; echo 'Cannot allocate memory' >&2; exit 1":                                   {"more memory", true},
		`echo '{"streams":[{"codec_type":"audio","channels":65}]}'`:                              {"65 channels", false},
		`echo '{"streams":[{"codec_type":"audio","channels":0}]}'`:                               {"cannot decode", false},
		`echo '{"streams":[{"codec_type":"audio","channels":1}],"format":{"duration":"1e300"}}'`: {"longer than 24h", false},
	} {
		options := &Options{FFprobe: script(t, lines)}
		if strings.Contains(c.says, "too long") {
			options.Timeout = 50 * time.Millisecond // of waiting for the program; to read its output takes longer
		}
		_, err := newMedia(t, options).Probe(t.Context(), path)
		assert.ErrorContains(t, err, c.says, lines)
		assert.Equal(t, c.bad, errors.Is(err, sound.ErrBadMedia), lines)
	}
}

// TestPacketsThatFail: the list of packets comes from ffmpeg.
func TestPacketsThatFail(t *testing.T) {
	path := write(t, "a.mkv", "whatever it is")
	header := script(t, `echo '{"streams":[{"codec_type":"audio","channels":1},{"index":1,"codec_type":"video","width":160}]}'`)
	for lines, c := range map[string]struct {
		says string
		bad  bool
	}{
		"while :; do echo '#y'; sleep 0.01; done": {"takes ffmpeg too long", false},
		"yes":                      {"see whether Options.FFprobe", false},
		"exit 5":                   {"exit status 5", true},
		"head -c 100000 /dev/zero": {"see whether Options.FFprobe", false},
	} {
		options := &Options{FFprobe: header, FFmpeg: script(t, lines)}
		if strings.Contains(c.says, "too long") {
			options.Timeout = 50 * time.Millisecond // of waiting for the program; to read its output takes longer
		}
		_, err := newMedia(t, options).Probe(t.Context(), path)
		assert.ErrorContains(t, err, c.says, lines)
		assert.Equal(t, c.bad, errors.Is(err, sound.ErrBadMedia), lines)
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
		"cat /dev/zero":                       {"longer than 1h", false, -1},
		"head -c 64000 /dev/zero; kill -9 $$": {"was killed", false, 16000},
		"head -c 64000 /dev/zero; yes >&2":    {"too long", false, 16000},
		"head -c 64000 /dev/zero; exec >&- 2>&-;sleep 99": {"too long", false, 16000},
		"sleep 99":                   {"too long", false, 0},
		"sleep 99 & sleep 99 & wait": {"too long", false, 0},
		"trap '' TERM INT HUP; while :; do sleep 1; done": {"too long", false, 0},
	} {
		// All programs are written before the tests run side by side: one that is open
		// for writing anywhere cannot be started.
		options := &Options{FFmpeg: script(t, lines), FFprobe: header}
		if c.says == "too long" {
			options.Timeout = 500 * time.Millisecond
		}
		m, rate := newMedia(t, options), 16000
		if c.samples < 0 {
			m.maxDuration, rate = time.Hour, 1000
		}
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
			assert.Equal(t, c.bad, errors.Is(err, sound.ErrBadMedia))
			switch {
			case c.says == "too long":
				assert.LessOrEqual(t, samples, c.samples)
			case c.samples >= 0:
				assert.Equal(t, c.samples, samples)
			}
		})
	}
}

func TestKeyframesInAnyOrder(t *testing.T) {
	m := newMedia(t, &Options{
		FFprobe: script(t, `echo '{"streams":[{"codec_type":"audio","channels":1},{"index":1,"codec_type":"video","width":160}]}'`),
		FFmpeg:  script(t, `echo "#tb 0: 1/10"; for at in 40 20 20 -10 0; do echo "0, $at, $at, 1, 1, 0x0"; done`),
	})
	info, err := m.Probe(t.Context(), write(t, "a.mp4", "whatever it is"))
	require.NoError(t, err)
	assert.Equal(t, []time.Duration{0, 2 * time.Second, 4 * time.Second}, info.Keyframes)
}

func TestBestResampler(t *testing.T) {
	folder := t.TempDir()
	for version, want := range map[string]string{
		"configuration: --enable-gpl --enable-libsoxr --enable-libx264": soxr, "configuration: --enable-gpl": swr, "": swr,
	} {
		path := filepath.Join(folder, "program")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n[ \"$*\" = -version ] && echo '"+version+"'\n"), 0o700))
		m := newAsking(t, nil)
		j, err := m.open(t.Context(), write(t, "a.flac", "whatever it is"))
		require.NoError(t, err)
		for range 2 {
			got, err := j.bestResampler(path)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			path = "/nowhere" // it is asked once
		}
		j.close()
	}
	m := newAsking(t, &Options{FFprobe: script(t, `echo '{"streams":[{"codec_type":"audio","channels":1}]}'`), FFmpeg: "false"})
	_, err := collect(t, t.Context(), m, write(t, "a.flac", "whatever it is"), 16000)
	assert.Error(t, err)
	assert.Empty(t, m.resampler, "a failure is no answer")
}

func TestHead(t *testing.T) {
	h := &head{max: 5}
	for _, s := range []string{"", "abc", "defg", "h"} {
		n, err := h.Write([]byte(s))
		assert.NoError(t, err)
		assert.Equal(t, len(s), n, "all of it counts as written, or the program would stop")
	}
	assert.Equal(t, "abcde", h.String())
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
		assert.NotErrorIs(t, err, sound.ErrBadMedia)
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
		runAsNobody(t) // root may read everything
		return
	}
	path := write(t, "a.mp3", "x")
	require.NoError(t, os.Chmod(path, 0))
	_, err := newMedia(t, nil).Probe(t.Context(), path)
	require.ErrorIs(t, err, os.ErrPermission)
	assert.ErrorContains(t, err, "may not be read")
	assert.NotContains(t, err.Error(), path)
	_, err = collect(t, t.Context(), newMedia(t, nil), path, 16000)
	require.ErrorIs(t, err, os.ErrPermission)
	assert.NotContains(t, err.Error(), path)
}

// runAsNobody runs the test once more, in a process of a user who is not root.
func runAsNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	folder, err := os.MkdirTemp("", "nobody-") // not t.TempDir, which others cannot reach
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(folder)) })
	binary, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	program := filepath.Join(folder, "test")
	require.NoError(t, os.WriteFile(program, binary, 0o700))
	cmd := exec.Command(program, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "TMPDIR="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out []byte
	if err = errors.Join(os.Chown(program, nobody, nobody), os.Chown(folder, nobody, nobody)); err == nil {
		out, err = cmd.CombinedOutput()
	}
	if cmd.ProcessState == nil {
		missing(t, "cannot run a test as another user: "+err.Error())
	}
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: "+t.Name())
}

func TestEnvironment(t *testing.T) {
	needFFmpeg(t)
	sound := flac(t) // not with these settings
	resamplerHere()
	t.Setenv("FFREPORT", "file=report.log")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	folder := t.TempDir()
	m := newMedia(t, &Options{FFprobe: script(t, "env > "+folder+"/env; exit 1")})
	_, err := m.Probe(t.Context(), sound)
	require.Error(t, err)
	for line := range strings.Lines(string(readFile(t, folder+"/env"))) {
		name, _, _ := strings.Cut(line, "=")
		assert.Contains(t, []string{"PATH", "LANG", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_"}, name) // some are the shell's
	}
}

func needStrace(t testing.TB) {
	t.Helper()
	if err := exec.Command("strace", "-o", "/dev/null", "true").Run(); err != nil {
		missing(t, "strace is missing, or may not be used here")
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

// TestHeaderIsReadOnce: the header of a file that does not change is read once, and again when
// it has changed.
func TestHeaderIsReadOnce(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	m := newMedia(t, &Options{FFprobe: script(t, "echo >>"+dir+"/calls; exec ffprobe \"$@\"")})
	path := flac(t)
	read := func() {
		_, err := m.Probe(t.Context(), path)
		require.NoError(t, err)
		_, err = collect(t, t.Context(), m, path, 16000)
		require.NoError(t, err)
	}
	read()
	read()
	assert.Len(t, readFile(t, dir+"/calls"), 1)
	stat, err := os.Stat(path)
	require.NoError(t, err)
	content := readFile(t, path)
	require.NoError(t, os.WriteFile(path, content, 0o600)) // of the same size
	require.NoError(t, os.Chtimes(path, stat.ModTime(), stat.ModTime()))
	read()
	assert.Len(t, readFile(t, dir+"/calls"), 2)
}

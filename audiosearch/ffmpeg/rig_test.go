package ffmpeg

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// needFFmpeg skips a test on a machine without ffmpeg. CI must have it.
func needFFmpeg(t testing.TB) {
	t.Helper()
	for _, name := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(name); err != nil {
			missing(t, name+" is missing")
		}
	}
}

// missing skips a test that cannot run on this machine. In CI that is a failure.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// encoders lists ffmpeg's. To start ffmpeg takes a tenth of a second of a processor, so
// that what does not change is asked once.
var encoders = sync.OnceValues(func() ([]byte, error) { return exec.Command("ffmpeg", "-v", "error", "-encoders").Output() })

// needEncoder skips a test if ffmpeg was built without an encoder.
func needEncoder(t testing.TB, name string) {
	t.Helper()
	out, err := encoders()
	require.NoError(t, err)
	if !strings.Contains(string(out), " "+name+" ") {
		missing(t, "this ffmpeg has no encoder "+name)
	}
}

// record returns a file that ffmpeg made: see encoders. The last argument is its name.
func record(t testing.TB, args ...string) string {
	t.Helper()
	made, _ := recorded.LoadOrStore(strings.Join(args, "\x00"), sync.OnceValues(func() (string, error) { return recordOnce(args) }))
	content, err := made.(func() (string, error))()
	require.NoError(t, err, content)
	return write(t, args[len(args)-1], content)
}

var recorded sync.Map // what makes the content of files, by the arguments

// recordOnce returns the content of a file, or what ffmpeg said.
func recordOnce(args []string) (string, error) {
	folder, err := os.MkdirTemp("", "recorded-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, args[len(args)-1])
	args = append([]string{"-nostdin", "-v", "error", "-y"}, append(args[:len(args)-1:len(args)-1], path)...)
	if out, err := exec.Command("ffmpeg", args...).CombinedOutput(); err != nil {
		return string(out), err
	}
	content, err := os.ReadFile(path)
	return string(content), err
}

// Inputs of ffmpeg.
func tone(expr string) []string { return []string{"-f", "lavfi", "-i", "aevalsrc=" + expr} }

var film = []string{"-f", "lavfi", "-i", "testsrc=size=160x120:rate=25"}

// video makes a file of ten seconds with a keyframe every two seconds.
func video(t testing.TB, name string, args ...string) string {
	t.Helper()
	all := append(append([]string{}, film...), tone("0.5*sin(2*PI*440*t):s=44100")...)
	all = append(append(all, "-t", "10", "-g", "50", "-force_key_frames", "expr:gte(t,n_forced*2)"), args...)
	return record(t, append(all, name)...)
}

// flac is a file of a second.
func flac(t testing.TB) string {
	t.Helper()
	return record(t, append(tone("0.5*sin(2*PI*440*t):s=16000:d=1"), "a.flac")...)
}

// resamplerHere is what each Media would find out: see encoders.
var resamplerHere = sync.OnceValue(func() string {
	if out, err := exec.Command("ffmpeg", "-version").Output(); err != nil || !strings.Contains(string(out), "--enable-libsoxr") {
		return swr
	}
	return soxr
})

// newMedia is New without the question for the resampler.
func newMedia(t testing.TB, options *Options) *Media {
	t.Helper()
	m := newAsking(t, options)
	m.resampler = resamplerHere()
	return m
}

func newAsking(t testing.TB, options *Options) *Media {
	t.Helper()
	m, err := New(options)
	require.NoError(t, err)
	// Programs of a test's own are scripts that note what they do.
	m.unlimited = options != nil && options.FFmpeg+options.FFprobe != ""
	return m
}

func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// cut copies the first bytes of a file.
func cut(t testing.TB, path string, n int) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return write(t, "cut-"+filepath.Base(path), string(b[:min(n, len(b))]))
}

// collect reads a whole file, and checks what every caller relies on.
func collect(t testing.TB, ctx context.Context, m *Media, path string, rate int) (all []float32, err error) {
	t.Helper()
	for block, e := range m.PCM(ctx, path, rate) {
		require.NoError(t, err, "an error must be the last element")
		if err = e; e != nil {
			require.Nil(t, block)
			continue
		}
		require.NotEmpty(t, block)
		for _, v := range block {
			if !(v >= -1 && v <= 1) {
				t.Fatalf("sample %v", v)
			}
		}
		all = append(all, block...)
	}
	return all, err
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

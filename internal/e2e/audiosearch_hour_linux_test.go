package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/onnx"
)

// hourPatience bounds the scoring of an hour of sound.
const hourPatience = 45 * time.Minute

// TestHourOfSound has a server score an hour of sound (AAC), and prints how fast that is, and
// what memory it takes. Memory must not grow with the sound; times are not asserted.
// MORTISE_SOAK_MODEL may name one more ONNX file, which hears four minutes.
//
//	MORTISE_SOAK=1 go test ./internal/e2e -run TestHourOfSound -v -timeout 2h
func TestHourOfSound(t *testing.T) {
	if os.Getenv("MORTISE_SOAK") != "1" {
		t.Skip("only with MORTISE_SOAK=1: it takes minutes")
	}
	p := buildServer(t)
	t.Run("small transformer", func(t *testing.T) { hearHour(t, p, tinyTransformer(t), 60) })
	t.Run("YAMNet", func(t *testing.T) { hearHour(t, p, yamnet(t), 60) })
	t.Run("model of MORTISE_SOAK_MODEL", func(t *testing.T) {
		model := os.Getenv("MORTISE_SOAK_MODEL")
		if model == "" {
			t.Skip("MORTISE_SOAK_MODEL is not set")
		}
		hearHour(t, p, model, 4)
	})
}

func hearHour(t *testing.T, p program, model string, minutes int) {
	sound := time.Duration(minutes) * time.Minute
	m := newMedia(t)
	m.wav("minute.wav", whiteNoise(20, 1), tones(20, 350, 440), whiteNoise(10, 2), tones(10, 1000, 3000))
	m.ffmpeg("-i", "minute.wav", "-ar", "44100", "-ac", "2", "-c:a", "aac", "-b:a", "128k", "minute.m4a")
	m.ffmpeg("-stream_loop", strconv.Itoa(minutes-1), "-i", "minute.m4a", "-c", "copy", "long.m4a")
	decoding := decodeAlone(t, m.path("long.m4a"))
	windows, inference := inferAlone(t, model, sound)

	config := m.document()
	document := strings.Replace(string(read(t, config)), `"id": "d1", "videos": []`,
		`"id": "d1", "videos": [{"id": "long", "path": "long.m4a"}]`, 1)
	m.write("acme.json", []byte(document))
	s := p.startModel(t, model, config).guardMedia(m)
	begun, began := time.Now(), s.used(t)
	var memory []int // MB, as time goes by
	for ticker := time.NewTicker(20 * time.Millisecond); !strings.Contains(s.stderr.String(), "all videos have been looked at"); {
		select {
		case <-s.exited:
			t.Fatalf("the server has ended: %s", &s.stderr)
		case <-ticker.C:
			require.Less(t, time.Since(begun), hourPatience)
			memory = append(memory, s.resident(t))
		}
	}
	took, used := time.Since(begun), s.used(t)-began
	require.Equal(t, 1, s.scored(), "%s", &s.stderr)
	found := s.find(viewerToken, "Dial tone", object{"limit": 1})
	require.Len(t, found, 1)

	half := len(memory) / 2
	first, second := slices.Max(memory[:half]), slices.Max(memory[half:])
	t.Logf("%v of sound, %d windows: %v, %.0f times real time, %v a window", sound, windows,
		took.Round(10*time.Millisecond), sound.Seconds()/took.Seconds(), (took / time.Duration(windows)).Round(10*time.Microsecond))
	t.Logf("%v of processors, %v a window; in use at a time: %.2f", used, (used / time.Duration(windows)).Round(10*time.Microsecond),
		used.Seconds()/took.Seconds())
	t.Logf("decoding alone %v, inference alone %v: %.2f of the longer, %.2f of the sum",
		decoding.Round(10*time.Millisecond), inference.Round(10*time.Millisecond),
		took.Seconds()/max(decoding, inference).Seconds(), took.Seconds()/(decoding+inference).Seconds())
	text := ""
	for i := range 10 {
		text += fmt.Sprint(" ", memory[(len(memory)-1)*(i+1)/10])
	}
	t.Logf("memory: at most %d MB in the first half, %d MB in the second; by tenths%s", first, second, text)
	assert.LessOrEqual(t, float64(second), 1.2*float64(first), "memory must not grow")
}

// decodeAlone returns how long it takes to decode a file.
func decodeAlone(t *testing.T, path string) time.Duration {
	t.Helper()
	media, begun := allMedia(t), time.Now()
	for _, err := range media.PCM(t.Context(), path, mediaRate) {
		require.NoError(t, err)
	}
	return time.Since(begun)
}

// inferAlone returns how many windows a model has of so much sound, and how long it takes for
// them, told from a few.
func inferAlone(t *testing.T, model string, sound time.Duration) (windows int, took time.Duration) {
	t.Helper()
	scorer, err := onnx.Open(model, &onnx.Options{Library: runtimeLibrary(t)})
	require.NoError(t, err)
	defer func() { assert.NoError(t, scorer.Close()) }()
	m, err := scorer.Model(t.Context())
	require.NoError(t, err)
	windows = 1 + int((sound-m.Window+m.Hop-1)/m.Hop)
	clip := whiteNoise(m.Window.Seconds(), 5)
	batch := [][]float32{clip, clip, clip, clip, clip, clip, clip, clip}
	_, err = scorer.Score(t.Context(), batch[:1]) // the first one is slower
	require.NoError(t, err)
	begun, before, done := time.Now(), cpu(), 0
	for done < 8 || time.Since(begun) < 3*time.Second {
		_, err = scorer.Score(t.Context(), batch)
		require.NoError(t, err)
		done += len(batch)
	}
	t.Logf("inference alone: %v of processors a window", ((cpu() - before) / time.Duration(done)).Round(10*time.Microsecond))
	return windows, time.Since(begun) * time.Duration(windows) / time.Duration(done)
}

// resident returns how much memory the server has, in MB.
func (s *server) resident(t testing.TB) int {
	t.Helper()
	_, rest, ok := strings.Cut(string(read(t, fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))), "VmRSS:")
	require.True(t, ok)
	kB, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return kB / 1000
}

// used returns the processor time of the server and of the programs it has run.
func (s *server) used(t *testing.T) (sum time.Duration) {
	t.Helper()
	_, rest, ok := strings.Cut(string(read(t, fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))), ") ")
	require.True(t, ok)
	const tick = 10 * time.Millisecond // of Linux, on nearly all machines
	for _, field := range strings.Fields(rest)[11:15] {
		ticks, err := strconv.Atoi(field)
		require.NoError(t, err)
		sum += time.Duration(ticks) * tick
	}
	return sum
}

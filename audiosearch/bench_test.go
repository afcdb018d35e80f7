package audiosearch_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// writeStereo writes a 16-bit stereo WAV file of noise with tones in it.
func writeStereo(tb testing.TB, path string, rate int, length time.Duration) {
	tb.Helper()
	frames := int(length.Seconds() * float64(rate))
	b := make([]byte, 44, 44+4*frames)
	copy(b, "RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00")
	binary.LittleEndian.PutUint32(b[4:], uint32(36+4*frames))
	binary.LittleEndian.PutUint32(b[24:], uint32(rate))
	binary.LittleEndian.PutUint32(b[28:], uint32(4*rate))
	copy(b[32:], "\x04\x00\x10\x00data")
	binary.LittleEndian.PutUint32(b[40:], uint32(4*frames))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range frames {
		at := float64(i) / float64(rate)
		x := int16(3000*math.Sin(2*math.Pi*(300+200*math.Floor(at/20))*at) + 1000*random.NormFloat64())
		b = binary.LittleEndian.AppendUint16(b, uint16(x))
		b = binary.LittleEndian.AppendUint16(b, uint16(x/2))
	}
	require.NoError(tb, os.WriteFile(path, b, 0o600))
}

// ingestOnce has the file a.wav of a folder scored, by a service of its own.
func ingestOnce(b *testing.B, media sound.Media, scorer sound.Scorer, folder *folder.Folder) {
	b.Helper()
	db, err := memory.Open(b.Context(), nil)
	require.NoError(b, err)
	s, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{
		Scorers: []sound.Scorer{scorer}, Media: media, Files: folder,
		Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)},
	})
	require.NoError(b, err)
	_, err = s.CreateDataset(b.Context(), org, "", "d")
	require.NoError(b, err)
	require.NoError(b, s.PutVideos(b.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: "a.wav"}))
	in, err := s.Ingest(b.Context(), org, "", "d")
	require.NoError(b, err)
	require.Equal(b, 1, in.Scored)
}

// BenchmarkIngest scores five minutes of sound, from the file to the stored scores, on
// one core. The limit is 100 times real time.
func BenchmarkIngest(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const length = 5 * time.Minute
	for _, rate := range []int{16000, 44100, 48000} {
		b.Run(fmt.Sprintf("wav-%d-stereo", rate), func(b *testing.B) {
			dir := b.TempDir()
			writeStereo(b, filepath.Join(dir, "a.wav"), rate, length)
			folder, err := folder.Open(dir)
			require.NoError(b, err)
			defer folder.Close()
			media := wav.Media{}
			scorer, err := signal.New(nil)
			require.NoError(b, err)
			for b.Loop() {
				ingestOnce(b, media, scorer, folder)
			}
			b.ReportMetric(length.Seconds()*float64(b.N)/b.Elapsed().Seconds(), "x-realtime")
		})
	}
}

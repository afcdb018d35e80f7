package audiosearch_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// pacedMedia takes its time for each block, and pacedScorer for each clip: away, as another
// program or server does. They count the time.
type pacedMedia struct {
	sound.Media
	block time.Duration
	took  time.Duration
}

func (m *pacedMedia) PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		began := time.Now()
		for block, err := range m.Media.PCM(ctx, path, rate) {
			time.Sleep(m.block)
			m.took += time.Since(began)
			if !yield(block, err) {
				return
			}
			began = time.Now()
		}
	}
}

type pacedScorer struct {
	sound.Scorer
	clip time.Duration
	took time.Duration
}

func (s *pacedScorer) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	began := time.Now()
	defer func() { s.took += time.Since(began) }()
	time.Sleep(time.Duration(len(clips)) * s.clip)
	return s.Scorer.Score(ctx, clips)
}

// BenchmarkIngestAhead scores five minutes of sound while the file is decoded. of-sum is the
// time of it all in that of the decoder and that of the scorer together, and of-longer in
// that of the one who takes longer. The limit of of-longer is 1.15 where both are away.
func BenchmarkIngestAhead(b *testing.B) {
	const length = 5 * time.Minute
	dir := b.TempDir()
	writeStereo(b, filepath.Join(dir, "a.wav"), 48000, length)
	folder, err := folder.Open(dir)
	require.NoError(b, err)
	defer folder.Close()
	waves := wav.Media{}
	sounds, err := signal.New(nil)
	require.NoError(b, err)
	for _, pace := range []struct{ block, clip time.Duration }{
		{0, 0}, {time.Millisecond, 0}, {0, 2 * time.Millisecond},
		{time.Millisecond, 2 * time.Millisecond}, {time.Millisecond, 6 * time.Millisecond}, {3 * time.Millisecond, 2 * time.Millisecond},
	} {
		b.Run(fmt.Sprintf("block-%v-clip-%v", pace.block, pace.clip), func(b *testing.B) {
			media, scorer := &pacedMedia{Media: waves, block: pace.block}, &pacedScorer{Scorer: sounds, clip: pace.clip}
			for b.Loop() {
				ingestOnce(b, media, scorer, folder)
			}
			b.ReportMetric(b.Elapsed().Seconds()/(media.took+scorer.took).Seconds(), "of-sum")
			b.ReportMetric(b.Elapsed().Seconds()/max(media.took, scorer.took).Seconds(), "of-longer")
		})
	}
}

package signal

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkScore measures how many times faster than the sound itself a long sound is
// scored on one core, each window of it, in batches as a service does. What the samples
// are hardly matters: between pink noise and tones the times differ by a fifth.
//
// The limit is 100 times for all of ingestion, decoding included. Half of that time may
// be spent here, hence 200.
func BenchmarkScore(b *testing.B) {
	s := newScorer(b)
	const minute = 60
	sounds := join(pair(2, 350, 440, 0.1), dialed("5551234", 0.1, 0.1, 0.1), spoken(6, 120, 0.1, 1))
	sound := mix(sloped(minute, 0.02, -3.01, 1), repeated(minute, 0, sounds))
	var clips [][]float32
	for at := 0; at+windowSize <= len(sound); at += int(hop/time.Second) * sampleRate {
		clips = append(clips, sound[at:at+windowSize])
	}
	var spent, fastest time.Duration
	for b.Loop() {
		start := time.Now()
		for at := 0; at < len(clips); at += 8 {
			_, err := s.Score(context.Background(), clips[at:min(at+8, len(clips))])
			require.NoError(b, err)
		}
		took := time.Since(start)
		spent += took
		if fastest == 0 || took < fastest {
			fastest = took
		}
	}
	scored := float64(len(clips)) * hop.Seconds() // of sound, but for the end of it
	b.ReportMetric(scored*float64(b.N)/spent.Seconds(), "x-realtime")
	b.ReportMetric(scored/fastest.Seconds(), "x-realtime-undisturbed")
	b.ReportMetric(200, "limit-x-realtime")
	b.ReportMetric(spent.Seconds()*1000/float64(b.N*len(clips)), "ms/window")
	b.ReportMetric(0, "ns/op")
}

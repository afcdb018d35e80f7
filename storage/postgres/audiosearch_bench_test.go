package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// BenchmarkAudioSearchTop finds the best 40 of 10^7 windows of one class of three, in turns
// with a bare scan of the rows that it reads. of-bare is the speed as a part of the bare
// one's.
func BenchmarkAudioSearchTop(b *testing.B) {
	const videos, windows = 2778, 3600
	ctx := b.Context()
	d := newDatabase(b)
	store, pool := d.open(b, nil).AudioSearch().Store, d.pool(b)
	require.NoError(b, store.CreateDataset(ctx, audiosearch.Dataset{Organization: "acme", ID: "d"}))
	random := rand.New(rand.NewPCG(1, 2))
	columns := make([][]uint16, 3)
	for i := range videos {
		id := fmt.Sprintf("video %d", i)
		require.NoError(b, store.PutVideos(ctx, "acme", "d", []audiosearch.Video{{ID: id, Path: "x.wav", Metadata: metadata.Map{"show": metadata.Int(int64(i % 7))}}}))
		for c := range columns {
			columns[c] = make([]uint16, windows)
			for w := range columns[c] {
				columns[c][w] = uint16(random.Uint32N(1 << 15))
			}
		}
		scoring := audiosearch.Scoring{Model: "m", Window: time.Second, Hop: time.Second, Windows: windows, Classes: []sound.Class{"Bark", "Rain", "Siren"}}
		require.NoError(b, store.PutScoring(ctx, "acme", "d", id, "x.wav", scoring, columns))
	}
	_, err := pool.Exec(ctx, "VACUUM ANALYZE")
	require.NoError(b, err)
	const bare = "SELECT video, first, scores FROM mortise.audiosearch_scores WHERE dataset = 1 AND model = $1 AND class = $2"
	var model, class int32
	require.NoError(b, pool.QueryRow(ctx, "SELECT (SELECT id FROM mortise.audiosearch_names WHERE name = 'm'),"+
		" (SELECT id FROM mortise.audiosearch_names WHERE name = 'Rain')").Scan(&model, &class))
	contenders := [2]func(){
		func() {
			hits, err := store.Search(ctx, "acme", "d", audiosearch.ScoreQuery{Model: "m", Class: "Rain", Limit: 40})
			require.NoError(b, err)
			require.Len(b, hits, 40)
		},
		func() {
			rows, err := pool.Query(ctx, bare, model, class)
			require.NoError(b, err)
			read := 0
			for rows.Next() {
				read += len(rows.RawValues()[2]) / 2
			}
			require.NoError(b, rows.Err())
			require.Equal(b, videos*windows, read)
		},
	}
	contenders[0]() // it fills the cache of the metadata
	var took [2]time.Duration
	for n := 0; b.Loop(); n++ {
		for k := range contenders {
			i := (n + k) % 2
			began := time.Now()
			contenders[i]()
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(took[0].Seconds()*1000/float64(b.N), "search-ms")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-bare")
	b.ReportMetric(0, "ns/op")
}

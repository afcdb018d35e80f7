package audiosearch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestLongVideosHoldUpNobody: while one organization has a long video scored, the short
// ones of others are scored in their turns, though there is one place for all. Who waits
// for their turn longer than Stall is not blamed for it.
func TestLongVideosHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const batch = 12 * time.Second
		r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
			o.Ingesting, o.Stall = 1, batch+time.Second
		})
		r.file("long", noise(600_000, 1), nil)
		neighbors := []string{"b", "c"}
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, "short"), noise(12_000, 3), 0o600))
		for _, other := range neighbors {
			_, err := r.CreateDataset(t.Context(), other, "", "d")
			require.NoError(t, err)
			require.NoError(t, r.PutVideos(t.Context(), other, "", "d", audiosearch.Video{ID: "short", Path: "short"}))
		}
		slow := func(context.Context) error {
			time.Sleep(batch)
			return nil
		}
		r.scorer.hook.Store(&slow)
		ingest := func(org string) chan audiosearch.Ingested {
			came := make(chan audiosearch.Ingested, 1)
			go func() {
				in, err := r.Ingest(t.Context(), org, "", "d")
				if err != nil || len(in.Problems) > 0 {
					t.Error(org, in, err)
				}
				came <- in
			}()
			return came
		}
		long := ingest(org)
		time.Sleep(time.Minute)
		began := time.Now()
		b, c := ingest(neighbors[0]), ingest(neighbors[1])
		require.Equal(t, 1, (<-b).Scored)
		require.Equal(t, 1, (<-c).Scored)
		require.LessOrEqual(t, time.Since(began), 5*3*batch, "5 batches of each")
		require.Empty(t, long)
		require.Equal(t, 1, (<-long).Scored)
	})
}

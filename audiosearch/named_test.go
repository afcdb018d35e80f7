package audiosearch_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestNamedErrors: an error says once which dataset, video or run is missing, or is there
// already.
func TestNamedErrors(t *testing.T) {
	r := newRig(t, nil)
	const none = `audiosearch: no such dataset: "nowhere"`
	for message, call := range map[string]map[string]func(context.Context) error{
		none: {
			"Dataset": func(ctx context.Context) error { _, err := r.Dataset(ctx, org, "nowhere"); return err },
			"DeleteDataset": func(ctx context.Context) error {
				return r.DeleteDataset(ctx, org, "", "nowhere")
			},
			"PutVideos": func(ctx context.Context) error {
				return r.PutVideos(ctx, org, "", "nowhere", audiosearch.Video{ID: "a", Path: "a.wav"})
			},
			"ListVideos": func(ctx context.Context) error {
				_, err := r.ListVideos(ctx, org, "nowhere", "", 0)
				return err
			},
			"Video":       func(ctx context.Context) error { _, err := r.Video(ctx, org, "nowhere", "a"); return err },
			"DeleteVideo": func(ctx context.Context) error { return r.DeleteVideo(ctx, org, "", "nowhere", "a") },
			"Ingest":      func(ctx context.Context) error { _, err := r.Ingest(ctx, org, "", "nowhere"); return err },
			"Start": func(ctx context.Context) error {
				_, err := r.Start(ctx, org, "", audiosearch.Query{Dataset: "nowhere", Class: loud})
				return err
			},
			"Search": func(ctx context.Context) error {
				_, err := r.Search(ctx, org, "", audiosearch.Query{Dataset: "nowhere", Class: loud})
				return err
			},
			"Run":      func(ctx context.Context) error { _, err := r.Run(ctx, org, "nowhere", 7); return err },
			"Scorings": func(ctx context.Context) error { _, err := r.Scorings(ctx, org, "nowhere", "a"); return err },
			"ListRuns": func(ctx context.Context) error {
				_, err := r.ListRuns(ctx, org, audiosearch.RunQuery{Dataset: "nowhere"})
				return err
			},
		},
		`mortise: already exists: "d"`: {
			"CreateDataset": func(ctx context.Context) error { _, err := r.CreateDataset(ctx, org, "", "d"); return err },
		},
		`audiosearch: no such video: "nothing"`: {
			"Video":       func(ctx context.Context) error { _, err := r.Video(ctx, org, "d", "nothing"); return err },
			"DeleteVideo": func(ctx context.Context) error { return r.DeleteVideo(ctx, org, "", "d", "nothing") },
		},
		"audiosearch: no such run: 7": {
			"Run": func(ctx context.Context) error { _, err := r.Run(ctx, org, "d", 7); return err },
		},
	} {
		for name, do := range call {
			require.EqualError(t, do(t.Context()), message, name)
			if message != `mortise: already exists: "d"` {
				require.ErrorIs(t, do(t.Context()), mortise.ErrNotFound, name)
			}
		}
	}
}

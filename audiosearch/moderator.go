package audiosearch

import "context"

// Moderator says how far segments that are to be shown are fit to be shown.
type Moderator interface {
	// Moderate returns a score in [0,1] for each result, in order. An error leaves all
	// of them without one.
	Moderate(ctx context.Context, org string, results []Result) ([]float64, error)
}

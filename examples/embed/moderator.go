package embed

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// recordings is the one dataset that each tenant of this host has.
const recordings = "calls"

// moderator is this host's own policy: what is heard beside the sound that was searched
// for decides how far a segment is fit to be shown. It knows no more than the scorer: 1
// means that no listed sound was recognized, and not that there is none.
type moderator struct {
	// sounds are those that are not to be played to everybody. The tones of a telephone
	// give away the number that was dialed.
	sounds []sound.Class

	service *audiosearch.Service // that has scored the recordings; set once it is there
}

// moderate is for [audiosearch.Options]: a score is 1 less how sure the scorer is
// of the listed sound that it hears best in the segment. It reads the scores that are
// there, once for each result. If they cannot be read, no result has a moderation score,
// rather than one that says that all is well.
func (m *moderator) moderate(ctx context.Context, org string, results []audiosearch.Result) ([]float64, error) {
	fit := make([]float64, len(results))
	for i, r := range results {
		end := max(r.End, r.Start+time.Millisecond)
		heard, err := m.service.Top(ctx, org, recordings, r.VideoID, r.Start, end, sound.MaxClasses)
		if err != nil {
			return nil, err
		}
		if fit[i], err = m.fit(heard); err != nil {
			return nil, err
		}
	}
	return fit, nil
}

// fit is the score of a segment in which so much is heard.
func (m *moderator) fit(heard []audiosearch.TopClass) (float64, error) {
	sure := make(map[sound.Class]float64, len(heard))
	for _, h := range heard {
		sure[h.Class] = h.Score
	}
	worst := 0.0
	for _, sound := range m.sounds {
		score, known := sure[sound]
		if !known { // then nobody has listened for it
			return 0, errors.New("the scorer does not know the sound " + string(sound))
		}
		worst = max(worst, score)
	}
	return 1 - worst, nil
}

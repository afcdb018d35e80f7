package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// atLeastHeard is how many of the 29 recordings must be heard as what they are. YAMNet takes two
// of the chainsaws for nothing in particular.
const atLeastHeard = 27

// soundScores are the best scores of recordings, by file and by the name of a class.
type soundScores map[string]map[string]float64

// TestModelHearsRecordings: a server with YAMNet hears what people wrote on recordings: a name
// of a recording's own label is above all names that the other kinds of sounds have.
func TestModelHearsRecordings(t *testing.T) {
	t.Parallel()
	sounds, model := recordings(t), yamnet(t)
	tool(t, "ffmpeg")
	p := buildServer(t)
	m := newMedia(t)
	var clips []clip
	kinds := make(map[string][]string) // their names
	for _, r := range sounds {
		m.write(r.file, read(t, referenceData(t, "sounds", r.file)))
		clips = append(clips, clip{r.file, r.file, nil})
		for _, name := range r.labels {
			if !slices.Contains(kinds[r.kind], name) {
				kinds[r.kind] = append(kinds[r.kind], name)
			}
		}
	}
	require.Len(t, kinds, 10)
	s := p.startModel(t, model, m.document(clips...)).guardMedia(m)
	s.awaitIngestion()
	require.Equal(t, len(sounds)+1, s.scored(), "and the first of them in the other dataset")

	scores := make(soundScores)
	for _, names := range kinds {
		for _, name := range names {
			scores.add(name, s.find(viewerToken, name, object{"limit": 1000}))
		}
	}
	require.Len(t, scores, len(sounds), "every window is a result")

	heard := 0
	table := "\n"
	for _, r := range sounds {
		own, ownScore := scores.best(r.file, kinds[r.kind])
		var foreign []string
		for kind, names := range kinds {
			if kind != r.kind {
				foreign = append(foreign, names...)
			}
		}
		other, otherScore := scores.best(r.file, foreign)
		ok := "-"
		if ownScore > otherScore {
			ok = "ok"
			heard++
		}
		table += fmt.Sprintf("%-20s %-30s %.4f   %-30s %.4f  %s\n", r.file, own, ownScore, other, otherScore, ok)
	}
	t.Log(table)
	t.Logf("%d of %d; mAP %.4f", heard, len(sounds), scores.meanAveragePrecision(t, sounds, kinds))
	assert.GreaterOrEqual(t, heard, atLeastHeard)
}

// add takes the best score of each recording.
func (s soundScores) add(name string, found []segment) {
	for _, f := range found {
		of := s[f.Video.ID]
		if of == nil {
			of = make(map[string]float64)
			s[f.Video.ID] = of
		}
		of[name] = max(of[name], f.Score)
	}
}

// best returns the name that a recording has the best score for.
func (s soundScores) best(file string, names []string) (best string, score float64) {
	score = -1
	for _, name := range slices.Sorted(slices.Values(names)) {
		if s[file][name] > score {
			best, score = name, s[file][name]
		}
	}
	return best, score
}

// meanAveragePrecision ranks all recordings for each kind by the best score of its names, and
// logs how good that is: the mean, over the recordings of the kind, of the share of such
// recordings among those that are ranked up to there. It returns the mean over the kinds.
func (s soundScores) meanAveragePrecision(t *testing.T, sounds []recording, kinds map[string][]string) (mean float64) {
	t.Helper()
	var texts []string
	for kind, names := range kinds {
		ranked := slices.Clone(sounds)
		slices.SortStableFunc(ranked, func(a, b recording) int {
			_, ofA := s.best(a.file, names)
			_, ofB := s.best(b.file, names)
			return cmp.Compare(ofB, ofA)
		})
		found, precision := 0, 0.0
		for i, r := range ranked {
			if r.kind == kind {
				found++
				precision += float64(found) / float64(i+1)
			}
		}
		precision /= float64(found)
		mean += precision / float64(len(kinds))
		texts = append(texts, fmt.Sprintf("%s %.4f", kind, precision))
	}
	slices.Sort(texts)
	t.Logf("average precision: %s", strings.Join(texts, ", "))
	return mean
}

package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestKillUnderIngestion kills the server with SIGKILL, again and again, while it scores
// videos and carries out searches. After the last start every search that was answered
// ends, and it and a new one find exactly what they find on a server that was never
// disturbed.
//
// MORTISE_SEED=N kills at the same moments.
func TestKillUnderIngestion(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	const videos = 6
	const kills = 4 // of a search that meets them all: with a fifth it would be given up
	const rounds = 10
	moments := rand.New(rand.NewPCG(seeded(t), 1<<36))
	p := buildServer(t)
	m := newMedia(t)
	var clips []clip
	for i := range videos {
		name := fmt.Sprintf("%d.wav", i)
		m.wav(name, whiteNoise(10+20*float64(i), uint64(i)), dialTone(float64(8+i)), whiteNoise(10, uint64(100+i)))
		clips = append(clips, clip{fmt.Sprint(i), name, object{"n": i}})
	}
	config := m.document(clips...)
	searches := []struct {
		class string
		more  object
	}{
		{"Dial tone", object{"limit": 1000}},
		{"White noise", object{"limit": 100, "offset": 10, "metadata_filters": []object{{"key": "n", "op": ">", "value": "1"}}}},
	}

	undisturbed := p.start(t, nil, "-config", config).guardMedia(m)
	var want [][]segment
	for _, search := range searches {
		found := undisturbed.find(viewerToken, search.class, search.more)
		require.NotEmpty(t, found)
		want = append(want, found)
	}
	undisturbed.awaitIngestion()
	whole := undisturbed.scored()
	undisturbed.stop()

	for round := range rounds {
		dir := t.TempDir()
		type begun struct {
			id    string
			which int
		}
		var runs []begun
		var scored []int
		for range kills {
			s := p.startIn(t, dir, nil, "-config", config).guardMedia(m)
			for which, search := range searches {
				runs = append(runs, begun{s.search(viewerToken, search.class, search.more), which})
			}
			// Half of the kills come as soon as a video has its scores, the others at any
			// time.
			if moments.IntN(2) == 0 {
				before := s.scored()
				s.await("a video to be scored", func() bool {
					return s.scored() > before || strings.Contains(s.stderr.String(), "all videos have been looked at") // none is left
				})
			}
			time.Sleep(time.Duration(moments.IntN(300)) * time.Millisecond)
			s.kill()
			scored = append(scored, s.scored())
		}
		s := p.startIn(t, dir, nil, "-config", config).guardMedia(m)
		for which, search := range searches {
			runs = append(runs, begun{s.search(viewerToken, search.class, search.more), which})
		}
		for _, run := range runs {
			ended := s.awaitRun(viewerToken, run.id)
			if assert.Equal(t, "SUCCESS", *ended.Termination, "round %d: %v", round, ended.Message) {
				assert.Equal(t, want[run.which], s.results(viewerToken, run.id), "round %d", round)
			}
			assert.Nil(t, ended.Message)
		}
		s.awaitIngestion()
		for which, search := range searches {
			assert.Equal(t, want[which], s.find(viewerToken, search.class, search.more), "round %d", round)
		}
		s.stop()
		t.Logf("%d kills; scored before them: %v, and then %d; undisturbed %d", kills, scored, s.scored(), whole)
	}
}

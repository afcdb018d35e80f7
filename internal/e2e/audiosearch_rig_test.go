package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/synth"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// Paths of the audio search. A run's ID goes to the end of the latter three.
const (
	soundPath     = "/api/v0/search/metadata-filters/audio-sound"
	runStatusPath = "/api/v0/search/metadata-filters/job/status/"
	runResultPath = "/api/v0/search/metadata-filters/job/result/"
	runCancelPath = "/api/v0/search/metadata-filters/job/cancel/"
)

// media is a folder with a provisioning document and the files that it names.
type media struct {
	t    testing.TB
	dir  string
	more string // members that the document gives the organization acme
}

func newMedia(t *testing.T) *media {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a secret folder")
	require.NoError(t, os.Mkdir(dir, 0o700))
	return &media{t: t, dir: dir}
}

func (m *media) path(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

func (m *media) write(name string, content []byte) {
	m.t.Helper()
	require.NoError(m.t, os.MkdirAll(filepath.Dir(m.path(name)), 0o700))
	require.NoError(m.t, os.WriteFile(m.path(name), content, 0o600))
}

// mediaRate is the sample rate of the sounds that the tests make, in Hz.
const mediaRate = 16000

// wav writes a WAV file of sounds that come one after the other.
func (m *media) wav(name string, sounds ...[]float32) {
	m.t.Helper()
	var b bytes.Buffer
	require.NoError(m.t, wav.Encode(&b, mediaRate, slices.Concat(sounds...)))
	m.write(name, b.Bytes())
}

// whiteNoise is white noise, another one for each seed.
func whiteNoise(seconds float64, seed uint64) []float32 {
	return synth.Samples(mediaRate, seed, synth.White(0.03).For(seconds))
}

// halfAnHour is noise that takes a while to be scored.
func halfAnHour() [][]float32 { return slices.Repeat([][]float32{whiteNoise(60, 9)}, 30) }

// tones are sines, each as loud as the others: 350 and 440 Hz are a dial tone.
func tones(seconds float64, hz ...float64) []float32 {
	return synth.Samples(mediaRate, 1, synth.Tones(0.2, hz...).For(seconds))
}

func dialTone(seconds float64) []float32 { return tones(seconds, 350, 440) }

// ffmpeg runs the program in the folder.
func (m *media) ffmpeg(args ...string) {
	m.t.Helper()
	cmd := exec.Command(tool(m.t, "ffmpeg"), append([]string{"-nostdin", "-v", "error", "-y"}, args...)...)
	cmd.Dir = m.dir
	out, err := cmd.CombinedOutput()
	require.NoError(m.t, err, "%s", out)
}

// mp4 makes a video of a sound, with a keyframe every two seconds.
func (m *media) mp4(name string, sounds ...[]float32) {
	m.t.Helper()
	m.wav("sound.wav", sounds...)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(m.path(name)), 0o700))
	m.ffmpeg("-f", "lavfi", "-i", "testsrc=size=128x72:rate=10", "-i", "sound.wav", "-shortest", "-c:v", "mpeg4", "-g", "20", "-sc_threshold", "1000000000",
		"-c:a", "aac", "-b:a", "96k", filepath.FromSlash(name))
	require.NoError(m.t, os.Remove(m.path("sound.wav")))
}

// clip is a video of the document.
type clip struct {
	ID       string `json:"id"`
	Path     string `json:"path"`
	Metadata object `json:"metadata,omitempty"`
}

// document writes the provisioning document: in acme the dataset d1 with the videos, and
// d2 with the first of them; in other a dataset d1 that is empty. The tokens that call it
// have all roles there are.
func (m *media) document(videos ...clip) (path string) {
	m.t.Helper()
	text := func(v any) string {
		b, err := json.Marshal(v)
		require.NoError(m.t, err)
		return string(b)
	}
	if videos == nil {
		videos = []clip{}
	}
	m.write("acme.json", []byte(`{"organizations": [{"id": "acme", "rbac_enabled": true, "access_tokens": [
		{"token": "`+rootToken+`", "subject": "root"},
		{"token": "`+adminToken+`", "subject": "admin", "roles": [{"role_id": "admin"}]},
		{"token": "`+editorToken+`", "subject": "editor", "roles": [{"role_id": "editor"}]},
		{"token": "`+viewerToken+`", "subject": "viewer", "roles": [{"role_id": "viewer"}]},
		{"token": "`+elsewhereUser+`", "subject": "elsewhere", "roles": [{"role_id": "viewer", "resource": "dataset", "resource_instance": "d2"}]}],
		"datasets": [{"id": "d1", "videos": `+text(videos)+`}, {"id": "d2", "videos": `+text(videos[:min(1, len(videos))])+`}]`+m.more+`},
	{"id": "other", "access_tokens": [{"token": "`+otherToken+`", "subject": "root"}], "datasets": [{"id": "d1"}]}]}`))
	return m.path("acme.json")
}

// awaitIngestion waits until the server has looked at the videos of its document.
func (s *server) awaitIngestion() {
	s.t.Helper()
	s.await("the videos to be scored", func() bool { return strings.Contains(s.stderr.String(), "all videos have been looked at") })
}

// scored returns how many videos the server has scored, by what it logged.
func (s *server) scored() int { return strings.Count(s.stderr.String(), `"msg":"video scored"`) }

// search starts a run in the dataset d1.
func (s *server) search(token, class string, more object) (run string) {
	s.t.Helper()
	body := object{"dataset_id": "d1", "audio_class": class}
	for key, value := range more {
		body[key] = value
	}
	started := ask[struct {
		Run json.Number `json:"run_id"`
	}](s, http.StatusOK, "POST", soundPath, token, body)
	return started.Run.String()
}

// runStatus is what the status operation answers.
type runStatus struct {
	State       string
	Termination *string `json:"termination_type"`
	Message     *string `json:"termination_message"`
	Progress    struct{ Done, Total int }
}

func (s *server) runStatus(token, run string) runStatus {
	s.t.Helper()
	return ask[runStatus](s, http.StatusOK, "GET", runStatusPath+run+"?dataset_id=d1", token, nil)
}

// awaitRun waits for the end of a run, and returns how it ended.
func (s *server) awaitRun(token, run string) (ended runStatus) {
	s.t.Helper()
	s.await("the run to end", func() bool {
		ended = s.runStatus(token, run)
		return ended.State == "TERMINATED"
	})
	require.NotNil(s.t, ended.Termination)
	return ended
}

// segment is a result of a run.
type segment struct {
	Video struct {
		ID       string `json:"video_id"`
		Path     string
		Metadata json.RawMessage
	}
	Start    int `json:"start_time_ms"`
	End      int `json:"end_time_ms"`
	Keyframe struct {
		ID string `json:"image_id"`
		At int    `json:"timestamp_ms"`
	}
	Score      float64
	Moderation *float64 `json:"moderation_score"`
}

// results returns what a run found that has ended well.
func (s *server) results(token, run string) []segment {
	s.t.Helper()
	answered := ask[struct {
		Status, Target string
		Results        []segment
	}](s, http.StatusOK, "GET", runResultPath+run+"?dataset_id=d1", token, nil)
	require.Equal(s.t, "SUCCESS", answered.Status)
	return answered.Results
}

// find searches, waits and returns what was found.
func (s *server) find(token, class string, more object) []segment {
	s.t.Helper()
	run := s.search(token, class, more)
	require.Equal(s.t, "SUCCESS", *s.awaitRun(token, run).Termination)
	return s.results(token, run)
}

// guardMedia: the server's log must not tell where the folder is, nor a token.
func (s *server) guardMedia(m *media) *server {
	s.guard(append(vaultTokens(), m.dir)...)
	return s
}

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestAudioSearch searches on the server as clients do.
func TestAudioSearch(t *testing.T) {
	t.Parallel()
	p := buildServer(t)
	for name, test := range map[string]func(*testing.T, program){
		"document of the contract": testSearchContract,
		"found in noise":           testSearchLong,
		"roles":                    testSearchRoles,
		"broken files":             testSearchBroken,
		"cancel":                   testSearchCancel,
		"restart":                  testSearchRestart,
		"two servers, one folder":  testSearchShared,
		"stopped while scoring":    testSearchStopped,
		"without ffmpeg":           testSearchWithoutPrograms,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// testSearchContract: the document that the contract shows, with a real video, on each
// storage.
func testSearchContract(t *testing.T, p program) {
	document, err := os.ReadFile(filepath.Join("..", "..", "examples", "server", "testdata", "acme.json"))
	require.NoError(t, err)
	m := newMedia(t)
	m.write("acme.json", document)
	m.mp4("media/clip-1.mp4", whiteNoise(13, 1), dialTone(8), whiteNoise(9, 2))
	eachStorage(t, p, func(t *testing.T, start func(args ...string) *server) {
		s := start("-config", m.path("acme.json")).guardMedia(m)
		s.awaitIngestion()
		filters := []object{{"key": "show", "value": "news"}, {"key": "season", "op": ">=", "value": "2.5"}}
		found := s.find(accessToken, "Dial tone", object{"metadata_filters": filters, "limit": 3})
		require.Len(t, found, 3)
		// A segment has 10 s and begins every 2 s. Those that hold all of the tone are
		// the best, in the order of their times.
		best := found[0]
		assert.Equal(t, "clip-1", best.Video.ID)
		assert.Equal(t, "media/clip-1.mp4", best.Video.Path)
		assert.JSONEq(t, `{"show":"news","season":3}`, string(best.Video.Metadata))
		assert.Equal(t, 10_000, best.End-best.Start)
		assert.LessOrEqual(t, best.Start, 14_000)
		assert.GreaterOrEqual(t, best.End, 20_000)
		assert.Equal(t, best.Start, best.Keyframe.At, "there is a keyframe every 2 s")
		assert.NotEmpty(t, best.Keyframe.ID)
		assert.Greater(t, best.Score, 0.8)
		assert.Nil(t, best.Moderation)
		assert.GreaterOrEqual(t, best.Score, found[1].Score)

		// A client of the document may look, in this dataset.
		client := s.token("c1", clientSecret)
		s.guard(client)
		assert.Equal(t, found, s.find(client, "Dial tone", object{"limit": 3}))
		none := s.search(client, "Dial tone", object{"metadata_filters": []object{{"key": "season", "op": "<", "value": "3"}}})
		assert.Equal(t, "SUCCESS", *s.awaitRun(client, none).Termination)
		assert.Empty(t, s.results(client, none))
	})
}

// testSearchLong: a dial tone between 30 and 42 s of three minutes of noise is
// found there, among other files.
func testSearchLong(t *testing.T, p program) {
	nightly.Only(t)
	m := newMedia(t)
	m.wav("long.wav", whiteNoise(30, 1), dialTone(12), whiteNoise(138, 2))
	m.wav("noise.wav", whiteNoise(30, 3))
	m.wav("hum.wav", tones(20, 50, 100, 150, 200, 250, 300))
	config := m.document(clip{"long", "long.wav", object{"n": 1}}, clip{"noise", "noise.wav", object{"n": 2}}, clip{"hum", "hum.wav", nil})
	eachStorage(t, p, func(t *testing.T, start func(args ...string) *server) {
		s := start("-config", config).guardMedia(m)
		found := s.find(viewerToken, "Dial tone", object{"limit": 5}) // waits for the scores that it needs
		require.Len(t, found, 5)
		assert.Equal(t, "long", found[0].Video.ID)
		assert.Contains(t, []int{30_000, 32_000}, found[0].Start)
		assert.Contains(t, []int{30_000, 32_000}, found[1].Start)
		assert.Greater(t, found[1].Score, 0.8)
		assert.Equal(t, found[0].Start, found[0].Keyframe.At, "without pictures each segment has a keyframe at its start")
		assert.Empty(t, s.find(viewerToken, "Dial tone", object{"metadata_filters": []object{{"key": "n", "op": ">", "value": "2"}}}))
		found = s.find(viewerToken, "Mains hum", object{"limit": 1})
		assert.Equal(t, "hum", found[0].Video.ID)
		s.awaitIngestion()
		assert.Equal(t, 4, s.scored(), "each video of each dataset once")
	})
}

// testSearchRoles: who may search, cancel and look.
func testSearchRoles(t *testing.T, p program) {
	m := newMedia(t)
	m.wav("a.wav", dialTone(3))
	s := p.start(t, nil, "-memory", "-config", m.document(clip{"a", "a.wav", nil})).guardMedia(m)
	run := s.search(viewerToken, "Dial tone", nil)
	s.awaitRun(viewerToken, run)
	search := func(dataset string) string { return `{"dataset_id":"` + dataset + `","audio_class":"Dial tone"}` }
	for _, test := range []struct {
		token                 string
		search, look, cancels int // the status
	}{
		{rootToken, 200, 200, 409},
		{adminToken, 200, 200, 409},
		{editorToken, 200, 200, 409},
		{viewerToken, 200, 200, 403},
		{elsewhereUser, 403, 403, 403},
		{otherToken, 200, 404, 404}, // its own dataset d1, which has no such run
		{goodKey, 401, 401, 401},
		{"", 401, 401, 401},
	} {
		assert.Equal(t, test.search, s.do("POST", soundPath, test.token, search("d1")).status, test.token)
		assert.Equal(t, test.look, s.status("GET", runStatusPath+run+"?dataset_id=d1", test.token), test.token)
		assert.Equal(t, test.look, s.status("GET", runResultPath+run+"?dataset_id=d1", test.token), test.token)
		assert.Equal(t, test.cancels, s.status("POST", runCancelPath+run+"?dataset_id=d1", test.token), test.token)
	}
	assert.Equal(t, http.StatusOK, s.do("POST", soundPath, elsewhereUser, search("d2")).status)
	assert.Equal(t, http.StatusNotFound, s.do("POST", soundPath, otherToken, search("d2")).status)
	for _, dataset := range []string{"d2", "d3", ""} {
		assert.Equal(t, http.StatusNotFound, s.status("GET", runStatusPath+run+"?dataset_id="+dataset, adminToken), dataset)
	}
}

// testSearchBroken: what is wrong with a file is said, and holds up nothing else.
func testSearchBroken(t *testing.T, p program) {
	nightly.Only(t)
	tool(t, "ffmpeg")
	m := newMedia(t)
	m.wav("good.wav", dialTone(5))
	m.mp4("whole.mp4", dialTone(5))
	whole, good := read(t, m.path("whole.mp4")), read(t, m.path("good.wav"))
	m.write("empty.wav", nil)
	m.write("empty.mp4", nil)
	m.write("cut.mp4", whole[:len(whole)/2]) // the index is at its end
	m.write("header.wav", good[:30])
	m.write("half.wav", good[:len(good)/2])
	m.write("list.m3u8", []byte("#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n/etc/passwd\n#EXT-X-ENDLIST\n"))
	m.write("list.mp4", []byte("ffconcat version 1.0\nfile /etc/passwd\n"))
	m.write("text.wav", []byte(strings.Repeat("This is no sound. ", 100)))
	m.write("really-wav.mp4", good)
	m.write("folder.wav/x", nil)
	require.NoError(t, os.Symlink("/etc/passwd", m.path("outside.wav")))
	require.NoError(t, os.Symlink("good.wav", m.path("inside.wav")))
	m.ffmpeg("-f", "lavfi", "-i", "testsrc=size=64x48:rate=5:duration=2", "-c:v", "mpeg4", "silent.mp4")
	said := map[string]string{ // of the broken ones
		"empty.wav": "empty", "empty.mp4": "empty", "cut.mp4": "", "header.wav": "", "list.m3u8": "", "list.mp4": "", "text.wav": "",
		"folder.wav": "plain file", "outside.wav": "leads out of the folder", "missing.wav": "no such file", "silent.mp4": "no sound",
	}
	var clips []clip
	for name := range said {
		clips = append(clips, clip{name, name, nil})
	}
	for _, name := range []string{"good.wav", "whole.mp4", "really-wav.mp4", "inside.wav", "half.wav"} {
		clips = append(clips, clip{name, name, nil})
	}
	s := p.start(t, nil, "-config", m.document(clips...)).guardMedia(m)
	s.awaitIngestion()
	run := s.search(viewerToken, "Dial tone", nil)
	ended := s.awaitRun(viewerToken, run)
	assert.Equal(t, "SUCCESS", *ended.Termination)
	require.NotNil(t, ended.Message)
	assert.Contains(t, *ended.Message, strconv.Itoa(len(said))+" of "+strconv.Itoa(len(clips))+" videos could not be searched.")
	assert.Contains(t, *ended.Message, "1 of "+strconv.Itoa(len(clips))+" videos could be searched in part only.")
	assert.Contains(t, s.stderr.String(), `"msg":"only a part of a video can be searched","organization":"acme","dataset":"d1","video":"half.wav","problem":"the file ends at 2.499s,`)
	assert.Equal(t, len(clips), ended.Progress.Done)
	for name, want := range said {
		line := ""
		for l := range strings.Lines(s.stderr.String()) {
			if strings.Contains(l, `"dataset":"d1","video":"`+name+`"`) {
				assert.Empty(t, line, "told twice: %s", l)
				line = l
			}
		}
		assert.Contains(t, line, `"level":"WARN","msg":"a video cannot be searched"`, name)
		assert.Contains(t, line, want, name)
	}
	for _, text := range []string{*ended.Message, s.stderr.String()} {
		assert.NotContains(t, text, "root:")
		assert.NotContains(t, text, "/etc/")
		assert.NotContains(t, text, "/proc/")
	}
	t.Log(strings.ReplaceAll(*ended.Message, ". \"", ".\n\""))
	found := map[string]bool{}
	for _, r := range s.results(viewerToken, run) {
		found[r.Video.ID] = true
		assert.Greater(t, r.Score, 0.8, r.Video.ID)
	}
	assert.Equal(t, map[string]bool{"good.wav": true, "whole.mp4": true, "really-wav.mp4": true, "inside.wav": true, "half.wav": true}, found)
}

// testSearchCancel cancels a run that has much to do.
func testSearchCancel(t *testing.T, p program) {
	m := newMedia(t)
	m.wav("long.wav", halfAnHour()...)
	m.wav("short.wav", whiteNoise(5, 2))
	config := m.document(clip{"long", "long.wav", object{"n": 1}}, clip{"short", "short.wav", object{"n": 2}})
	s := p.start(t, nil, "-config", config).guardMedia(m)
	run := s.search(editorToken, "Dial tone", nil)
	cancelled := ask[runStatus](s, http.StatusOK, "POST", runCancelPath+run+"?dataset_id=d1", editorToken, nil)
	assert.Contains(t, []string{"TERMINATING", "TERMINATED"}, cancelled.State)
	ended := s.awaitRun(editorToken, run)
	assert.Equal(t, "CLIENT_ERROR", *ended.Termination)
	assert.Equal(t, "The run was cancelled.", *ended.Message)
	assert.Equal(t, http.StatusConflict, s.status("POST", runCancelPath+run+"?dataset_id=d1", editorToken))
	found := s.find(editorToken, "White noise", object{"metadata_filters": []object{{"key": "n", "op": ">", "value": "1"}}})
	require.Len(t, found, 1, "the next run waits for nothing but what it needs")
	assert.Equal(t, "short", found[0].Video.ID)
}

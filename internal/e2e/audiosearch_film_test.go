package e2e

import (
	"fmt"
	"html"
	"image"
	"image/color"
	"image/jpeg"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scene is a part of the film: a recording, with a card of a colour of its own as the picture.
type scene struct {
	file, name string // the name of the class
	colour     color.RGBA
}

var scenes = []scene{
	{"dog-bark-3.ogg", "Dog", color.RGBA{R: 200, A: 255}},
	{"rain-1.ogg", "Rain", color.RGBA{B: 220, A: 255}},
	{"person-sneeze-3.ogg", "Sneeze", color.RGBA{G: 170, A: 255}},
	{"clock-tick-3.ogg", "Clock", color.RGBA{R: 230, G: 200, A: 255}},
	{"rooster-3.ogg", "Chicken, rooster", color.RGBA{R: 200, B: 200, A: 255}},
	{"sea-waves-2.ogg", "Ocean", color.RGBA{G: 190, B: 200, A: 255}},
}

// The film has so many seconds of silence, with a grey card, before each scene and at its end,
// and a keyframe each second.
const (
	sceneSeconds   = 5
	silenceSeconds = 3
)

// begins returns where a scene begins, in milliseconds.
func begins(scene int) int { return 1000 * (silenceSeconds + scene*(sceneSeconds+silenceSeconds)) }

// film makes the film, of H.264 and AAC.
func (m *media) film(name string) {
	m.t.Helper()
	encoders, err := exec.Command(tool(m.t, "ffmpeg"), "-v", "error", "-encoders").Output()
	require.NoError(m.t, err)
	codec := "libx264"
	if !strings.Contains(string(encoders), codec) {
		codec = "mpeg4"
	}
	var inputs []string
	graph, parts := "", ""
	for i, s := range scenes {
		m.write(s.file, read(m.t, referenceData(m.t, "sounds", s.file)))
		inputs = append(inputs, "-i", s.file)
		graph += fmt.Sprintf("color=gray:s=320x180:r=10:d=%d[g%d];anullsrc=r=44100:cl=stereo,atrim=duration=%d[s%d];",
			silenceSeconds, i, silenceSeconds, i)
		graph += fmt.Sprintf("color=0x%02x%02x%02x:s=320x180:r=10:d=%d[v%d];", s.colour.R, s.colour.G, s.colour.B, sceneSeconds, i)
		graph += fmt.Sprintf("[%d:a]aformat=sample_rates=44100:channel_layouts=stereo,apad,atrim=duration=%d[a%d];", i, sceneSeconds, i)
		parts += fmt.Sprintf("[g%d][s%d][v%d][a%d]", i, i, i, i)
	}
	graph += fmt.Sprintf("color=gray:s=320x180:r=10:d=%d[g];anullsrc=r=44100:cl=stereo,atrim=duration=%d[s];", silenceSeconds, silenceSeconds)
	graph += fmt.Sprintf("%s[g][s]concat=n=%d:v=1:a=1[v][a]", parts, 2*len(scenes)+1)
	m.ffmpeg(append(inputs, "-filter_complex", graph, "-map", "[v]", "-map", "[a]", "-c:v", codec, "-pix_fmt", "yuv420p", "-g", "10",
		"-force_key_frames", "expr:gte(t,n_forced)", "-c:a", "aac", "-b:a", "128k", "-movflags", "+faststart", name)...)
}

// TestModelFindsScenes: in a film with a picture, each of six sounds is found in its own
// scene, over HTTP and on the page, with a picture of that scene.
func TestModelFindsScenes(t *testing.T) {
	t.Parallel()
	model := yamnet(t)
	p := buildServer(t)
	m := newMedia(t)
	m.film("film.mp4")
	s := p.startModel(t, model, m.document(clip{"film", "film.mp4", object{"show": "six sounds"}})).guardMedia(m)
	s.awaitIngestion()
	b := newBrowser(t, s)
	b.login(viewerToken)
	for i, scene := range scenes {
		from, to := begins(i), begins(i)+1000*sceneSeconds
		found := s.find(viewerToken, scene.name, object{"limit": 1000})
		require.NotEmpty(t, found)
		best, elsewhere := found[0], 0.0
		for _, f := range found {
			if f.End <= from || f.Start >= to {
				elsewhere = max(elsewhere, f.Score)
			}
		}
		t.Logf("%-18s %5.1f s to %5.1f s of the film, found at %6.3f s with %.4f, elsewhere %.4f; the picture is of %6.3f s",
			scene.name, float64(from)/1000, float64(to)/1000, float64(best.Start)/1000, best.Score, elsewhere, float64(best.Keyframe.At)/1000)
		assert.Greater(t, best.End, from, scene.name)
		assert.Less(t, best.Start, to, scene.name)
		assert.Greater(t, best.Score, elsewhere, scene.name)
		assert.InDelta(t, best.Start, best.Keyframe.At, 501, "there is a keyframe each second")
		assert.Zero(t, best.Keyframe.At%1000)

		page := b.search(url.Values{"dataset": {"d1"}, "class": {scene.name}, "score": {fmt.Sprint((best.Score + elsewhere) / 2)}, "limit": {"1000"}})
		posters := regexp.MustCompile(`<video [^>]*poster="([^"]*)"[^>]* src="([^"]*)"`).FindAllStringSubmatch(page.body, -1)
		require.NotEmpty(t, posters, page.body)
		shown := 0
		for _, poster := range posters {
			assert.Contains(t, poster[2], "video=film#t=")
			picture := b.picture(html.UnescapeString(poster[1]))
			if resembles(picture, scene.colour) {
				shown++
			} else { // a segment may begin a little before the scene
				assert.Truef(t, resembles(picture, color.RGBA{128, 128, 128, 255}), "%s: %s", scene.name, poster[1])
			}
		}
		assert.Positive(t, shown, "pictures of %s", scene.name)
	}
}

// picture returns a picture of the page, and stays on the page.
func (b *browser) picture(link string) image.Image {
	b.t.Helper()
	page := b.last
	defer func() { b.last = page }()
	a := b.open(link, nil)
	require.Equal(b.t, http.StatusOK, a.status, a.body)
	picture, err := jpeg.Decode(strings.NewReader(a.body))
	require.NoError(b.t, err)
	return picture
}

// resembles reports whether a picture has about a colour in its middle.
func resembles(picture image.Image, want color.RGBA) bool {
	box := picture.Bounds()
	r, g, b, _ := picture.At((box.Min.X+box.Max.X)/2, (box.Min.Y+box.Max.Y)/2).RGBA()
	near := func(a uint32, b uint8) bool { return max(int(a>>8), int(b))-min(int(a>>8), int(b)) < 40 }
	return near(r, want.R) && near(g, want.G) && near(b, want.B)
}

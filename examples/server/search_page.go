package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/excerpt"
	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// searchPath is where the search page is. What belongs to it is below.
const searchPath = "/search"

// searchPage is the audio search for people: a form, the progress of a run, and its
// results with pictures and players. Files are named by dataset and video, and never by
// path.
type searchPage struct {
	*site
	service   *audiosearch.Service
	files     sound.Files
	listening *excerpt.Places // for what else is heard
	stopping  context.Context // ends when the server is told to end
}

// newSearchPage makes the search page, and adds it to the site.
func newSearchPage(
	on *site, service *audiosearch.Service, files sound.Files, media sound.Media, programs *ffmpeg.Media,
) (*searchPage, error) {
	p := &searchPage{site: on, service: service, files: files, listening: excerpt.NewPlaces(), stopping: context.Background()}
	p.routes[searchPath] = siteRoute{methods: toRead, answer: p.showForm}
	p.routes[searchPath+"/"] = siteRoute{methods: toRead, open: true, answer: goToSearch}
	p.routes[searchPath+"/start"] = siteRoute{methods: toPost, form: maxForm, answer: p.start}
	p.routes[searchPath+"/run"] = siteRoute{methods: toRead, needs: []access.Action{access.GetRun, access.GetResults}, answer: p.showRun}
	p.routes[searchPath+"/status"] = siteRoute{methods: toRead, needs: []access.Action{access.GetRun}, answer: p.runStatus}
	p.routes[searchPath+"/cancel"] = siteRoute{methods: toPost, form: maxForm, needs: []access.Action{access.CancelRun}, answer: p.cancel}
	p.routes[searchPath+"/media"] = siteRoute{methods: toRead, needs: []access.Action{access.GetResults}, answer: p.media}
	for path, kind := range map[string]struct {
		what string
		excerpt.Kind
	}{
		"/picture":     {"picture", excerpt.Pictures(programs.Picture, pictureWidth)},
		"/sound":       {"sound", excerpt.Sounds(media)},
		"/spectrogram": {"picture", excerpt.Spectrograms(media)},
	} {
		maker, err := excerpt.New(service, files, kind.Kind, nil)
		if err != nil {
			return nil, fmt.Errorf("make the excerpts of the search page: %w", err)
		}
		p.routes[searchPath+path] = siteRoute{methods: toRead, needs: []access.Action{access.GetResults}, answer: p.excerpt(kind.what, maker)}
	}
	return p, nil
}

const pictureWidth = 320 // pixels

func goToSearch(w http.ResponseWriter, _ *http.Request, _ *visit) error {
	return redirect(w, "../search")
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// runView is a search: how far it is, and what it found.
type runView struct {
	ID                    int64
	Dataset, Class        string
	Filters               []metadata.Filter
	State                 string   // in words
	Share                 *float64 // of the work, from 0 to 1, that is done; nil: not known yet
	Sound                 string   // how far it is with the sound, in words; may be ""
	Ended, Failed, Cancel bool
	Message               string
	Found                 int    // segments; Results has those together that overlap
	Status, Again         string // links
	Results               []resultView
}

// resultView is a place where something was found. Links are relative.
type resultView struct {
	Video      string
	Metadata   []metadataView
	Start, End string  // m:ss
	Score      float64 // the best
	Percent    int
	Moderation *float64
	HasVideo   bool
	Picture    string      // link: of the video, or of its sound
	Heard      []heardView // the surest first
	Player     string      // link to what is played
	// Link to what is played if the browser cannot play the file; "" if that is known
	// from the start.
	Sound string
	// Of the sound, in seconds, as far as that tells where it begins in the file; see
	// search.js.
	Length string
	File   string // link
}

type metadataView struct{ Key, Value string }

// runLink returns the link to a run, from an address below searchPath.
func runLink(dataset, run string) string { return link("run", "dataset", dataset, "run", run) }

// link returns a relative link with parameters.
func link(to string, parameters ...string) string {
	query := make(url.Values)
	for i := 0; i < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	return to + "?" + query.Encode()
}

// run finds the run that the values of a link or a form name, if the visitor may do all
// of the actions, and answers if there is none.
func (p *searchPage) run(w http.ResponseWriter, r *http.Request, who httpadapter.Principal, values url.Values,
	actions ...access.Action) (audiosearch.Run, bool) {
	dataset := values.Get("dataset")
	for _, action := range actions {
		if !p.allowed(w, r, who, action, dataset) {
			return audiosearch.Run{}, false
		}
	}
	id, err := strconv.ParseInt(values.Get("run"), 10, 64)
	if err != nil {
		err = audiosearch.ErrRunNotFound
	}
	var run audiosearch.Run
	if err == nil {
		run, err = p.service.Run(r.Context(), who.Organization, dataset, id)
	}
	if err != nil {
		p.fail(w, r, err)
		return run, false
	}
	return run, true
}

func (p *searchPage) showRun(w http.ResponseWriter, r *http.Request, who httpadapter.Principal) {
	run, ok := p.run(w, r, who, r.URL.Query(), access.GetRun, access.GetResults)
	if !ok {
		return
	}
	v := &runView{
		ID: run.ID, Dataset: run.Query.Dataset, Class: string(run.Query.Class), Filters: run.Query.Filters,
		State: stateInWords(&run), Share: shareOf(&run), Sound: soundOf(&run), Message: run.Message,
		Ended: run.State == audiosearch.StateTerminated, Failed: run.Termination == audiosearch.ClientError || run.Termination == audiosearch.InternalError,
		Status: link("status", "dataset", run.Query.Dataset, "run", strconv.FormatInt(run.ID, 10)),
		Again:  link("../search", "dataset", run.Query.Dataset, "class", string(run.Query.Class)),
	}
	v.Cancel = !v.Ended && run.State != audiosearch.StateTerminating && who.Access.Allows(access.CancelRun, datasetResource(run.Query.Dataset))
	metadata, err := p.readResults(r, who, &run)
	v.Found = len(run.Results)
	if err == nil {
		v.Results, err = p.results(r, who, &run, metadata)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.show(w, r, http.StatusOK, searchView{Title: v.Class + " in " + v.Dataset, Who: &who, Run: v})
}

// readResults reads what a run found, and what the page shows of the metadata, by
// video: all of it can be 64 MB.
func (p *searchPage) readResults(r *http.Request, who httpadapter.Principal, run *audiosearch.Run) (map[string][]metadataView, error) {
	now, found, err := p.service.EachResult(r.Context(), who.Organization, run.Query.Dataset, run.ID)
	if err != nil || now.State != run.State { // it has ended since: the page asks again
		return nil, err
	}
	metadata, left := make(map[string][]metadataView), shownInAll
	for result, err := range found {
		if err != nil {
			return nil, err
		}
		if _, known := metadata[result.VideoID]; !known {
			metadata[result.VideoID] = showMetadata(result.Metadata, &left)
		}
		result.Metadata = nil
		run.Results = append(run.Results, result)
	}
	return metadata, nil
}

// What the page shows of a video's metadata.
const (
	shownKeys  = 50
	shownBytes = 500     // of a key or a value
	shownInAll = 2 << 20 // bytes, on a page; the best results come first
)

// showMetadata is the beginning of metadata, for people, of at most as many bytes as are
// left, about. It keeps nothing of the rest in memory.
func showMetadata(m metadata.Map, left *int) []metadataView {
	shorten := func(text string) string {
		if len(text) <= shownBytes {
			return strings.Clone(text)
		}
		return strings.ToValidUTF8(text[:shownBytes], "") + "…"
	}
	var shown []metadataView
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i == shownKeys || *left <= 0 {
			return append(shown, metadataView{"…", fmt.Sprintf("and %d more", len(m)-i)})
		}
		text := m[key].Text()
		if m[key].Kind() == metadata.KindNull {
			text = "–"
		}
		view := metadataView{shorten(key), shorten(text)}
		*left -= len(view.Key) + len(view.Value)
		shown = append(shown, view)
	}
	return shown
}

// stateInWords says where a run stands.
func stateInWords(run *audiosearch.Run) string {
	switch {
	case run.State == audiosearch.StateTerminating:
		return "The search is being cancelled."
	case run.State == audiosearch.StateRunning && run.Total > 0:
		return fmt.Sprintf("Searching: %d of %d videos are ready.", run.Done, run.Total)
	case run.State == audiosearch.StateRunning:
		return "Searching."
	case run.State == audiosearch.StateTerminated:
		return "The search has ended."
	}
	return "The search waits for its turn."
}

// soundOf is how far a run is with the sound that it has to listen to, "" if it has none,
// or nothing is known of it.
func soundOf(run *audiosearch.Run) string {
	p := run.Sound
	if run.State != audiosearch.StateRunning || p.Done == 0 && p.Total == 0 {
		return ""
	}
	text := "Listened to " + clock(p.Done)
	if p.Total > 0 {
		text += " of about " + clock(p.Total)
	}
	text += " of sound"
	if p.Speed > 0 {
		text += ", " + speed(p.Speed) + " times as fast as it plays"
	}
	if left, known := p.Left(); known {
		text += "; about " + clock(left) + " left"
	}
	return text + "."
}

// shareOf is how much of the work of a run is done, nil if nobody knows: what takes time
// is the sound.
func shareOf(run *audiosearch.Run) *float64 {
	switch p := run.Sound; {
	case p.Total > 0:
		return new(min(float64(p.Done)/float64(p.Total), 1))
	case run.Total > 0:
		return new(float64(run.Done) / float64(run.Total))
	}
	return nil
}

// results describes where something was found.
func (p *searchPage) results(r *http.Request, who httpadapter.Principal, run *audiosearch.Run, metadata map[string][]metadataView) ([]resultView, error) {
	dataset := run.Query.Dataset
	scorings := make(map[string]audiosearch.Scoring)
	var views []resultView
	places := merge(run.Results)
	heard := p.heard(r.Context(), who, dataset, places)
	for i, at := range places {
		found := at.best
		scoring, known := scorings[found.VideoID]
		if !known {
			var err error
			scoring, err = p.service.Scoring(r.Context(), who.Organization, dataset, found.VideoID)
			// A video that was deleted since, or waits to be scored again, is shown as it
			// was found, without pictures.
			if err != nil && !errors.Is(err, audiosearch.ErrNotScored) && !errors.Is(err, audiosearch.ErrDatasetNotFound) {
				return nil, err
			}
			scorings[found.VideoID] = scoring
		}
		v := resultView{
			Video: found.VideoID, Start: clockFine(at.start), End: clockFine(at.end), Score: found.Score, Percent: int(100*found.Score + 0.5),
			Moderation: found.Moderation, HasVideo: scoring.HasVideo, File: link("media", "dataset", dataset, "video", found.VideoID),
		}
		// Where it is heard best, as in the picture.
		milliseconds := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
		v.Player = v.File + "#t=" + seconds(found.Start) + "," + seconds(at.end)
		v.Sound = link("sound", "dataset", dataset, "video", found.VideoID, "at", milliseconds(found.Start)) + "#t=0," + seconds(at.end-found.Start)
		if isUnplayed(found.Path) {
			v.Player, v.Sound = v.Sound, ""
		}
		if scoring.HasVideo {
			v.Picture = link("picture", "dataset", dataset, "video", found.VideoID, "at", milliseconds(found.Keyframe.At))
		} else {
			v.Picture = link("spectrogram", "dataset", dataset, "video", found.VideoID, "at", milliseconds(found.Start), "to", milliseconds(found.End))
			if mediaType(found.Path) == oggSound {
				v.Length = seconds(scoring.Duration)
			}
		}
		v.Heard = heard[i]
		v.Metadata = metadata[found.VideoID]
		views = append(views, v)
	}
	return views, nil
}

// seconds writes a time as media fragments do (Media Fragments URI 1.0, 4.2.1).
func seconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Milliseconds())/1000, 'f', -1, 64)
}

// runStatus is what the script of the page asks for while a search runs.
func (p *searchPage) runStatus(w http.ResponseWriter, r *http.Request, who httpadapter.Principal) {
	run, ok := p.run(w, r, who, r.URL.Query(), access.GetRun)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// The caller is gone if this fails.
	_ = json.NewEncoder(w).Encode(map[string]any{
		"state": stateInWords(&run), "sound": soundOf(&run), "share": shareOf(&run), "ended": run.State == audiosearch.StateTerminated,
	})
}

// cancel ends a search, and shows what became of it.
func (p *searchPage) cancel(w http.ResponseWriter, r *http.Request, who httpadapter.Principal) {
	form, ok := p.form(w, r, maxForm)
	if !ok {
		return
	}
	run, ok := p.run(w, r, who, form, access.CancelRun)
	if !ok {
		return
	}
	if _, err := p.service.Cancel(r.Context(), who.Organization, audiosearch.Actor(who.Subject), run.Query.Dataset, run.ID); err != nil && !errors.Is(err, audiosearch.ErrFinished) {
		p.fail(w, r, err)
		return
	}
	redirect(w, runLink(run.Query.Dataset, strconv.FormatInt(run.ID, 10)))
}

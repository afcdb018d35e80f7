package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/excerpt"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// placeView is where something was found.
type placeView struct {
	excerpt.Stretch
	Metadata []metadataView
	Heard    []audiosearch.TopClass // what else, where the score is best; the surest first
	HasVideo bool
	Unplayed bool // no browser plays the file; the page has its sound instead
	// Of the sound, as far as that tells where it begins in the file; see search.js.
	Length time.Duration
}

// Rest is from where it is heard best, as in the picture, to its end.
func (v *placeView) Rest() time.Duration { return v.End - v.Best.Start }

// results reads what a run found: how many segments, and where.
func (p *searchPage) results(ctx context.Context, org string, run *audiosearch.Run) (found int, views []placeView, err error) {
	dataset := run.Query.Dataset
	now, each, err := p.service.EachResult(ctx, org, dataset, run.ID)
	if err != nil || now.State != run.State { // it has ended since: the page asks again
		return 0, nil, err
	}
	var all []audiosearch.Result
	metadata, left := make(map[string][]metadataView), shownInAll // by video
	for result, err := range each {
		if err != nil {
			return 0, nil, err
		}
		if _, known := metadata[result.VideoID]; !known {
			metadata[result.VideoID] = showMetadata(result.Metadata, &left)
		}
		result.Metadata = nil // that of all can be 64 MB
		all = append(all, result)
	}
	places := excerpt.Merge(all)
	heard := p.heard(ctx, org, dataset, places)
	scorings := make(map[string]audiosearch.Scoring) // by video
	for i, at := range places {
		video := at.Best.VideoID
		scoring, known := scorings[video]
		if !known {
			// A video that was deleted since, or waits to be scored again, is shown as it
			// was found, without pictures.
			scoring, err = p.service.Scoring(ctx, org, dataset, video)
			if err != nil && !errors.Is(err, audiosearch.ErrNotScored) && !errors.Is(err, audiosearch.ErrDatasetNotFound) {
				return 0, nil, err
			}
			scorings[video] = scoring
		}
		v := placeView{Stretch: at, Metadata: metadata[video], Heard: heard[i], HasVideo: scoring.HasVideo, Unplayed: excerpt.Unplayed(at.Best.Path)}
		if !v.HasVideo && excerpt.MediaType(at.Best.Path) == "audio/ogg" {
			v.Length = scoring.Duration
		}
		views = append(views, v)
	}
	return len(all), views, nil
}

// seconds writes a time as media fragments do (Media Fragments URI 1.0, 4.2.1).
func seconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Milliseconds())/1000, 'f', -1, 64)
}

// percent is a score for people.
func percent(score float64) int { return int(100*score + 0.5) }

// What else is heard at a place is read for the best places of a page, and no longer than a
// moment. So a page costs the storage a few reads at most, however much was found.
const (
	heardPlaces = 50
	heardLimit  = 2 * time.Second
	heardMost   = 5
	heardLeast  = 0.01 // the score of what is worth a word
)

// heard returns what is heard at the best places, by their position. Where it cannot be said
// in time, or at all, there is nothing. An organization reads for two pages at a time, so that
// none holds up the others.
func (p *searchPage) heard(ctx context.Context, org, dataset string, found []excerpt.Stretch) [][]audiosearch.TopClass {
	heard := make([][]audiosearch.TopClass, len(found))
	ctx, cancel := context.WithTimeout(ctx, heardLimit)
	defer cancel()
	giveBack, err := p.listening.Take(ctx, org)
	if err != nil {
		return heard
	}
	defer giveBack()
	for i := range min(len(found), heardPlaces) {
		best := &found[i].Best
		top, err := p.service.Top(ctx, org, dataset, best.VideoID, best.Start, max(best.End, best.Start+time.Millisecond), heardMost)
		if ctx.Err() != nil {
			break
		}
		if err == nil { // it was not deleted, and is not being scored again
			heard[i] = slices.DeleteFunc(top, func(h audiosearch.TopClass) bool { return h.Score < heardLeast })
		}
	}
	return heard
}

type metadataView struct{ Key, Value string }

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

package main

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// What else is heard at a place is read for the best places of a page, and no longer than a
// moment. So a page costs the storage a few reads at most, however much was found.
const (
	heardPlaces = 50
	heardLimit  = 2 * time.Second
	heardMost   = 5
	heardLeast  = 0.01 // the score of what is worth a word
)

// heardView is a sound, and how sure the scorer is of it.
type heardView struct {
	Class   string
	Percent int
}

// heard returns what is heard at the best places, by their position. Where it cannot be said
// in time, or at all, there is nothing. An organization reads for two pages at a time, so that
// none holds up the others.
func (p *searchPage) heard(ctx context.Context, who httpadapter.Principal, dataset string, found []stretch) [][]heardView {
	views := make([][]heardView, len(found))
	ctx, cancel := context.WithTimeout(ctx, heardLimit)
	defer cancel()
	if len(found) == 0 || p.listening.take(ctx, who.Organization) != nil {
		return views
	}
	defer p.listening.giveBack(who.Organization)
	for i := range min(len(found), heardPlaces) {
		best := &found[i].best
		heard, err := p.service.Top(ctx, who.Organization, dataset, best.VideoID, best.Start, max(best.End, best.Start+time.Millisecond), heardMost)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			continue // it was deleted, or is being scored again
		}
		for _, h := range heard {
			if h.Score >= heardLeast {
				views[i] = append(views[i], heardView{string(h.Class), int(100*h.Score + 0.5)})
			}
		}
	}
	return views
}

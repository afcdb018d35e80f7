package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// runView is a search: how far it is, and what it found.
type runView struct {
	audiosearch.Run
	Far            farView
	Failed, Cancel bool
	Found          int // segments; Places has those together that overlap
	Places         []placeView
}

// farView is how far a search is. The script of the page asks for it.
type farView struct {
	Ended bool     `json:"ended"`
	Share *float64 `json:"share"` // of the work, from 0 to 1, that is done; nil: not known yet
	Sound string   `json:"sound"` // how far it is with the sound, in words; may be ""
	State string   `json:"state"` // in words
}

// link returns a relative link with parameters.
func link(to string, parameters ...any) string {
	query := make(url.Values)
	for i := 0; i < len(parameters); i += 2 {
		query.Set(fmt.Sprint(parameters[i]), fmt.Sprint(parameters[i+1]))
	}
	return to + "?" + query.Encode()
}

// showTheRun sends the visitor to a run.
func showTheRun(w http.ResponseWriter, run *audiosearch.Run) error {
	return redirect(w, link("run", "dataset", run.Query.Dataset, "run", run.ID))
}

// run finds the run that the values of a link or a form name.
func (p *searchPage) run(ctx context.Context, v *visit) (audiosearch.Run, error) {
	id, err := strconv.ParseInt(v.values.Get("run"), 10, 64)
	if err != nil {
		return audiosearch.Run{}, audiosearch.ErrRunNotFound
	}
	return p.service.Run(ctx, v.Organization, v.values.Get("dataset"), id)
}

func (p *searchPage) showRun(w http.ResponseWriter, r *http.Request, v *visit) error {
	run, err := p.run(r.Context(), v)
	if err != nil {
		return err
	}
	dataset := run.Query.Dataset
	view := &runView{Run: run, Far: farOf(&run), Failed: run.Termination == audiosearch.ClientError || run.Termination == audiosearch.InternalError}
	view.Cancel = !view.Far.Ended && run.State != audiosearch.StateTerminating && v.allows(access.CancelRun, dataset)
	if view.Found, view.Places, err = p.results(r.Context(), v.Organization, &run); err != nil {
		return err
	}
	p.show(w, r, http.StatusOK, siteView{Title: string(run.Query.Class) + " in " + dataset, Who: v, Run: view})
	return nil
}

func farOf(run *audiosearch.Run) farView {
	far := farView{State: "The search waits for its turn.", Ended: run.State == audiosearch.StateTerminated}
	switch {
	case run.State == audiosearch.StateTerminating:
		far.State = "The search is being cancelled."
	case run.State == audiosearch.StateRunning && run.Total > 0:
		far.State = fmt.Sprintf("Searching: %d of %d videos are ready.", run.Done, run.Total)
	case run.State == audiosearch.StateRunning:
		far.State = "Searching."
	case far.Ended:
		far.State = "The search has ended."
	}
	p := run.Sound
	switch { // what takes time is the sound
	case p.Total > 0:
		far.Share = new(min(float64(p.Done)/float64(p.Total), 1))
	case run.Total > 0:
		far.Share = new(float64(run.Done) / float64(run.Total))
	}
	if run.State == audiosearch.StateRunning && (p.Done > 0 || p.Total > 0) {
		far.Sound = "Listened to " + soundInWords(p, " of sound", " times as fast as it plays", "; about ") + "."
	}
	return far
}

// runStatus is what the script of the page asks for while a search runs.
func (p *searchPage) runStatus(w http.ResponseWriter, r *http.Request, v *visit) error {
	run, err := p.run(r.Context(), v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(farOf(&run)) // the caller is gone if this fails
	return nil
}

// cancel ends a search, and shows what became of it.
func (p *searchPage) cancel(w http.ResponseWriter, r *http.Request, v *visit) error {
	run, err := p.run(r.Context(), v)
	if err != nil {
		return err
	}
	_, err = p.service.Cancel(r.Context(), v.Organization, mortise.Actor(v.Subject), run.Query.Dataset, run.ID)
	if err != nil && !errors.Is(err, audiosearch.ErrFinished) {
		return err
	}
	return showTheRun(w, &run)
}

package httpadapter

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/seed-6363c74e/mortise"
)

// runStatus tells how far a run is. It is getSearchRunStatus.
func (a *audioSearchAdapter) runStatus(c *call) response {
	dataset, id := ofRun(c.r)
	if failed := a.authorize(c, dataset); failed != nil {
		return *failed
	}
	run, err := a.service.Run(c.r.Context(), c.principal.Organization, dataset, id)
	if err != nil {
		return a.h.fail(c, err)
	}
	return response{status: http.StatusOK, body: mustJSON(newRunStatus(&run))}
}

// runResult tells what a run found. It is getSearchRunResult.
func (a *audioSearchAdapter) runResult(c *call) response {
	dataset, id := ofRun(c.r)
	if failed := a.authorize(c, dataset); failed != nil {
		return *failed
	}
	run, found, err := a.service.EachResult(c.r.Context(), c.principal.Organization, dataset, id)
	if err != nil {
		return a.h.fail(c, err)
	}
	c.page = c.pageHold()
	for result := range found { // the first one, which is in memory
		if !c.page.grow(resultsHold(len(appendResult(nil, &result)))) {
			return *c.noRoom()
		}
		break
	}
	return response{status: http.StatusOK, stream: func(w io.Writer) error {
		err := writeRunResult(w, &run, found, c.page)
		if err != nil && !errors.Is(err, errNoRoom) {
			a.h.log(c.r, err, false)
		}
		return err
	}}
}

// cancelRun ends a run. It is cancelSearchRun.
func (a *audioSearchAdapter) cancelRun(c *call) response {
	dataset, id := ofRun(c.r)
	if failed := a.authorize(c, dataset); failed != nil {
		return *failed
	}
	run, err := a.service.Cancel(c.r.Context(), c.principal.Organization, mortise.Actor(c.principal.Subject), dataset, id)
	if err != nil {
		return a.h.fail(c, err)
	}
	return response{status: http.StatusOK, body: mustJSON(newRunStatus(&run))}
}

// noRun is the ID of no run, and maxRunID the greatest one: 2^53-1, which JavaScript can
// hold.
const (
	noRun    = 0
	maxRunID = 1<<53 - 1
)

// ofRun returns the dataset and the run that a request names. What can be no run's ID
// becomes noRun: whether there is such a dataset comes first.
func ofRun(r *http.Request) (dataset string, id int64) {
	dataset = newParams(nil, r).text("dataset_id") // no problem can be noted of a text
	text := r.PathValue("run_id")
	id, err := strconv.ParseInt(text, 10, 64)
	// A run has one address.
	if err != nil || id < 1 || id > maxRunID || strconv.FormatInt(id, 10) != text {
		return dataset, noRun
	}
	return dataset, id
}

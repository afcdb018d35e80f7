package httpadapter

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/name"
)

const (
	searchPath    = "/api/v0/search/metadata-filters/"
	soundPath     = searchPath + "audio-sound"
	runStatusPath = searchPath + "job/status/{run_id}"
	runResultPath = searchPath + "job/result/{run_id}"
	runCancelPath = searchPath + "job/cancel/{run_id}"
)

// AudioSearchOptions are what the audio search can be mounted with. The zero value means
// the defaults: the search of the document, and the two operations that it refers to.
type AudioSearchOptions struct {
	Options

	Cancel bool // adds POST /api/v0/search/metadata-filters/job/cancel/{run_id}

	// MinScore accepts the optional field min_score, a number from 0 to 1, in the body of a
	// search: results with a lower score are left out. Without it the field is ignored, as
	// unknown fields are.
	MinScore bool

	// Classes are the values of audio_class, 1 to [sound.MaxClasses], each once. None: the
	// classes of the service's scorers ([audiosearch.Service.Classes]) if AudioSet lacks one of
	// them, and else the 527 of AudioSet. While no scorer has answered yet, a name that
	// AudioSet lacks is answered with 503. A front end without scorers names the classes of
	// the models of others here, by [audiosearch.Service.Models] or from its code.
	Classes []sound.Class
}

// NewAudioSearch mounts an audio search: POST /api/v0/search/metadata-filters/audio-sound
// starts a run, GET .../job/status/{run_id} tells how far it is, and GET
// .../job/result/{run_id} what it found. A run is carried out by an [audiosearch.Worker],
// which the host runs.
//
// All operations are governed by roles (see [Options]), on the dataset as the resource.
// Those on runs take its ID from the query; a request without one is authorized for
// datasets as such, and then there is no such dataset.
func NewAudioSearch(s *audiosearch.Service, auth Authenticator, opts *AudioSearchOptions) (*Handler, error) {
	if s == nil {
		return nil, errors.New("httpadapter: NewAudioSearch needs a service")
	}
	var o AudioSearchOptions
	if opts != nil {
		o = *opts
	}
	a, err := newAudioSearchAdapter(s, o.Classes)
	if err != nil {
		return nil, err
	}
	a.minScore = o.MinScore
	const datasets = access.Dataset
	ops := []*operation{
		governed(access.SearchSound, datasets, http.MethodPost, soundPath, a.search).withoutKey(),
		governed(access.GetRun, datasets, http.MethodGet, runStatusPath, a.runStatus),
		governed(access.GetResults, datasets, http.MethodGet, runResultPath, a.runResult),
	}
	if o.Cancel {
		cancel := governed(access.CancelRun, datasets, http.MethodPost, runCancelPath, a.cancelRun)
		ops = append(ops, cancel.withoutBody())
	}
	h, err := newHandler("audiosearch", auth, audioSearchErrors, o.Options, ops)
	if err != nil {
		return nil, err
	}
	h.enums = a.enums
	if o.MinScore {
		h.features = append(h.features, featureMinScore)
	}
	a.h = h
	return h, nil
}

type audioSearchAdapter struct {
	h           *Handler
	service     *audiosearch.Service
	*vocabulary          // the host's, if it has named one, and else AudioSet's
	named       bool     // by the host
	ops         []string // the values of op

	minScore bool // AudioSearchOptions.MinScore
}

// newAudioSearchAdapter returns an adapter that takes some classes, those of AudioSet if
// there are none.
func newAudioSearchAdapter(s *audiosearch.Service, classes []sound.Class) (*audioSearchAdapter, error) {
	a := &audioSearchAdapter{service: s, named: len(classes) > 0}
	if !a.named {
		classes = audioset.Classes()
	}
	var err error
	if a.vocabulary, err = newVocabulary(classes); err != nil {
		return nil, err
	}
	for _, op := range metadata.Ops() {
		a.ops = append(a.ops, string(op))
	}
	return a, nil
}

// enums returns the schemas of the OpenAPI document that have other values here.
func (a *audioSearchAdapter) enums() map[string][]string {
	values := a.vocabulary
	if !a.named {
		own, err := a.predicted(context.Background())
		if err != nil || own == nil {
			return nil
		}
		values = own
	}
	return map[string][]string{schemaSoundClass: values.names()}
}

// authorize asks whether the caller may do this to the dataset. It returns nil if the
// operation may go on. What can be no dataset's ID is refused here, so that every backend
// answers alike.
func (a *audioSearchAdapter) authorize(c *call, dataset string) *response {
	possible := name.Problem(dataset) == ""
	if !possible {
		dataset = ""
	}
	failed := a.h.authorize(c, dataset)
	if failed == nil && !possible {
		p, _ := audioSearchFailures.find(audiosearch.ErrDatasetNotFound)
		failed = c.refuse(p)
	}
	return failed
}

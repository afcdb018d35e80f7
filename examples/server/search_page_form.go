package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// formView is the form of a search, with what was entered and what is wrong with it.
type formView struct {
	Datasets []string      // that the visitor may search
	More     bool          // there are more datasets than the form lists
	Classes  []sound.Class // that can be found, by name
	Ops      []metadata.Op

	Dataset, Class, Limit, Score string
	Filters                      []filterRow
	Meant                        string            // the sound that a wrong name most likely means
	Problems                     map[string]string // by field: dataset, class, filters, limit, score, form
}

// filterRow is one row of filters. A row without a key is not used.
type filterRow struct {
	Key, Op, Value string
	Problem        string
}

// The form.
const (
	filterRows     = 3   // empty ones that a new form has
	maxRows        = 200 // more than a search may have, so that the service can say how many that are
	maxListed      = 500
	maxModelled    = 20 // datasets whose own sounds are listed
	defaultScore   = "0.5"
	defaultResults = "40"
)

func (p *searchPage) showForm(w http.ResponseWriter, r *http.Request, v *visit) error {
	return p.answerForm(w, r, v, &formView{
		Limit: defaultResults, Score: defaultScore,
		Dataset: v.values.Get("dataset"), Class: v.values.Get("class"),
	})
}

// answerForm shows a form with the choices that there are.
func (p *searchPage) answerForm(w http.ResponseWriter, r *http.Request, v *visit, form *formView) error {
	for d, err := range p.service.Datasets(r.Context(), v.Organization) {
		if err != nil {
			return err
		}
		if !v.allows(access.SearchSound, d.ID) {
			continue
		}
		if form.More = len(form.Datasets) == maxListed; form.More {
			break
		}
		form.Datasets = append(form.Datasets, d.ID)
	}
	var err error
	if form.Classes, err = p.classes(r.Context(), v.Organization, form.Datasets); err != nil {
		return err
	}
	form.Ops = metadata.Ops()
	for len(form.Filters) < filterRows {
		form.Filters = append(form.Filters, filterRow{})
	}
	status := http.StatusOK
	if len(form.Problems) > 0 {
		status = http.StatusUnprocessableEntity
	}
	p.show(w, r, status, siteView{Title: "Search for sounds", Who: v, Form: form})
	return nil
}

// classes returns the sounds that can be found: those that the scorers know, and those of
// which the first datasets have scores by models that are gone.
func (p *searchPage) classes(ctx context.Context, org string, datasets []string) ([]sound.Class, error) {
	classes, away := p.service.Classes(ctx)
	for _, dataset := range datasets[:min(len(datasets), maxModelled)] {
		models, err := p.service.Models(ctx, org, dataset)
		if errors.Is(err, audiosearch.ErrDatasetNotFound) {
			continue // deleted just now
		}
		if err != nil {
			return nil, err
		}
		for _, m := range models {
			if m.Current {
				classes = append(classes, m.Classes...)
			}
		}
	}
	if len(classes) == 0 {
		return nil, away
	}
	slices.Sort(classes)
	return slices.Compact(classes), nil
}

// start begins the search of a form, and goes on to its run.
func (p *searchPage) start(w http.ResponseWriter, r *http.Request, v *visit) error {
	if len(v.values["key"]) > maxRows { // in the answer a row is many times as long
		return errTooMuch
	}
	form, q := readSearch(v.values)
	if len(form.Problems) > 0 {
		return p.answerForm(w, r, v, form)
	}
	if err := v.may(access.SearchSound, q.Dataset); err != nil {
		return err
	}
	run, err := p.service.Start(r.Context(), v.Organization, mortise.Actor(v.Subject), q)
	var invalid *mortise.ValidationError
	switch {
	case err == nil:
		return showTheRun(w, &run)
	case errors.As(err, &invalid):
		p.explain(r.Context(), v.Organization, form, invalid.Problems)
	case errors.Is(err, audiosearch.ErrDatasetNotFound):
		form.Problems["dataset"] = "There is no such dataset."
	default:
		return err
	}
	return p.answerForm(w, r, v, form)
}

// readSearch reads a form that was sent. What no query can say is a problem; the service
// finds the others.
func readSearch(form url.Values) (v *formView, q audiosearch.Query) {
	v = &formView{Dataset: form.Get("dataset"), Class: cmp.Or(form.Get("meant"), form.Get("class")), Limit: strings.TrimSpace(form.Get("limit")),
		Score: strings.TrimSpace(form.Get("score")), Problems: make(map[string]string)}
	q.Dataset, q.Class = v.Dataset, sound.Class(v.Class)
	if v.Dataset == "" {
		v.Problems["dataset"] = "Choose a dataset."
	}
	if v.Class == "" {
		v.Problems["class"] = "Choose a sound."
	}
	var err error
	if v.Limit != "" {
		if q.Limit, err = strconv.Atoi(v.Limit); err != nil || q.Limit < 1 { // a query's 0 is the default
			v.Problems["limit"] = "The number of results must be a whole number from 1 on."
		}
	}
	if v.Score != "" {
		if q.MinScore, err = strconv.ParseFloat(strings.ReplaceAll(v.Score, ",", "."), 64); err != nil {
			v.Problems["score"] = "The least score must be a number from 0 to 1."
		}
	}
	at := func(name string, i int) string {
		if all := form[name]; i < len(all) {
			return all[i]
		}
		return ""
	}
	for i := range form["key"] {
		row := filterRow{Key: strings.TrimSpace(at("key", i)), Op: at("op", i), Value: at("value", i)}
		if row.Key == "" && row.Value == "" {
			continue
		}
		if row.Key == "" {
			row.Problem = "Say which metadata this value is of."
			v.Problems["filters"] = row.Problem
		}
		v.Filters = append(v.Filters, row)
		q.Filters = append(q.Filters, metadata.Filter{Key: row.Key, Op: metadata.Op(row.Op), Value: row.Value})
	}
	return v, q
}

// explain puts the problems that the service found next to their fields.
func (p *searchPage) explain(ctx context.Context, org string, v *formView, problems []mortise.Problem) {
	for _, problem := range problems {
		if at := problem.Path; len(at) == 3 { // metadata_filters[i].key, .op or .value
			v.Filters[at[1].Index].Problem = sentence("The "+at[2].Field, problem.Message)
			v.Problems["filters"] = "Some conditions cannot be met."
			continue
		}
		switch problem.Path.String() {
		case "audio_class":
			v.Problems["class"] = sentence("This sound", problem.Message)
			p.suggest(ctx, org, v, problem.Kind)
		case "limit":
			v.Problems["limit"] = sentence("The number of results", problem.Message)
		case "min_score":
			v.Problems["score"] = sentence("The least score", problem.Message)
		default:
			v.Problems["form"] = sentence("The form", problem.Error())
		}
	}
}

// suggest says, of a sound that there is not, which one may be meant. 527 names are no
// answer.
func (p *searchPage) suggest(ctx context.Context, org string, v *formView, problem mortise.ProblemKind) {
	classes, err := p.classes(ctx, org, []string{v.Dataset})
	if err != nil || problem == audiosearch.ProblemUnsupportedClass && slices.Contains(classes, sound.Class(v.Class)) {
		return // what the service said has to do
	}
	v.Problems["class"] = "No sound has this name. Choose one from the list: type a part of its name to see those that have it."
	if near := sound.Nearest(v.Class, classes); near != "" {
		v.Problems["class"] = "No sound has this name. Did you mean:"
		v.Meant = string(near)
	}
}

// sentence makes a sentence of a message that says what its subject must be, or that is
// one already.
func sentence(subject, message string) string {
	first, _, _ := strings.Cut(message, " ")
	if slices.Contains([]string{"must", "cannot", "is", "has"}, first) {
		return subject + " " + message + "."
	}
	r, size := utf8.DecodeRuneInString(message)
	return string(unicode.ToUpper(r)) + message[size:] + "."
}

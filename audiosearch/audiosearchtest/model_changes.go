package audiosearchtest

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

func (r *run) makeDataset(p place) {
	r.Say("dataset %v is created", p)
	d := audiosearch.Dataset{Organization: p.org, ID: p.dataset, CreatedAt: moment(0)}
	r.SameError(nil, r.subject.Datasets.CreateDataset(r.Context(), d))
	r.model[p], r.known[p] = oracleDataset{}, newOracleModels()
}

// dataset deletes a dataset and creates it again, now and then the first one, which has
// most of the videos.
func (r *run) dataset() {
	p := places()[min(r.IntN(9)/3, 2)]
	r.Say("dataset %v is deleted", p)
	r.SameError(nil, r.subject.Datasets.DeleteDataset(r.Context(), p.org, p.dataset))
	r.makeDataset(p)
}

func (r *run) putVideos() {
	p := r.place()
	d := r.model[p]
	var videos []audiosearch.Video
	put := make(map[string]*oracleVideo)
	for range 1 + r.IntN(8) {
		id := pick(r, r.name(), r.name(), r.video(p))
		if put[id] != nil {
			continue
		}
		v := &oracleVideo{path: pick(r, "x.mp4", "X.mp4", "a/x.mp4"), metadata: r.metadata(), scorings: make(map[string]*oracleScoring),
			parts: make(map[string]*oracleParts)}
		if old := d[id]; old != nil && r.IntN(3) > 0 {
			v.path = old.path
		}
		if old := d[id]; old != nil && v.path == old.path {
			v.scorings, v.parts = old.scorings, old.parts
		}
		put[id] = v
		videos = append(videos, v.video(id))
	}
	text, err := json.Marshal(videos)
	r.SameError(nil, err)
	r.Say("in %v videos are put: %s", p, text)
	r.SameError(nil, r.subject.Catalog.PutVideos(r.Context(), p.org, p.dataset, videos))
	for _, video := range videos {
		id := video.ID
		old := d[id]
		if d[id] = put[id]; old == nil || old.path == video.Path {
			continue
		}
		for _, model := range []string{modelX, modelY} {
			if o := old.parts[model]; o != nil {
				r.countParts(p, id, model, o)
			}
		}
	}
}

// video returns the video as the domain has it.
func (v *oracleVideo) video(id string) audiosearch.Video {
	m := metadata.Map{}
	for key, value := range v.metadata {
		m[key] = value.scalar()
	}
	return audiosearch.Video{ID: id, Path: v.path, Metadata: m}
}

func (r *run) deleteVideo() {
	p := r.place()
	id := r.video(p)
	r.Say("in %v video %q is deleted", p, id)
	want := error(nil)
	if r.model[p][id] == nil {
		want = audiosearch.ErrVideoNotFound
	}
	r.SameError(want, r.subject.Catalog.DeleteVideo(r.Context(), p.org, p.dataset, id))
	delete(r.model[p], id)
}

// putScores scores some videos by one model.
func (r *run) putScores() {
	p, model := r.place(), pick(r, modelX, modelX, modelY)
	highest := 1 << r.IntN(17) // few different scores make many ties
	for range 1 + r.IntN(12) {
		id := r.video(p)
		n := 1 + r.IntN(1<<r.IntN(6))
		if r.IntN(200) == 0 {
			n = 4000 + r.IntN(300) // more than backends may keep together
		}
		classes := r.someClasses()
		s := &oracleScoring{scoring: scoring(model, n, classes...)}
		s.scoring.HasVideo, s.scoring.Keyframes = r.IntN(2) == 0, nil
		s.scoring.Media = pick(r, mediaM, mediaM, mediaN)
		if r.IntN(8) == 0 {
			s.scoring.Problem = "cut off"
		}
		s.scoring.At = r.Clock.Now()
		s.columns = r.scores(n, len(classes), highest)
		r.put(p, id, s)
	}
}

func (r *run) putProblem() {
	r.put(r.place(), "", &oracleScoring{scoring: problem(pick(r, modelX, modelY), pick(r, "no sound", "it's 50% \u00e9"))})
}

// put stores a scoring of a video, or of any if there is no ID.
func (r *run) put(p place, id string, s *oracleScoring) {
	if id == "" {
		id = r.video(p)
	}
	r.Say("in %v video %q is scored by %s: %d segments, classes %q, problem %q", p, id, s.scoring.Model, s.scoring.Windows, s.scoring.Classes, s.scoring.Problem)
	v := r.model[p][id]
	path, want := "x.mp4", error(audiosearch.ErrConflict)
	if v != nil {
		path, want = v.path, nil
	}
	given := make([][]uint16, len(s.columns))
	for i := range given {
		given[i] = slices.Clone(s.columns[i])
	}
	if s.columns == nil {
		given = nil
	}
	err := r.subject.Scores.PutScoring(r.Context(), p.org, p.dataset, id, path, s.scoring, given)
	if r.SameError(want, err) {
		v.scorings[s.scoring.Model] = s
		delete(v.parts, s.scoring.Model)
	}
}

// putOutdated scores a video that has moved meanwhile.
func (r *run) putOutdated() {
	p := r.place()
	id := r.video(p)
	r.Say("in %v scores of video %q at another path come too late", p, id)
	err := r.subject.Scores.PutScoring(r.Context(), p.org, p.dataset, id, "elsewhere.mp4", scoring(modelX, 1, "Dog"), [][]uint16{{math.MaxUint16}})
	r.SameError(audiosearch.ErrConflict, err)
}

func (r *run) reopen() {
	if r.subject.h.Reopen == nil {
		return
	}
	r.Say("it is reopened")
	r.subject.reopen(r.T)
}

package audiosearch

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// Query is what a search asks for.
type Query struct {
	Dataset        string
	Class          sound.Class       // what to look for
	Limit          int               // results at most; 0: 40
	Offset         int               // results to leave out at the top
	Filters        []metadata.Filter // on the metadata of videos, all of which must pass
	MinScore       float64           // results below are left out; in [0,1]
	SkipModeration bool

	// Model asks for the scores by one model, by its ID. "": those by the current model
	// of the first family that predicts the class, in the order of the scorers. If a
	// scorer has another model of that family which alone predicts the class: those by
	// that one.
	Model string `json:",omitempty"`
}

// defaultLimit is how many results a query without a limit gets.
const defaultLimit = 40

// check returns everything that is wrong with a query at once: p has what is wrong in
// itself already. ask returns the model of a scorer. If nothing is wrong, src is where
// the query is answered from.
func (s *Service) check(
	ctx context.Context, org string, q *Query, p *problems, ask func(*plug, context.Context) (sound.Model, error),
) (src source, err error) {
	if len(q.Filters) > s.opts.MaxFilters {
		return src, p.Err()
	}
	known, err := s.models(ctx, org, q.Dataset)
	if err == nil && q.Class.Valid() {
		var problem *mortise.Problem
		if src, problem, err = s.choose(ctx, q, known, ask); problem != nil {
			p.append(*problem)
		}
	}
	if err != nil {
		if invalid := p.Err(); invalid != nil {
			return src, invalid
		}
		return src, err
	}
	if err := s.checkKeys(ctx, org, q, p); err != nil {
		return src, err
	}
	return src, p.Err()
}

// checkKeys adds a problem for each filter whose key no video has.
func (s *Service) checkKeys(ctx context.Context, org string, q *Query, p *problems) error {
	if len(q.Filters) == 0 {
		return nil
	}
	keys := make([]string, 0, len(q.Filters))
	for _, f := range q.Filters {
		// A store may not be able to ask for what no video can have.
		if isKey(f.Key) && len(f.Key) <= metadata.MaxFilterBytes {
			keys = append(keys, f.Key)
		}
	}
	missing, err := s.store.MissingKeys(s.turns.With(ctx, org), org, q.Dataset, keys)
	if err != nil {
		return unavailable("look for metadata keys", err)
	}
	for i, f := range q.Filters {
		if len(f.Key) <= metadata.MaxFilterBytes && (!isKey(f.Key) || slices.Contains(missing, f.Key)) {
			p.item("metadata_filters", i).add("key", ProblemUnknownKey,
				"no video of the dataset has this metadata key")
		}
	}
	return nil
}

// checkQuery fills in defaults and returns what is wrong with a query in itself.
func (s *Service) checkQuery(q *Query) *problems {
	p := new(problems)
	if q.Limit == 0 {
		q.Limit = min(defaultLimit, s.opts.MaxLimit)
	}
	if q.Limit < 0 || q.Limit > s.opts.MaxLimit {
		p.add("limit", "", "must be 1 to %d", s.opts.MaxLimit)
	}
	if q.Offset < 0 {
		p.add("offset", "", "must be 0 or more")
	}
	if problem := name.Problem(string(q.Class)); problem != "" {
		p.add("audio_class", "", "%s", problem)
	}
	if q.Model != "" {
		checkName(p, "model", q.Model)
	}
	if !(q.MinScore >= 0 && q.MinScore <= 1) {
		p.add("min_score", "", "must be 0 to 1")
	}
	if len(q.Filters) > s.opts.MaxFilters {
		p.add("metadata_filters", "", "must be at most %d", s.opts.MaxFilters)
		return p
	}
	q.Filters = slices.Clone(q.Filters)
	for i := range q.Filters {
		f, item := &q.Filters[i], p.item("metadata_filters", i)
		if f.Op == "" {
			f.Op = metadata.OpEqual
		}
		if len(f.Key) > metadata.MaxFilterBytes {
			item.add("key", ProblemTooLong, "string should have at most %d bytes", metadata.MaxFilterBytes)
		}
		wrong := f.Check() != nil
		if len(f.Value) > metadata.MaxFilterBytes {
			item.add("value", ProblemTooLong, "string should have at most %d bytes", metadata.MaxFilterBytes)
		} else if wrong && f.Op.Numeric() {
			item.add("value", ProblemNotANumber, "must be a number, because the operator is %s", f.Op)
		}
		if wrong && !f.Op.Numeric() {
			item.add("op", "", "is no operator")
		}
	}
	return p
}

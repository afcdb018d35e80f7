package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// Before the third migration, the results of a run were one text. Those that are there
// stay as they are until their run goes.

const oldResultsOf = "SELECT results FROM audiosearch_results WHERE run = ?"

// oldResults is such a text: metadata that some results have in common stands once.
type oldResults struct {
	Metadata []metadata.Map
	Results  []struct {
		audiosearch.Result
		Metadata int // its place in the list, from 1; 0: nil
	}
}

// pageOfOld is how many results are returned at a time. For each page the whole text is
// read.
const pageOfOld = 100

// oldRunResults returns a page of such results. One caller at a time reads a text, which
// can be large.
func (a *AudioSearch) oldRunResults(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
	select {
	case a.db.oldResults <- struct{}{}:
		defer func() { <-a.db.oldResults }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var text []byte
	err := a.db.list(ctx, org, oldResultsOf, []any{run}, func(r *row) error {
		text = r.bytes(0)
		return nil
	})
	if err == nil && text == nil { // it has none, or was forgotten since it was looked up
		_, err = a.Run(ctx, org, run)
	}
	if err != nil || text == nil {
		return nil, err
	}
	var stored oldResults
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, fmt.Errorf("sqlite: a row is damaged: it holds no results: %w", err)
	}
	p := page{most: pageOfOld}
	for _, s := range stored.Results[min(from, len(stored.Results)):] {
		r := s.Result
		if s.Metadata > 0 && s.Metadata <= len(stored.Metadata) {
			r.Metadata = stored.Metadata[s.Metadata-1]
		}
		size := 0
		for key, value := range r.Metadata {
			size += len(key) + len(value.Text())
		}
		if !p.add(r, size) {
			break
		}
	}
	return p.results, nil
}

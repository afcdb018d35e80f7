package fromsqlite

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// audio is what the stores of the audio search do not list. What they do, copyAudio takes
// from one to the other: their tables are too different to be copied.
type audio struct {
	organizations []string
	deleted       []deletion
	order         []modelPlace
	changes       []modelChange
}

type deletion struct {
	organization string
	at           time.Time
}

// modelPlace is a place of ModelOrder.
type modelPlace struct{ family, model string }

// modelChange is a change of a dataset's current model, in the order in which they were
// made.
type modelChange struct {
	organization, dataset string
	audiosearch.ModelChange
}

func (c *modelChange) sameFamily(other *modelChange) bool {
	return c.organization == other.organization && c.dataset == other.dataset && c.Family == other.Family
}

// audio reads what the stores do not list.
func (s *source) audio(ctx context.Context) (*audio, error) {
	a := new(audio)
	var text [4]string
	var micros int64
	for _, q := range []struct {
		text string
		to   []any
		each func()
	}{
		{"SELECT organization FROM audiosearch_datasets UNION SELECT organization FROM audiosearch_runs ORDER BY 1",
			[]any{&text[0]}, func() { a.organizations = append(a.organizations, text[0]) }},
		{"SELECT organization, at FROM audiosearch_deleted ORDER BY 1", []any{&text[0], &micros},
			func() { a.deleted = append(a.deleted, deletion{text[0], time.UnixMicro(micros).UTC()}) }},
		{"SELECT family, model FROM audiosearch_model_order ORDER BY seq", []any{&text[0], &text[1]},
			func() { a.order = append(a.order, modelPlace{text[0], text[1]}) }},
		// The models of a family that were replaced, by time, and then the one that is current.
		{"SELECT d.organization, d.id, m.family, m.model, m.at" +
			" FROM (SELECT dataset, family, model, at FROM audiosearch_replaced" +
			" UNION ALL SELECT dataset, family, model, 9223372036854775807 FROM audiosearch_current) AS m" +
			" JOIN audiosearch_datasets AS d ON d.seq = m.dataset ORDER BY d.seq, m.family, m.at, m.model",
			[]any{&text[0], &text[1], &text[2], &text[3], &micros}, func() {
				c := modelChange{text[0], text[1], audiosearch.ModelChange{
					Family: text[2], To: text[3], At: time.UnixMicro(micros).UTC(), Incomplete: true,
				}}
				if n := len(a.changes); n > 0 && a.changes[n-1].sameFamily(&c) {
					c.From = a.changes[n-1].To
				}
				a.changes = append(a.changes, c)
			}},
	} {
		if err := s.each(ctx, q.text, q.to, q.each); err != nil {
			return nil, err
		}
	}
	// The time is that of the model that is replaced.
	for i := len(a.changes) - 1; i > 0; i-- {
		if c := &a.changes[i]; c.From != "" {
			c.At = a.changes[i-1].At
		}
	}
	return a, nil
}

func (s *source) each(ctx context.Context, text string, to []any, each func()) error {
	rows, err := s.conn.QueryContext(ctx, text)
	if err != nil {
		return fmt.Errorf("read the audio search: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		each()
	}
	return rows.Err()
}

// copyAudio copies the audio search, but for scorings that are being made, from one store to
// another one. What is there already is left as it is. At last both are read and compared.
func copyAudio(ctx context.Context, source Source, to audiosearch.Store, a *audio, o *Options) (err error) {
	from, closeIt, err := source.AudioSearch(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeIt()) }()
	for _, p := range a.order {
		if _, err := to.ModelOrder(ctx, p.family, p.model); err != nil {
			return err
		}
	}
	c := copier{from: from, to: to}
	if err := walk(ctx, from, a.organizations, walker{c.dataset, c.videos, c.scoring, c.run}); err != nil {
		return err
	}
	for _, change := range a.changes {
		if err := c.model(ctx, change); err != nil {
			return err
		}
	}
	for _, d := range a.deleted {
		if _, err := to.MarkDeleted(ctx, d.organization, d.at); err != nil {
			return err
		}
	}
	want, err := sumAudio(ctx, from, a.organizations)
	if err != nil {
		return err
	}
	found, err := sumAudio(ctx, to, a.organizations)
	if err != nil {
		return err
	}
	if want != found {
		return fmt.Errorf("%w: its audio search is not that of the SQLite database (%s, not %s): "+
			"something else wrote to it. Drop its schema %s and copy again", ErrTarget, found, want, o.Schema)
	}
	fmt.Fprintf(o.Out, "audiosearch: %s, the same in both\n", want)
	return nil
}

// walker is called for all that a store has.
type walker struct {
	dataset func(ctx context.Context, d audiosearch.Dataset, models []audiosearch.DatasetModel) error
	videos  func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error
	scoring func(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring) error
	run     func(ctx context.Context, r audiosearch.Run) error
}

const pageSize = 200

func walk(ctx context.Context, store audiosearch.Store, organizations []string, w walker) error {
	for _, org := range organizations {
		for d, err := range pages.Each("", func(after mortise.Cursor) (mortise.Page[audiosearch.Dataset], error) {
			return store.ListDatasets(ctx, org, after, pageSize)
		}) {
			if err != nil {
				return err
			}
			if err := walkDataset(ctx, store, d, w); err != nil {
				return err
			}
		}
		for r, err := range pages.Each("", func(after mortise.Cursor) (mortise.Page[audiosearch.Run], error) {
			return store.ListRuns(ctx, org, audiosearch.RunQuery{After: after, Limit: pageSize})
		}) {
			if err != nil {
				return err
			}
			if err := w.run(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func walkDataset(ctx context.Context, store audiosearch.Store, d audiosearch.Dataset, w walker) error {
	models, err := store.Models(ctx, d.Organization, d.ID)
	if err != nil {
		return err
	}
	if err := w.dataset(ctx, d, models); err != nil {
		return err
	}
	for after := mortise.Cursor(""); ; {
		page, err := store.ListVideos(ctx, d.Organization, d.ID, after, pageSize)
		if err != nil {
			return err
		}
		videos := page.Items
		if err := w.videos(ctx, d.Organization, d.ID, videos); err != nil {
			return err
		}
		var ids []string
		for _, v := range videos {
			ids = append(ids, v.ID)
		}
		for _, m := range models {
			scorings, err := store.Scorings(ctx, d.Organization, d.ID, m.ID, ids)
			if err != nil {
				return err
			}
			for _, v := range videos {
				if s, ok := scorings[v.ID]; ok {
					if err := w.scoring(ctx, d.Organization, d.ID, v, s); err != nil {
						return err
					}
				}
			}
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// results reads what a run has found.
func results(ctx context.Context, store audiosearch.Store, r *audiosearch.Run) (all []audiosearch.Result, err error) {
	if r.ResultSet == uuid.Nil {
		return nil, nil
	}
	for {
		page, err := store.RunResults(ctx, r.Organization, r.ID, len(all))
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
	}
}

// copier puts into one store what another one has.
type copier struct{ from, to audiosearch.Store }

func (c *copier) dataset(ctx context.Context, d audiosearch.Dataset, _ []audiosearch.DatasetModel) error {
	return except(c.to.CreateDataset(ctx, d), mortise.ErrExists) // an earlier copy was cut off
}

func (c *copier) videos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	return c.to.PutVideos(ctx, org, dataset, videos)
}

func (c *copier) scoring(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring) error {
	there, err := c.to.Scorings(ctx, org, dataset, s.Model, []string{v.ID})
	if err != nil {
		return err
	}
	if _, ok := there[v.ID]; ok {
		return nil
	}
	columns, err := columnsOf(ctx, c.from, org, dataset, v.ID, &s)
	if err != nil {
		return err
	}
	return c.to.PutScoring(ctx, org, dataset, v.ID, v.Path, s, columns)
}

// columnsOf reads the scores of a scoring, class by class.
func columnsOf(
	ctx context.Context, store audiosearch.Store, org, dataset, video string, s *audiosearch.Scoring,
) ([][]uint16, error) {
	if s.Windows == 0 {
		return nil, nil
	}
	windows, err := store.WindowScores(ctx, org, dataset, video, s.Model, 0, s.Windows)
	if err != nil {
		return nil, err
	}
	columns := make([][]uint16, len(s.Classes))
	for class := range columns {
		columns[class] = make([]uint16, len(windows))
		for i, scores := range windows {
			columns[class][i] = scores[class]
		}
	}
	return columns, nil
}

// except returns an error, unless it is one that is expected.
func except(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// model makes a change that was made. One that an earlier copy has made finds another model.
func (c *copier) model(ctx context.Context, change modelChange) error {
	err := c.to.SetModel(ctx, change.organization, change.dataset, change.ModelChange)
	err = except(err, audiosearch.ErrConflict)
	return except(err, audiosearch.ErrDatasetNotFound) // its organization was deleted
}

// run copies a run as one that has not ended, then what it found, and then how it is.
func (c *copier) run(ctx context.Context, r audiosearch.Run) error {
	found, err := results(ctx, c.from, &r)
	if err != nil {
		return err
	}
	begun := r.Clone()
	begun.State, begun.ResultSet = audiosearch.StateRunning, uuid.Nil
	err = c.to.CreateRun(ctx, begun, math.MaxInt32)
	if errors.Is(err, mortise.ErrExists) {
		now, err := c.to.Run(ctx, r.Organization, r.ID)
		if err != nil || now.State == audiosearch.StateTerminated {
			return err
		}
	} else if err != nil {
		return err
	}
	if r.ResultSet != uuid.Nil {
		var videos []audiosearch.Video
		seen := make(map[string]bool)
		for i := range found {
			if one := &found[i]; !seen[one.VideoID] {
				seen[one.VideoID] = true
				videos = append(videos, audiosearch.Video{ID: one.VideoID, Path: one.Path, Metadata: one.Metadata})
			}
		}
		if err := c.to.PutResultVideos(ctx, r.Organization, r.ID, r.ResultSet, videos); err != nil {
			return err
		}
		if err := c.to.PutResults(ctx, r.Organization, r.ID, r.ResultSet, found); err != nil {
			return err
		}
	}
	return c.to.UpdateRun(ctx, r.Organization, r.ID, func(to *audiosearch.Run) error {
		*to = r
		return nil
	})
}

// audioSum is how much a store has, and a digest of all of it.
type audioSum struct {
	datasets, videos, scorings, runs int
	digest                           [sha256.Size]byte
}

func (s audioSum) String() string {
	return fmt.Sprintf("datasets %d, videos %d, scorings %d, runs %d, digest %x",
		s.datasets, s.videos, s.scorings, s.runs, s.digest[:8])
}

func sumAudio(ctx context.Context, store audiosearch.Store, organizations []string) (s audioSum, err error) {
	digest := sha256.New()
	err = walk(ctx, store, organizations, walker{
		func(_ context.Context, d audiosearch.Dataset, models []audiosearch.DatasetModel) error {
			s.datasets++
			for _, m := range models {
				if !m.Current && m.ReplacedAt.IsZero() {
					continue // it shows by its scorings
				}
				if err := note(digest, m.ID, m.Current, m.ReplacedAt); err != nil {
					return err
				}
			}
			return note(digest, d)
		},
		func(_ context.Context, _, _ string, videos []audiosearch.Video) error {
			s.videos += len(videos)
			return note(digest, videos)
		},
		func(ctx context.Context, org, dataset string, v audiosearch.Video, scoring audiosearch.Scoring) error {
			s.scorings++
			columns, err := columnsOf(ctx, store, org, dataset, v.ID, &scoring)
			if err != nil {
				return err
			}
			for _, column := range columns {
				if err := binary.Write(digest, binary.LittleEndian, column); err != nil {
					return err
				}
			}
			return note(digest, scoring)
		},
		func(ctx context.Context, r audiosearch.Run) error {
			s.runs++
			found, err := results(ctx, store, &r)
			if err != nil {
				return err
			}
			return note(digest, r, found)
		},
	})
	digest.Sum(s.digest[:0])
	return s, err
}

func note(digest hash.Hash, values ...any) error {
	e := json.NewEncoder(digest)
	for _, v := range values {
		if err := e.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

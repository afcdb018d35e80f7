package audiosearchdb

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	modelsByName = "SELECT m.seq FROM audiosearch_vocabularies v CROSS JOIN audiosearch_models m" +
		" ON m.dataset = ?1 AND m.model = ?2 AND m.media = ?3 AND m.window = ?4 AND m.hop = ?5 AND m.vocabulary = v.seq" +
		" WHERE v.digest = ?6 ORDER BY m.shelf"
	insertModel = "INSERT INTO audiosearch_models (dataset, model, media, window, hop, vocabulary, shelf)" +
		" SELECT ?1, ?2, ?3, ?4, ?5, seq, ?7 FROM audiosearch_vocabularies WHERE digest = ?6"
	// Whoever stores scores by a replaced model has them removed again.
	unsweepModel = "UPDATE audiosearch_replaced SET swept = 0 WHERE dataset = ? AND model = ?"

	countLoose = "UPDATE audiosearch_models SET loose_live = loose_live + ?, loose_dead = loose_dead + ?," +
		" segments = segments + ? WHERE seq = ?"
	countScoring = "UPDATE audiosearch_models SET scorings = scorings + 1, latest = ?," +
		" loose_live = loose_live + ?, segments = segments + ? WHERE seq = ?"
	// Segments without a block are parts.
	lastBlock = "SELECT max(coalesce((SELECT max(seq) FROM audiosearch_blocks), 0)," +
		" coalesce((SELECT max(block) FROM audiosearch_segments), 0))"
	insertBlock = "INSERT INTO audiosearch_blocks (seq, model, packed, loose, windows, live, layout, maxima)" +
		" VALUES (?,?,?,?,?,?,?,?)"
	insertScores = "INSERT INTO audiosearch_segments (block, scores) VALUES (?,?)"

	scoringColumns = "size, modified_at, digest, at, problem, start, duration, windows, has_video, keyframes, places"
	insertScoring  = "INSERT INTO audiosearch_scorings (video, model, " + scoringColumns + ")" +
		" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
)

// modelArgs are what the rows of a model are found by. They hold nothing that the caller
// could change.
type modelArgs struct {
	key     []any // name, media, window, hop, digest of the classes
	classes []sound.Class
}

func newModelArgs(name, media string, window, hop int64, classes []sound.Class) modelArgs {
	return modelArgs{[]any{name, media, window, hop, digestOf(classes)}, slices.Clone(classes)}
}

// shelves returns how many rows a model of so many classes has.
func shelves(classes int) int { return max(1, (classes+blockRoom-1)/blockRoom) }

// shelfSize returns how many of so many classes stand on a shelf.
func shelfSize(classes, shelf int) int { return max(0, min(blockRoom, classes-shelf*blockRoom)) }

// scoringArgs are what a scoring is stored as. They hold nothing that the caller could
// change.
type scoringArgs struct {
	model    modelArgs
	name     string
	digest   []byte      // of the file
	scoring  []any       // scoringColumns without the places
	parted   int         // windows, the first ones, that stand in parts
	segments [][]segment // by shelf; nil: there are no scores
}

// segment is some windows of a video that was scored just now, of a shelf of classes.
type segment struct {
	first, rows int
	scores      []byte // class by class
}

func newScoringArgs(s *audiosearch.Scoring, columns [][]uint16) (scoringArgs, error) {
	args := scoringArgs{
		model: newModelArgs(s.Model, s.Media, int64(s.Window), int64(s.Hop), s.Classes),
		name:  s.Model, digest: bytes.Clone(s.Digest[:]),
	}
	args.scoring = []any{s.FileSize, file.Micros(s.FileTime), args.digest, file.Micros(s.At),
		file.Text(s.Problem, s.Problem != ""), s.Start.Milliseconds(), s.Duration.Milliseconds(), s.Windows, s.HasVideo, keyframeBlob(s.Keyframes)}
	if !s.Scored() {
		return args, nil
	}
	windows, err := windowsOf(s.Classes, columns)
	if err != nil {
		return args, err
	}
	if args.parted = s.Windows - windows; args.parted < 0 {
		return args, fmt.Errorf("sqlite: a column of %d scores for %d segments", windows, s.Windows)
	}
	args.segments = newSegments(columns, args.parted)
	return args, nil
}

// windowsOf returns how many scores the columns of some classes have.
func windowsOf(classes []sound.Class, columns [][]uint16) (windows int, err error) {
	if len(columns) != len(classes) {
		return 0, fmt.Errorf("sqlite: %d columns of scores for %d classes", len(columns), len(classes))
	}
	for i, column := range columns {
		if i == 0 {
			windows = len(column)
		}
		if len(column) != windows {
			return 0, fmt.Errorf("sqlite: columns of %d and of %d scores", windows, len(column))
		}
	}
	return windows, nil
}

// newSegments cuts columns, whose first score is that of a window of the video, into
// segments by shelf. Each shelf has one at least if the window is the first of all: it
// says that the video is scored.
func newSegments(columns [][]uint16, first int) [][]segment {
	segments := make([][]segment, shelves(len(columns)))
	for shelf := range segments {
		of := columns[shelf*blockRoom:][:shelfSize(len(columns), shelf)]
		windows := 0
		if len(of) > 0 {
			windows = len(of[0])
		}
		for from := 0; from < windows || from+first == 0; from += segmentWindows {
			s := segment{first: first + from, rows: min(segmentWindows, windows-from)}
			s.scores = make([]byte, 0, scoreBytes*s.rows*len(of))
			for _, column := range of {
				s.scores = appendScores(s.scores, column[from:from+s.rows])
			}
			segments[shelf] = append(segments[shelf], s)
		}
	}
	return segments
}

// PutScoring implements [audiosearch.ScoreStore].
func (a *Store) PutScoring(
	ctx context.Context, org, dataset, video, path string, scoring audiosearch.Scoring, columns [][]uint16,
) error {
	args, err := newScoringArgs(&scoring, columns)
	if err != nil {
		return err
	}
	return a.db.Write(ctx, func(tx *file.Tx) error {
		c, err := changeDataset(tx, org, dataset)
		if err != nil {
			return err
		}
		seq, err := c.videoAt(video, path)
		if err != nil {
			return err
		}
		u, err := c.unfinishedOf(seq, args.name)
		if err != nil {
			return err
		}
		parts, err := c.partsUpTo(u, &args)
		if err != nil {
			return err
		}
		if err := c.removeScoringsBy(seq, args.name); err != nil {
			return err
		}
		if err := c.putScoring(seq, &args, parts...); err != nil {
			return err
		}
		if err := c.takeParts(u, args.parted); err != nil {
			return err
		}
		return c.note()
	})
}

// videoAt returns the number of a video, or ErrConflict if it is gone or has another
// path.
func (c *datasetChange) videoAt(id, path string) (seq int64, err error) {
	seq, v, err := c.video(id)
	if err == nil && (seq == 0 || v.path != path) {
		err = audiosearch.ErrConflict
	}
	return seq, err
}

// putScoring stores a scoring of a video, that has none by the model. The first of its
// scores may stand in parts already.
func (c *datasetChange) putScoring(video int64, args *scoringArgs, parts ...storedPart) error {
	models, err := c.models(&args.model)
	if err != nil {
		return err
	}
	for shelf, model := range models {
		facts := args.scoring
		if shelf > 0 {
			facts = []any{0, nil, []byte{}, nil, nil, 0, 0, 0, 0, nil} // they stand on the first one
		}
		var places any
		if args.segments == nil {
			if _, err := c.Exec(countScoring, c.revision, 0, 0, model); err != nil {
				return err
			}
		} else if places, err = c.putScores(video, model, shelf, args.segments[shelf], parts); err != nil {
			return err
		}
		values := slices.Concat([]any{video, model}, facts, []any{places})
		if _, err := c.Exec(insertScoring, values...); err != nil {
			return err
		}
	}
	return nil
}

// putScores stores what a scoring has on a shelf, each segment as a block, and returns
// the places as they are stored. Parts become blocks where they are.
func (c *datasetChange) putScores(
	video, model int64, shelf int, segments []segment, parts []storedPart,
) (any, error) {
	var blocks []storedPart
	for _, p := range parts {
		if p.shelf == shelf {
			blocks = append(blocks, p)
		}
	}
	added, err := putSegments(c.Tx, shelf, segments)
	if err != nil {
		return nil, err
	}
	var places []byte
	windows := 0
	blocks = append(blocks, added...)
	for _, b := range blocks {
		layout := appendLayout(nil, []part{{video: video, first: b.first, rows: b.rows}})
		if _, err := c.Exec(insertBlock, b.segment, model, 0, 1, b.rows, b.rows, layout, nil); err != nil {
			return nil, err
		}
		c.blocks = append(c.blocks, b.segment)
		places = appendPlaces(places, []place{{block: b.segment, rows: b.rows}})
		windows += b.rows
	}
	_, err = c.Exec(countScoring, c.revision, windows, len(blocks), model)
	return places, err
}

// putSegments stores scores under the numbers of blocks that are yet to be.
func putSegments(t *file.Tx, shelf int, segments []segment) ([]storedPart, error) {
	last, err := findLastBlock(t)
	if err != nil {
		return nil, err
	}
	var stored []storedPart
	for _, s := range segments {
		last++
		if _, err := t.Exec(insertScores, last, s.scores); err != nil {
			return nil, err
		}
		stored = append(stored, storedPart{shelf: shelf, first: s.first, rows: s.rows, segment: last})
	}
	return stored, nil
}

func findLastBlock(t *file.Tx) (seq int64, err error) { return number(t, lastBlock) }

// models returns the numbers of a model, one for each shelf of its classes, and stores it
// if it is new.
func (c *datasetChange) models(args *modelArgs) ([]int64, error) {
	if found, err := c.knownModels(args); err != nil || len(found) > 0 {
		return found, err
	}
	names, err := namesText(args.classes)
	if err != nil {
		return nil, err
	}
	if _, err := c.Exec(insertVocabulary, args.key[4], len(args.classes), names); err != nil {
		return nil, err
	}
	key := append([]any{c.seq}, args.key...)
	for shelf := range shelves(len(args.classes)) {
		if _, err := c.Exec(insertModel, append(key[:len(key):len(key)], shelf)...); err != nil {
			return nil, err
		}
	}
	if _, err := c.Exec(unsweepModel, c.seq, args.key[0]); err != nil {
		return nil, err
	}
	return c.knownModels(args)
}

// knownModels is models without storing anything: nil if it is not known.
func (c *datasetChange) knownModels(args *modelArgs) (seqs []int64, err error) {
	err = c.Query(modelsByName, append([]any{c.seq}, args.key...), func(r *file.Row) error {
		seqs = append(seqs, file.Cell[int64](r, 0))
		return nil
	})
	return seqs, err
}

package audiosearchdb

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// Everything is encoded before it goes to the writer. The writer gets a bounded part at a
// time, so that others write in between.
const (
	textsAtOnce  = 256 << 10 // bytes of metadata that is new
	videosAtOnce = 100
	resultsInRow = 50
	rowsAtOnce   = 64
)

const (
	setOfRun  = "SELECT r.state, s.seq FROM audiosearch_runs r LEFT JOIN audiosearch_result_sets s ON s.run = r.id AND s.token = ?3 WHERE r.organization = ?1 AND r.id = ?2" + andThere
	setByName = "SELECT seq FROM audiosearch_result_sets WHERE run = ? AND token = ?"
	insertSet = "INSERT INTO audiosearch_result_sets (run, token) VALUES (?,?)"
	// Of those that a run has beside the one it names.
	leaveOthers = "UPDATE audiosearch_result_sets SET run = NULL WHERE run = ? AND seq IS NOT ?"

	metadataSeq      = "SELECT seq FROM audiosearch_found_metadata WHERE organization = ? AND digest = ?"
	insertMetadata   = "INSERT INTO audiosearch_found_metadata (organization, digest, videos) VALUES (?,?,0)"
	insertText       = "INSERT INTO audiosearch_found_texts (metadata, text) VALUES (?,?)"
	hasFoundVideo    = "SELECT 1 FROM audiosearch_found_videos WHERE result_set = ? AND id = ?"
	insertFoundVideo = "INSERT INTO audiosearch_found_videos (result_set, id, path, metadata) VALUES (?,?,?,?)"
	countVideos      = "UPDATE audiosearch_found_metadata SET videos = videos + ? WHERE seq = ?"

	videosOfSet = "SELECT id FROM audiosearch_found_videos WHERE result_set = ?"
	putRow      = "INSERT INTO audiosearch_found_results (result_set, place, results) VALUES (?,?,?)" +
		" ON CONFLICT DO UPDATE SET results = excluded.results"
	cutRows = "DELETE FROM audiosearch_found_results WHERE result_set = ? AND place >= ?"
)

var (
	errNoResultSet = errors.New("sqlite: a run names a set of results into which nothing was put")
	errNoVideo     = errors.New("sqlite: a result is of a video that its set does not have")
)

// foundVideoRow is a video as it goes into a set.
type foundVideoRow struct {
	id, path    string
	hasMetadata bool
	digest      [sha256.Size]byte
	text        string // metadata as JSON; "": the organization's texts have it
}

// errTextGone: a text that the organization had a moment ago has been removed.
var errTextGone = errors.New("sqlite: metadata of results was removed meanwhile")

// PutResultVideos implements [audiosearch.ResultStore].
func (a *Store) PutResultVideos(ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video) error {
	rows := make([]foundVideoRow, len(videos))
	for i, v := range videos {
		rows[i] = foundVideoRow{id: v.ID, path: v.Path, hasMetadata: v.Metadata != nil}
		if !rows[i].hasMetadata {
			continue
		}
		rows[i].digest = metadataDigest(v.Metadata)
		known := false
		err := a.db.Find(ctx, org, metadataSeq, []any{org, rows[i].digest[:]}, func(*file.Row) error {
			known = true
			return nil
		})
		if err == nil && !known {
			rows[i].text, err = plainJSON(v.Metadata)
		}
		if err != nil {
			return fmt.Errorf("sqlite: write the metadata of a video: %w", err)
		}
	}
	// Also if there are no videos: the run may not be there.
	for first := true; first || len(rows) > 0; first = false {
		n, size := 0, 0
		for n < min(len(rows), videosAtOnce) && (n == 0 || size+len(rows[n].text) <= textsAtOnce) {
			size += len(rows[n].text)
			n++
		}
		part := rows[:n]
		err := a.putFoundVideos(ctx, org, run, set, part)
		if errors.Is(err, errTextGone) {
			own := slices.Clone(part) // the writer may still look at the others
			for i, v := range videos[len(videos)-len(rows):][:n] {
				if own[i].hasMetadata {
					if own[i].text, err = plainJSON(v.Metadata); err != nil {
						return err
					}
				}
			}
			err = a.putFoundVideos(ctx, org, run, set, own)
		}
		if err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// metadataDigest is the digest of keys, kinds and texts. It takes much less time than to
// encode them as JSON.
func metadataDigest(m metadata.Map) (digest [sha256.Size]byte) {
	h := sha256.New()
	var number [8]byte
	write := func(text string) {
		binary.LittleEndian.PutUint64(number[:], uint64(len(text)))
		h.Write(number[:])
		_, _ = io.WriteString(h, text)
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value := m[key]
		write(key)
		h.Write([]byte{byte(value.Kind())})
		write(value.Text())
	}
	h.Sum(digest[:0])
	return digest
}

func (a *Store) putFoundVideos(ctx context.Context, org string, run int64, set uuid.UUID, rows []foundVideoRow) error {
	return a.db.Write(ctx, func(tx *file.Tx) error {
		metadata := make([]int64, len(rows)) // where it stands; 0: nowhere yet, or there is none
		for i, v := range rows {
			if !v.hasMetadata {
				continue
			}
			var err error
			if metadata[i], err = number(tx, metadataSeq, org, v.digest[:]); err != nil {
				return err
			}
			if metadata[i] == 0 && v.text == "" { // nothing is written yet that would have to be rolled back
				return errTextGone
			}
		}
		seq, err := openSet(tx, org, run, set)
		for i := 0; i < len(rows) && err == nil; i++ {
			err = putFoundVideo(tx, org, seq, &rows[i], metadata[i])
		}
		return err
	})
}

// openSet returns the number of a set of a run that has not ended. It makes the set if
// need be.
func openSet(t *file.Tx, org string, run int64, token uuid.UUID) (seq int64, err error) {
	var state string
	find := func() error {
		return t.Query(setOfRun, []any{org, run, token[:]}, func(r *file.Row) error {
			state, seq = r.Text(0), file.Cell[int64](r, 1)
			return nil
		})
	}
	switch err := find(); {
	case err != nil:
		return 0, err
	case state == "":
		return 0, audiosearch.ErrRunNotFound
	case state == string(audiosearch.StateTerminated):
		return 0, audiosearch.ErrFinished
	case seq != 0:
		return seq, nil
	}
	if _, err := t.Exec(insertSet, run, token[:]); err != nil {
		return 0, err
	}
	return seq, find()
}

// number returns the integer that a query finds, 0 if it finds nothing.
func number(t *file.Tx, query string, args ...any) (n int64, err error) {
	err = t.Query(query, args, func(r *file.Row) error {
		n = file.Cell[int64](r, 0)
		return nil
	})
	return n, err
}

// namedSet returns the number of the set that a run names, nil if it names none.
func namedSet(t *file.Tx, run int64, token uuid.UUID) (any, error) {
	if token == uuid.Nil {
		return nil, nil
	}
	seq, err := number(t, setByName, run, token[:])
	if err == nil && seq == 0 {
		err = errNoResultSet
	}
	return seq, err
}

func putFoundVideo(t *file.Tx, org string, set int64, v *foundVideoRow, metadata int64) error {
	if has, err := number(t, hasFoundVideo, set, v.id); err != nil || has != 0 {
		return err
	}
	if !v.hasMetadata {
		_, err := t.Exec(insertFoundVideo, set, v.id, v.path, nil)
		return err
	}
	if metadata == 0 {
		metadata, err := number(t, metadataSeq, org, v.digest[:]) // of another video of this call
		if err == nil && metadata == 0 {
			metadata, err = putText(t, org, v)
		}
		if err != nil {
			return err
		}
		return putFoundVideo(t, org, set, v, metadata)
	}
	return t.Apply(file.Do(insertFoundVideo, set, v.id, v.path, metadata), file.Do(countVideos, 1, metadata))
}

// putText stores metadata that no video has yet.
func putText(t *file.Tx, org string, v *foundVideoRow) (metadata int64, err error) {
	if _, err := t.Exec(insertMetadata, org, v.digest[:]); err != nil {
		return 0, err
	}
	if metadata, err = number(t, metadataSeq, org, v.digest[:]); err != nil {
		return 0, err
	}
	_, err = t.Exec(insertText, metadata, v.text)
	return metadata, err
}

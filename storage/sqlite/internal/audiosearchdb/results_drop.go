package audiosearchdb

import "github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"

// What is removed at a time.
const (
	removedAtOnce = 500 // rows of sets that nobody needs
	freedAtOnce   = 8   // texts of metadata among them
)

const (
	leftSet       = "SELECT seq FROM audiosearch_result_sets WHERE run IS NULL LIMIT 1"
	removeResults = "DELETE FROM audiosearch_found_results WHERE rowid IN (SELECT rowid FROM audiosearch_found_results WHERE result_set = ? LIMIT 0 + ?)"
	someVideos    = "SELECT id, metadata FROM audiosearch_found_videos WHERE result_set = ? LIMIT 0 + ?"
	removeVideo   = "DELETE FROM audiosearch_found_videos WHERE result_set = ? AND id = ?"
	freeMetadata  = "DELETE FROM audiosearch_found_metadata WHERE seq = ? AND videos = 0"
	freeText      = "DELETE FROM audiosearch_found_texts WHERE metadata = ?"
	removeSet     = "DELETE FROM audiosearch_result_sets WHERE seq = ?"
)

// dropResults removes some rows of the sets that no run has, and returns how many.
func dropResults(t *file.Tx, left removable) (rows int, err error) {
	limit := left.rows
	for left.some() {
		set, err := number(t, leftSet)
		if err != nil {
			return 0, err
		}
		if set == 0 {
			break
		}
		if err := dropSet(t, set, &left); err != nil {
			return 0, err
		}
	}
	return limit - left.rows, nil
}

// removable is how many rows may yet be removed in a step, and how many large ones among
// them.
type removable struct{ rows, large int }

func (l *removable) some() bool { return l.rows > 0 && l.large > 0 }

// dropSet removes rows of a set, and at the end the set.
func dropSet(t *file.Tx, set int64, left *removable) error {
	n, err := t.Exec(removeResults, set, left.rows)
	if err != nil {
		return err
	}
	if left.rows -= int(n); left.rows == 0 {
		return nil
	}
	videos, err := pickVideos(t, set, left.rows)
	if err != nil {
		return err
	}
	for _, v := range videos {
		freed, err := dropVideo(t, set, v)
		if err != nil {
			return err
		}
		if left.rows--; freed {
			if left.large--; left.large == 0 {
				return nil
			}
		}
	}
	if left.rows > 0 {
		_, err = t.Exec(removeSet, set)
		left.rows--
	}
	return err
}

// setVideo is a video of a set that goes.
type setVideo struct {
	id       string
	metadata int64 // 0: none
}

func pickVideos(t *file.Tx, set int64, most int) (videos []setVideo, err error) {
	err = t.Query(someVideos, []any{set, most}, func(r *file.Row) error {
		videos = append(videos, setVideo{r.Text(0), file.Cell[int64](r, 1)})
		return nil
	})
	return videos, err
}

// dropVideo removes a video from a set, and its metadata if no other set has it.
func dropVideo(t *file.Tx, set int64, v setVideo) (freed bool, err error) {
	if _, err := t.Exec(removeVideo, set, v.id); err != nil || v.metadata == 0 {
		return false, err
	}
	if _, err := t.Exec(countVideos, -1, v.metadata); err != nil {
		return false, err
	}
	n, err := t.Exec(freeMetadata, v.metadata)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = t.Exec(freeText, v.metadata)
	return true, err
}

package audiosearchdb

import (
	"slices"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	insertChange = "INSERT INTO audiosearch_changes (dataset, revision, kind, first, last) VALUES (?,?,?,?,?)"
	raiseDataset = "UPDATE audiosearch_datasets SET revision = ? WHERE seq = ?"
)

// The kinds of changes, as they are stored.
const (
	videosChanged = 0
	blocksChanged = 1
)

// datasetChange is an operation on a dataset, within the transaction. It takes down which
// rows it changes, for those who remember the dataset as it was.
type datasetChange struct {
	*file.Tx
	audioDataset
	videos, blocks []int64 // the rows that were added, changed or removed, by seq
}

// changeDataset begins a change, or returns ErrDatasetNotFound. Who makes one ends it by
// note.
func changeDataset(t *file.Tx, org, id string) (*datasetChange, error) {
	c := &datasetChange{Tx: t}
	err := t.Query(datasetByID, []any{org, id}, c.scan)
	return c, c.found(err)
}

// note stores what was changed, and raises the dataset's revision by one for each range
// of rows.
func (c *datasetChange) note() error {
	revision := c.revision
	for kind, seqs := range [...][]int64{videosChanged: c.videos, blocksChanged: c.blocks} {
		slices.Sort(seqs)
		for len(seqs) > 0 {
			n := 1
			for n < len(seqs) && seqs[n] <= seqs[n-1]+1 {
				n++
			}
			revision++
			if _, err := c.Exec(insertChange, c.seq, revision, kind, seqs[0], seqs[n-1]); err != nil {
				return err
			}
			seqs = seqs[n:]
		}
	}
	if revision == c.revision {
		return nil
	}
	c.revision = revision
	_, err := c.Exec(raiseDataset, revision, c.seq)
	return err
}

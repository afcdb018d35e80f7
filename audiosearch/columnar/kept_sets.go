package columnar

import (
	"slices"
	"strings"
	"sync"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// keptSets are the sets of rows of filters that came more than once since the last
// change, as those of a caller do who turns pages. Readers share them.
type keptSets struct {
	mu    sync.Mutex
	sets  []keptSet // the latest first
	bytes int
}

// keptSet is what passes filters.
type keptSet struct {
	filters []metadata.Filter
	rows    *rowSet // nil: none was kept yet
	times   int     // that they came
	bytes   int
}

const (
	maxKept      = 16       // lists of filters
	maxKeptText  = 1024     // bytes of a list of filters
	minKeptBytes = 64 << 10 // all sets together may take a byte for each video, or this
)

// find returns the set of filters, or nil, and how often they came before. It notes that
// they came.
func (k *keptSets) find(filters []metadata.Filter) (rows *rowSet, times int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.sets, func(s keptSet) bool { return slices.Equal(s.filters, filters) })
	if at < 0 {
		k.note(filters)
		return nil, 0
	}
	found := k.sets[at]
	found.times++
	copy(k.sets[1:], k.sets[:at])
	k.sets[0] = found
	return found.rows, found.times
}

func (k *keptSets) note(filters []metadata.Filter) {
	text := 0
	for _, f := range filters {
		text += len(f.Key) + len(f.Value)
	}
	if text > maxKeptText {
		return
	}
	filters = slices.Clone(filters)
	for i, f := range filters { // they may be parts of a large text
		filters[i].Key, filters[i].Value = strings.Clone(f.Key), strings.Clone(f.Value)
	}
	k.sets = slices.Insert(k.sets, 0, keptSet{filters: filters})
	k.trim(maxKept, k.bytes)
}

// keep keeps the set of filters that came before.
func (k *keptSets) keep(filters []metadata.Filter, rows *rowSet, videos int) {
	n, most := rows.bytes(), max(videos, minKeptBytes)
	if n > most {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.sets, func(s keptSet) bool { return slices.Equal(s.filters, filters) })
	if at < 0 || k.sets[at].rows != nil {
		return
	}
	k.sets[at].rows, k.sets[at].bytes = rows, n
	k.bytes += n
	k.trim(maxKept, most)
}

// trim lets go of what did not come for longest.
func (k *keptSets) trim(count, bytes int) {
	for len(k.sets) > count || k.bytes > bytes {
		last := len(k.sets) - 1
		k.bytes -= k.sets[last].bytes
		k.sets[last] = keptSet{}
		k.sets = k.sets[:last]
	}
}

// forget lets go of all sets, because the columns change.
func (k *keptSets) forget() { k.trim(0, 0) }

package memory

import (
	"container/heap"
	"time"

	"github.com/google/uuid"
)

// jobTable is the table of leased jobs of one domain: K identifies a job, J is what the domain calls one.
type jobTable[K comparable, J any] struct {
	all map[K]*job[K, J]
	due jobHeap[K, J]
	seq uint64
}

// job is one row of the table. at is when it can be claimed: the time given to add or release, or the end of its lease.
type job[K comparable, J any] struct {
	id         K
	job        J
	at         time.Time
	seq        uint64 // of arrival or of the latest release: decides between equal times
	token      uuid.UUID
	deliveries int
	dead       bool
	index      int // in the heap; -1 when not in it
}

// jobHeap holds the jobs that are not dead, soonest claimable first.
type jobHeap[K comparable, J any] []*job[K, J]

func (h jobHeap[K, J]) Len() int { return len(h) }
func (h jobHeap[K, J]) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].seq < h[j].seq
}
func (h jobHeap[K, J]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *jobHeap[K, J]) Push(x any) {
	j := x.(*job[K, J])
	j.index = len(*h)
	*h = append(*h, j)
}
func (h *jobHeap[K, J]) Pop() any {
	old := *h
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	j.index = -1
	return j
}

// add reports false if the job was there.
func (t *jobTable[K, J]) add(id K, j J, at time.Time) bool {
	if _, ok := t.all[id]; ok {
		return false
	}
	if t.all == nil {
		t.all = make(map[K]*job[K, J])
	}
	t.seq++
	added := &job[K, J]{id: id, job: j, at: at, seq: t.seq}
	t.all[id] = added
	heap.Push(&t.due, added)
	return true
}

// claim returns the jobs that it gave the token to.
func (t *jobTable[K, J]) claim(token uuid.UUID, now, until time.Time, limit int) (claimed []*job[K, J]) {
	for len(claimed) < limit && len(t.due) > 0 {
		first := t.due[0]
		if first.at.After(now) {
			break
		}
		first.at, first.token = until, token
		first.deliveries++
		heap.Fix(&t.due, first.index)
		claimed = append(claimed, first)
	}
	return claimed
}

// held returns the job that the token holds, nil if it holds it no more.
func (t *jobTable[K, J]) held(id K, token uuid.UUID) *job[K, J] {
	j, ok := t.all[id]
	if !ok || j.dead || j.token != token || token == uuid.Nil {
		return nil
	}
	return j
}

func (t *jobTable[K, J]) extend(j *job[K, J], until time.Time) {
	j.at = until
	heap.Fix(&t.due, j.index)
}

func (t *jobTable[K, J]) release(j *job[K, J], at time.Time) {
	// Behind the others that are claimable at the same time, or a job given back at once would hold them up.
	t.seq++
	j.at, j.token, j.seq = at, uuid.Nil, t.seq
	heap.Fix(&t.due, j.index)
}

// remove ends the job. A dead one stays, where nobody claims it.
func (t *jobTable[K, J]) remove(j *job[K, J], dead bool) {
	heap.Remove(&t.due, j.index)
	j.dead, j.token = dead, uuid.Nil
	if !dead {
		delete(t.all, j.id)
	}
}

// forget removes a dead job.
func (t *jobTable[K, J]) forget(id K) {
	if j, ok := t.all[id]; ok && j.dead {
		delete(t.all, id)
	}
}

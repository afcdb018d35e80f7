package memory

import (
	"container/heap"
	"slices"
	"time"

	"github.com/google/uuid"
)

// jobTable is the table of leased jobs of one domain: K identifies a job, J is what the domain calls one.
type oldJobTable[K comparable, J any] struct {
	all  map[K]*oldJob[K, J]
	orgs map[string]*oldJobHeap[K, J] // those that have jobs which are not dead
	ring []string                     // the organizations in orgs, sorted
	last string                       // the organization that was served last
	seq  uint64
}

// job is one row of the table. at is when it can be claimed: the time given to add or release, or the end of its lease.
type oldJob[K comparable, J any] struct {
	id         K
	org        string
	job        J
	at         time.Time
	seq        uint64 // of arrival or of the latest release: decides between equal times
	token      uuid.UUID
	deliveries int
	dead       bool
	index      int // in the heap; -1 when not in it
}

// jobHeap holds the jobs of an organization that are not dead, soonest claimable first.
type oldJobHeap[K comparable, J any] []*oldJob[K, J]

func (h oldJobHeap[K, J]) Len() int { return len(h) }
func (h oldJobHeap[K, J]) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].seq < h[j].seq
}
func (h oldJobHeap[K, J]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *oldJobHeap[K, J]) Push(x any) {
	j := x.(*oldJob[K, J])
	j.index = len(*h)
	*h = append(*h, j)
}
func (h *oldJobHeap[K, J]) Pop() any {
	old := *h
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	j.index = -1
	return j
}

// add reports false if the job was there.
func (t *oldJobTable[K, J]) add(id K, org string, j J, at time.Time) bool {
	if _, ok := t.all[id]; ok {
		return false
	}
	if t.all == nil {
		t.all, t.orgs = make(map[K]*oldJob[K, J]), make(map[string]*oldJobHeap[K, J])
	}
	t.seq++
	added := &oldJob[K, J]{id: id, org: org, job: j, at: at, seq: t.seq}
	t.all[id] = added
	jobs, ok := t.orgs[org]
	if !ok {
		jobs = &oldJobHeap[K, J]{}
		t.orgs[org] = jobs
		i, _ := slices.BinarySearch(t.ring, org)
		t.ring = slices.Insert(t.ring, i, org)
	}
	heap.Push(jobs, added)
	return true
}

// claim returns the jobs that it gave the token to: one of each organization in turn, from
// the one behind the one that was served last.
func (t *oldJobTable[K, J]) claim(token uuid.UUID, now, until time.Time, limit int, except []string) (claimed []*oldJob[K, J]) {
	at, _ := slices.BinarySearch(t.ring, t.last+"\x00") // the least name behind it
	for idle := 0; len(claimed) < limit && idle < len(t.ring); at++ {
		org := t.ring[at%len(t.ring)]
		jobs := t.orgs[org]
		first := (*jobs)[0]
		if first.at.After(now) || slices.Contains(except, org) {
			idle++
			continue
		}
		first.at, first.token = until, token
		first.deliveries++
		heap.Fix(jobs, first.index)
		claimed = append(claimed, first)
		t.last, idle = org, 0
	}
	return claimed
}

// held returns the job that the token holds, nil if it holds it no more.
func (t *oldJobTable[K, J]) held(id K, token uuid.UUID) *oldJob[K, J] {
	j, ok := t.all[id]
	if !ok || j.dead || j.token != token || token == uuid.Nil {
		return nil
	}
	return j
}

func (t *oldJobTable[K, J]) extend(j *oldJob[K, J], until time.Time) {
	j.at = until
	heap.Fix(t.orgs[j.org], j.index)
}

func (t *oldJobTable[K, J]) release(j *oldJob[K, J], at time.Time) {
	// Behind the others that are claimable at the same time, or a job given back at once would hold them up.
	t.seq++
	j.at, j.token, j.seq = at, uuid.Nil, t.seq
	heap.Fix(t.orgs[j.org], j.index)
}

// remove ends the job. A dead one stays, where nobody claims it.
func (t *oldJobTable[K, J]) remove(j *oldJob[K, J], dead bool) {
	jobs := t.orgs[j.org]
	if heap.Remove(jobs, j.index); jobs.Len() == 0 {
		delete(t.orgs, j.org)
		i, _ := slices.BinarySearch(t.ring, j.org)
		t.ring = slices.Delete(t.ring, i, i+1)
	}
	j.dead, j.token = dead, uuid.Nil
	if !dead {
		delete(t.all, j.id)
	}
}

// forget removes a dead job.
func (t *oldJobTable[K, J]) forget(id K) {
	if j, ok := t.all[id]; ok && j.dead {
		delete(t.all, id)
	}
}

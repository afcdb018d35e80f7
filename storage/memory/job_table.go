package memory

import (
	"container/heap"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

// jobTable is the table of leased jobs. The lock of the database guards it.
type jobTable struct {
	all   map[jobKey]*job
	lines map[string]*jobLines // of each kind that there were jobs of
	last  map[string]string    // who was served last, by the kinds of the claim
	seq   uint64
	added []string          // kinds of jobs not yet announced
	dead  map[string][]*job // by kind, the lowest seq first
}

// jobKey says which job it is.
type jobKey struct{ kind, organization, id string }

func keyOf(j mortise.Job) jobKey { return jobKey{j.Kind, j.Organization, j.ID} }

// jobLines are the jobs of one kind that are not dead.
type jobLines struct {
	orgs map[string]*jobHeap
	ring []string // the organizations in orgs, sorted
}

// names returns the organizations that have jobs of the kind, sorted.
func (l *jobLines) names() []string {
	if l == nil {
		return nil
	}
	return l.ring
}

// job is one row of the table. at is when it can be claimed: its At, the time given to
// release, or the end of its lease.
type job struct {
	job        mortise.Job
	at         time.Time
	seq        uint64 // of arrival or of the latest release: decides between equal times
	token      uuid.UUID
	deliveries int
	dead       bool
	index      int // in the heap; -1 when not in it
}

func (j *job) before(other *job) bool {
	if c := j.at.Compare(other.at); c != 0 {
		return c < 0
	}
	return j.seq < other.seq
}

// jobHeap holds the jobs of an organization that are not dead, soonest claimable first.
type jobHeap []*job

func (h jobHeap) Len() int           { return len(h) }
func (h jobHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h jobHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *jobHeap) Push(x any) {
	j := x.(*job)
	j.index = len(*h)
	*h = append(*h, j)
}
func (h *jobHeap) Pop() any {
	old := *h
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	j.index = -1
	return j
}

func newJobTable() jobTable {
	return jobTable{
		all: make(map[jobKey]*job), lines: make(map[string]*jobLines), last: make(map[string]string), dead: make(map[string][]*job),
	}
}

// clone returns a table with copies of all jobs.
func (t *jobTable) clone() jobTable {
	jobs := make(copies[job])
	return jobTable{
		all: mapped(t.all, jobs.of),
		lines: mapped(t.lines, func(l *jobLines) *jobLines {
			return &jobLines{ring: slices.Clone(l.ring), orgs: mapped(l.orgs, func(h *jobHeap) *jobHeap {
				copied := jobHeap(jobs.all(*h))
				return &copied
			})}
		}),
		last: maps.Clone(t.last),
		seq:  t.seq,
		dead: mapped(t.dead, jobs.all),
	}
}

// add adds a job, unless it is there.
func (t *jobTable) add(j mortise.Job, at time.Time) {
	key := keyOf(j)
	if _, ok := t.all[key]; ok {
		return
	}
	t.seq++
	added := &job{job: j, at: at, seq: t.seq}
	t.all[key] = added
	t.enqueue(added)
}

// enqueue makes a job claimable that is in no heap.
func (t *jobTable) enqueue(added *job) {
	j := &added.job
	l, ok := t.lines[j.Kind]
	if !ok {
		l = &jobLines{orgs: make(map[string]*jobHeap)}
		t.lines[j.Kind] = l
	}
	jobs, ok := l.orgs[j.Organization]
	if !ok {
		jobs = &jobHeap{}
		l.orgs[j.Organization] = jobs
		i, _ := slices.BinarySearch(l.ring, j.Organization)
		l.ring = slices.Insert(l.ring, i, j.Organization)
	}
	heap.Push(jobs, added)
	t.added = append(t.added, j.Kind)
}

// first returns the job of the kinds that the organization, which has one, can have
// claimed first.
func (t *jobTable) first(kinds []string, org string) (first *job) {
	for _, kind := range kinds {
		l, ok := t.lines[kind]
		if !ok || l.orgs[org] == nil {
			continue
		}
		if j := (*l.orgs[org])[0]; first == nil || j.before(first) {
			first = j
		}
	}
	return first
}

// held returns the job that the lease holds, nil if it holds it no more.
func (t *jobTable) held(l mortise.Lease) *job {
	j, ok := t.all[keyOf(l.Job)]
	if !ok || j.dead || j.token != l.Token || l.Token == uuid.Nil {
		return nil
	}
	return j
}

func (t *jobTable) heapOf(j *job) *jobHeap { return t.lines[j.job.Kind].orgs[j.job.Organization] }

func (t *jobTable) extend(j *job, until time.Time) {
	j.at = until
	heap.Fix(t.heapOf(j), j.index)
}

func (t *jobTable) release(j *job, at time.Time) {
	// Behind the others that are claimable at the same time, or a job given back at once
	// would hold them up.
	t.seq++
	j.at, j.token, j.seq = at, uuid.Nil, t.seq
	heap.Fix(t.heapOf(j), j.index)
}

// remove ends the job. A dead one stays, where nobody claims it.
func (t *jobTable) remove(j *job, dead bool) {
	jobs := t.heapOf(j)
	if heap.Remove(jobs, j.index); jobs.Len() == 0 {
		l := t.lines[j.job.Kind]
		delete(l.orgs, j.job.Organization)
		i, _ := slices.BinarySearch(l.ring, j.job.Organization)
		l.ring = slices.Delete(l.ring, i, i+1)
	}
	j.dead, j.token = dead, uuid.Nil
	if dead {
		t.dead[j.job.Kind] = insert(t.dead[j.job.Kind], j)
		return
	}
	delete(t.all, keyOf(j.job))
}

// Position returns the place of a dead job in the list of its kind.
func (j *job) Position() mortise.Position { return j.deadJob().Position() }

func (j *job) deadJob() *mortise.DeadJob {
	return &mortise.DeadJob{Job: j.job, Deliveries: j.deliveries, Number: int64(j.seq)}
}

// unlist takes a dead job off the list of its kind.
func (t *jobTable) unlist(j *job) {
	list := t.dead[j.job.Kind]
	i := place(list, j.Position())
	t.dead[j.job.Kind] = slices.Delete(list, i, i+1)
}

// revive makes a dead job claimable, as if it was new.
func (t *jobTable) revive(j *job, at time.Time) {
	t.unlist(j)
	t.seq++
	j.dead, j.at, j.seq, j.deliveries = false, at, t.seq, 0
	t.enqueue(j)
}

// drop removes a job, whoever holds it, dead or not.
func (t *jobTable) drop(j *job) {
	if !j.dead {
		t.remove(j, false)
		return
	}
	t.unlist(j)
	delete(t.all, keyOf(j.job))
}

// forgetDead removes a job if it is dead.
func (t *jobTable) forgetDead(j mortise.Job) {
	if kept, ok := t.all[keyOf(j)]; ok && kept.dead {
		t.drop(kept)
	}
}

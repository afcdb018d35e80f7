package jobs

import "time"

// Probe is the table of jobs as the tests of the whole see it. Nothing else uses it.
type Probe struct{ jobs *Jobs }

// Probe returns the table's.
func (t *Jobs) Probe() Probe { return Probe{t} }

// SetNow makes now the clock of the jobs, or the database's again if now is nil.
func (p Probe) SetNow(now func() time.Time) { p.jobs.clock.now = now }

// LookedAtAll returns when a claim of a kind has looked at all jobs.
func (p Probe) LookedAtAll(kind string) time.Time {
	of := p.jobs.turns.turns([]string{kind})
	of.mu.Lock()
	defer of.mu.Unlock()
	return of.all
}

// Statements are the statements and the settings of a claim, and the removal of a job.
func (Probe) Statements() (fresh, all, take, settings, remove string) {
	return freshJobs, allJobs, takeJobs, claimSettings, removeJob
}

package leases

// JobNotifier is a [mortise.Leases] that tells its own process when jobs are added. A [Queue]
// makes use of it: a job wakes the idle consumers of every queue over the table, not only
// those of the queue that it was added through. Leases that are a [mortise.Sharer] should be one:
// jobs that a store adds do not come by way of the queue.
type JobNotifier interface {
	// NotifyJobs makes the table call wake, with the job's kind, after each job that is
	// added, by whichever method, once the job can be claimed; until stop is called. That
	// holds for the jobs added through any value of the same open database. Those of other
	// processes may be told too. A job that was there already, is to be claimable later,
	// or is given back by Release, need not be told.
	//
	// wake may be called from any goroutine, by several at once, more than once for a job,
	// and for no reason. It returns at once, and calls neither the table nor stop.
	//
	// There may be any number of subscriptions, and each hears of each job. stop ends its
	// own one, and may be called more than once. Once it has returned, no call of wake is
	// running, and none comes any more.
	NotifyJobs(wake func(kind string)) (stop func())
}

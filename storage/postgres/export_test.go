package postgres

import "time"

// SetNow makes now the clock of the jobs, or the database's again if now is nil.
func (db *DB) SetNow(now func() time.Time) { db.clock.now = now }

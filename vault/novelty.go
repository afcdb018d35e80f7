package vault

import "sync/atomic"

// novelty remembers whether values that are inserted in a scope are new, as those of a
// load are. Then a look at what is there, before the insertion, is in vain, and costs as
// much as the insertion of large vaults: InsertTokens finds out, too. A value that is
// there needs the look: it is found without a seal, a lock of the file and a sync.
type novelty struct {
	calls atomic.Int32 // in a row, of which all values were new; no further than assumeNew
}

// assumeNew is after how many calls with new values alone the next one is taken for one,
// too. If one in so many calls has a known value, every call looks.
const assumeNew = 8

// assumed reports whether values may go to the store without a look.
func (n *novelty) assumed() bool { return n.calls.Load() >= assumeNew }

// note takes note of a call.
func (n *novelty) note(allNew bool) {
	switch {
	case !allNew:
		n.calls.Store(0)
	case !n.assumed():
		n.calls.Add(1)
	}
}

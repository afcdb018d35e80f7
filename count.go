package mortise

import "strconv"

// MaxCount is how far the Stats of all domains count: a [Count] of a service is exact up
// to it.
const MaxCount = 10_000

// Count is a number that is counted only so far, so that counting costs little however
// much there is.
type Count struct {
	N    int
	More bool // there are more than N, or there may be
}

// CountUpTo returns the Count of n things by somebody who counts at most most of them.
func CountUpTo(n, most int) Count { return Count{N: min(n, most), More: n > most} }

// String returns the number, followed by "+" if there may be more: "42", "10000+".
func (c Count) String() string {
	if c.More {
		return strconv.Itoa(c.N) + "+"
	}
	return strconv.Itoa(c.N)
}

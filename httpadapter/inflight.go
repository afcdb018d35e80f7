package httpadapter

import "sync"

// Bytes that requests may hold at one time: bodies that arrive, and pages of lists that are
// read. Who sends or reads slowly holds them for long. Nobody waits for bytes: over a bound
// a request gets 429.
const (
	bodiesOfOne = 32 << 20 // of an organization
	pagesOfOne  = 16 << 20 // of an organization
	inAll       = 128 << 20

	// Of callers who are not known yet.
	strangersOfOne = 256 << 10 // of an address
	strangers      = 4 << 20

	shortAnswer = 16 << 10 // is not counted

	heldAtLeast = 1 << 10 // a body counts as much, however short
)

// The memory is the process's, and so are these: all services count together.
var (
	heldByCallers   = newInFlight(inAll, true)
	heldByStrangers = newInFlight(strangers, false)
)

// inFlight counts the bytes that requests hold.
type inFlight struct {
	most  int64 // in all
	spare bool  // who holds nothing may go over the bounds, with one request

	mu   sync.Mutex
	all  int64
	held map[account]int64
}

func newInFlight(most int64, spare bool) *inFlight {
	return &inFlight{most: most, spare: spare, held: make(map[account]int64)}
}

// account is whose requests are counted together, and how many bytes they may hold.
type account struct {
	who  string
	most int64
}

// hold is what one request holds on an account. Its zero value, and nil, hold nothing and
// may hold any number. It is safe for concurrent use.
type hold struct {
	of      *inFlight
	account account
	bytes   int64
	over    bool // it takes no more
}

// account returns a hold of nothing.
func (f *inFlight) account(who string, most int64) *hold {
	return &hold{of: f, account: account{who, most}}
}

// grow makes it a hold of so many bytes, or reports that there is no room for more.
func (h *hold) grow(bytes int64) bool {
	if h == nil || h.of == nil {
		return true
	}
	f := h.of
	f.mu.Lock()
	defer f.mu.Unlock()
	more, all := bytes-h.bytes, f.held[h.account]
	first := f.spare && all == h.bytes
	if h.over || more > 0 && !first && (all+more > h.account.most || f.all+more > f.most) {
		return false
	}
	h.set(bytes)
	return true
}

// full reports whether the account's requests hold all that they may: then it is no use to
// make one more answer.
func (h *hold) full() bool {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	all := h.of.held[h.account] - h.bytes
	return all > 0 && all+shortAnswer > h.account.most
}

// release gives everything back, for good.
func (h *hold) release() {
	if h == nil || h.of == nil {
		return
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.set(0)
	h.over = true
}

// set is called with the lock.
func (h *hold) set(bytes int64) {
	f := h.of
	f.all += bytes - h.bytes
	if left := f.held[h.account] + bytes - h.bytes; left > 0 {
		f.held[h.account] = left
	} else {
		delete(f.held, h.account)
	}
	h.bytes = bytes
}

// mayAnswer reports whether there is room for the answer to a long body, which is about as
// long: what is to change something is refused before it has.
func (c *call) mayAnswer() bool {
	return len(c.body) < shortAnswer || !heldByCallers.account(c.principal.Organization, pagesOfOne).full()
}

// holdAnswer makes a long answer count for the caller's organization until it is read. In
// place of one that can be asked for again, the caller may get 429.
func (c *call) holdAnswer(resp response) response {
	bytes := int64(cap(resp.body))
	if c.op.public || c.page != nil || bytes < shortAnswer {
		return resp
	}
	c.page = heldByCallers.account(c.principal.Organization, pagesOfOne)
	if !c.page.grow(bytes) && c.op.reads() {
		return *c.noRoom()
	}
	return resp
}

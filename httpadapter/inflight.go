package httpadapter

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// A slow client keeps the memory of its request for long. So the bytes of bodies and of long
// answers are counted while a request holds them, and over a bound a request gets 429. No
// request waits for another one to give bytes back.
const (
	callerBodies = 32 << 20 // of an organization
	callerPages  = 16 << 20 // of an organization: lists, results, and other long answers
	allCallers   = 128 << 20

	// The login reads a body before it knows the caller.
	strangerBodies = 256 << 10 // of an address
	allStrangers   = 4 << 20

	minBody    = 1 << 10  // the count of a shorter body
	longAnswer = 16 << 10 // a shorter answer has no count
)

// The memory is the process's, so all services count together.
var (
	callers   = newInFlight(allCallers, true)
	strangers = newInFlight(allStrangers, false)
)

// inFlight counts the bytes that requests hold, by account and in all.
type inFlight struct {
	most  int64 // in all
	first bool  // the first request of an account may pass all bounds

	mu   sync.Mutex
	all  int64
	held map[account]int64
}

func newInFlight(most int64, first bool) *inFlight {
	return &inFlight{most: most, first: first, held: make(map[account]int64)}
}

// account is an organization, or an address, with a bound for its requests together. Bodies
// and answers have different bounds, and so different accounts.
type account struct {
	name string
	most int64
}

// hold is the share of one request in an account. A nil hold has no bound.
type hold struct {
	of      *inFlight
	account account
	bytes   int64
	ended   bool
}

// account returns a hold of 0 bytes.
func (f *inFlight) account(name string, most int64) *hold {
	return &hold{of: f, account: account{name, most}}
}

// grow sets the bytes of a hold. It returns false, and changes nothing, if that passes a
// bound.
func (h *hold) grow(bytes int64) bool {
	if h == nil {
		return true
	}
	f := h.of
	f.mu.Lock()
	defer f.mu.Unlock()
	more, before := bytes-h.bytes, f.held[h.account]
	alone := f.first && before == h.bytes
	if h.ended || more > 0 && !alone && (before+more > h.account.most || f.all+more > f.most) {
		return false
	}
	h.set(bytes)
	return true
}

// force sets the bytes of a hold, even if that passes a bound.
func (h *hold) force(bytes int64) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.set(bytes)
}

// full reports whether other requests leave no room for a long answer in the account. Then
// it saves the work of making one.
func (h *hold) full() bool {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	others := h.of.held[h.account] - h.bytes
	return others > 0 && others+longAnswer > h.account.most
}

// end gives all bytes back. The hold cannot grow any more.
func (h *hold) end() {
	if h == nil {
		return
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.set(0)
	h.ended = true
}

// set is called with the lock.
func (h *hold) set(bytes int64) {
	f := h.of
	f.all += bytes - h.bytes
	f.held[h.account] += bytes - h.bytes
	if h.bytes = bytes; f.held[h.account] == 0 {
		delete(f.held, h.account)
	}
}

// errNoRoom: the requests of the caller hold too many bytes.
var errNoRoom = errors.New("httpadapter: the caller's requests hold too many bytes")

// noRoom answers 429. The connection ends after the answer. The rest of the body is read and
// dropped before, since many clients read no answer until they have sent all of it. The
// connection of a slow stranger ends soon, since even idle connections need memory.
func (c *call) noRoom() *response {
	resp := c.tooMany(&RateLimitError{RetryAfter: time.Second})
	resp.brief = c.op.public
	if c.r.ProtoMajor == 1 {
		resp.header["Connection"] = closeConnection
	}
	return resp
}

// bodyHold returns the hold of the request's body.
func (c *call) bodyHold() *hold {
	if c.op.public {
		return strangers.account(subscriber(c.r.RemoteAddr), strangerBodies)
	}
	return callers.account(c.principal.Organization, callerBodies)
}

// pageHold returns the hold of the answer.
func (c *call) pageHold() *hold { return callers.account(c.principal.Organization, callerPages) }

// mayAnswer reports whether there is room for the answer to a change, before the change is
// made. Only the answer to an insertion may be long: it has a token for each value.
func (c *call) mayAnswer() bool { return c.op.action != access.InsertRecords || !c.pageHold().full() }

// holdAnswer counts a long answer until the client has read it. Without room for it, the
// answer of an operation that only reads becomes a 429. The answer to a change passes the
// bound, because the caller cannot ask for it again.
func (c *call) holdAnswer(resp response) response {
	bytes := int64(cap(resp.body))
	if c.op.public || c.page != nil || bytes < longAnswer {
		return resp
	}
	c.page = c.pageHold()
	if !c.op.reads() {
		c.page.force(bytes)
	} else if !c.page.grow(bytes) {
		return *c.noRoom()
	}
	return resp
}

// reads reports whether the operation changes nothing.
func (op *operation) reads() bool {
	return op.Method == http.MethodGet || op.action == access.Tokenize || op.action == access.Detokenize
}

package httpadapter

import (
	"io"
	"net/http"
)

// A list is read from the storage and written step by step, so that a slow reader holds no
// more than a step of it. A step is what comes to one of these, or one item.
const (
	stepItems = 50
	stepBytes = 256 << 10
)

// listStep takes the items of a step.
type listStep struct {
	noRoom bool // the caller's requests hold too many bytes: the list should end, if it can

	body  []byte
	begun bool // there was an item
	ended bool
}

// item appends an item, as JSON.
func (s *listStep) item(encoded []byte) {
	if s.begun {
		s.body = append(s.body, ',')
	}
	s.begun = true
	s.body = append(s.body, encoded...)
}

// end appends the end of the list.
func (s *listStep) end(text string) {
	s.body = append(s.body, text...)
	s.ended = true
}

// list answers with a list that begins with head, and that step goes on with until it ends
// it. One that ends with its first step is sent whole; a longer one is streamed, and cut off
// if it fails. Its bytes count for the caller's organization while they wait for the reader.
func (h *Handler) list(c *call, head string, step func(*listStep) error) response {
	s := &listStep{body: []byte(head)}
	if err := step(s); err != nil {
		return h.fail(c, err)
	}
	if s.ended {
		return response{status: http.StatusOK, body: s.body}
	}
	return response{status: http.StatusOK, held: cap(s.body), stream: func(w io.Writer) error {
		for {
			if _, err := w.Write(s.body); err != nil || s.ended {
				return nil // the caller is gone
			}
			s.body = s.body[:0]
			if err := step(s); err != nil {
				h.log(c.r, err, false)
				return err
			}
			s.noRoom = !c.page.grow(int64(cap(s.body)))
		}
	}}
}

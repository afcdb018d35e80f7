package httpadapter

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// A list is read from the storage and written in steps, so that a slow reader holds one step
// in memory. A step ends with the item that reaches one of these bounds.
const (
	stepItems = 50
	stepBytes = 256 << 10
)

// listStep takes the items of a step.
type listStep struct {
	page  *hold
	body  bytes.Buffer
	begun bool // there was an item
	ended bool
}

// item appends an item, as JSON. Without room for the item, it returns errNoRoom and leaves
// the item out; the list must end then.
func (s *listStep) item(v any) error {
	before := s.body.Len()
	if s.begun {
		s.body.WriteByte(',')
	} else if s.page.full() { // since the list was asked for
		return errNoRoom
	}
	if err := writeJSON(&s.body, v); err != nil {
		return err
	}
	if !s.page.grow(int64(s.body.Cap())) {
		s.body = *bytes.NewBuffer(bytes.Clone(s.body.Bytes()[:before]))
		return errNoRoom
	}
	s.begun = true
	return nil
}

// undo leaves out the items of the step, which is not the first one.
func (s *listStep) undo() { s.body.Reset() }

// end appends the end of the list.
func (s *listStep) end(text string) {
	s.body.WriteString(text)
	s.ended = true
}

// take carries out a step, which must append something.
func (s *listStep) take(step func(*listStep) error) error {
	before := s.body.Len()
	if err := step(s); err != nil {
		return err
	}
	if s.body.Len() == before {
		return errors.New("a page of the store is empty and not the last one")
	}
	return nil
}

// list answers with head and the items of each step, until a step ends the list. A list of one
// step is sent whole, with Content-Length. A longer list is streamed, and cut off if a later
// step fails. Each step counts for the caller's organization until the client has read it.
func (h *Handler) list(c *call, head string, step func(*listStep) error) response {
	c.page = c.pageHold()
	if c.page.full() {
		return *c.noRoom()
	}
	s := &listStep{page: c.page}
	s.body.WriteString(head)
	switch err := s.take(step); {
	case errors.Is(err, errNoRoom):
		return *c.noRoom()
	case err != nil:
		return h.fail(c, err)
	}
	if s.ended {
		return response{status: http.StatusOK, body: s.body.Bytes()}
	}
	return response{status: http.StatusOK, stream: func(w io.Writer) error {
		for {
			if _, err := w.Write(s.body.Bytes()); err != nil || s.ended {
				return nil // the caller is gone
			}
			s.body.Reset()
			if err := s.take(step); err != nil {
				if !errors.Is(err, errNoRoom) {
					h.log(c.r, err, false)
				}
				return err
			}
		}
	}}
}

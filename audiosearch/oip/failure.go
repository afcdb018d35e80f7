package oip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// failure is why there is no answer that can be used.
type failure struct {
	err       error
	status    int           // of HTTP; 0: there was no answer
	again     bool          // to send the request again at once may help
	later     bool          // the server is away or busy: to try later may help
	after     time.Duration // how long the server wants to be left alone; 0: it did not say
	permanent bool
}

// The pauses that are asked for in an error.
const (
	leastPause = 5 * time.Second // or a server that says 0 would use up the attempts at a run
	mostPause  = 10 * time.Minute
	usualPause = 20 * time.Second
	mostWait   = 5 * time.Second // within a call
)

// public returns the error that a caller gets.
func (s *Scorer) public(ctx context.Context, f *failure) error {
	err := f.err
	if text := s.hide(err.Error()); text != err.Error() {
		err = &hidden{text, err}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case f.permanent:
		return sound.Permanent(err)
	case f.after > 0:
		return sound.RetryAfter(err, min(max(f.after, leastPause), mostPause))
	case f.later:
		return sound.RetryAfter(err, spread(usualPause))
	}
	return err
}

// hide takes the values of Options.Header out of a text: a server, or a proxy that helps to
// find mistakes, may repeat them anywhere.
func (s *Scorer) hide(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "[hidden]")
	}
	return text
}

// hidden is an error without what its text had to hide.
type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.err }

// spread returns a duration of three to five quarters of d, so that many do not come at
// once.
func spread(d time.Duration) time.Duration {
	return d - d/4 + rand.N(d/2)
}

// broken is an answer that the protocol does not allow.
func (s *Scorer) broken(format string, args ...any) *failure {
	return &failure{err: fmt.Errorf("oip: the inference server's answer about model %s is not of the protocol: "+format,
		append([]any{s.name()}, args...)...)}
}

// refused is a status that is no success. infer says that it is the answer to an
// inference.
func (s *Scorer) refused(response *http.Response, body []byte, infer bool) *failure {
	status := response.StatusCode
	f := &failure{status: status, after: retryAfter(response.Header.Get("Retry-After"))}
	advice := ""
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired:
		f.permanent = true
		advice = ": give the credentials that it wants in Options.Header"
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests,
		status >= 500:
		f.again, f.later = status != http.StatusNotImplemented, true
	case status == http.StatusNotFound:
		advice = ": the model is not there, or not loaded yet"
	case status == http.StatusRequestEntityTooLarge:
		f.permanent = infer
		advice = ": the request is too large for it: lower Options.Batch"
	case status == http.StatusUnsupportedMediaType:
		f.permanent = infer
		advice = ": set Options.Encoding to the encoding that it takes"
	case status >= 400 && status < 500:
		f.permanent = infer
	}
	doing := "a question about"
	if infer {
		doing = "an inference by"
	}
	answered := strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	f.err = fmt.Errorf("oip: the inference server answered %s to %s model %s%s%s", answered,
		doing, s.name(), advice, s.said(body))
	return f
}

// shownError is how much of a server's own words is shown, in bytes.
const shownError = 200

// said returns what a server says of an error, made fit for a message.
func (s *Scorer) said(body []byte) string {
	root, err := strictjson.Parse(body, maxDepth)
	if err != nil {
		return ""
	}
	value, _ := root.Get("error")
	text := s.hide(value.Text()) // before it is cut
	if text = clean(text, shownError); text == "" {
		return ""
	}
	return " (it says: " + text + ")"
}

// name returns the name of the model, for messages.
func (s *Scorer) name() string { return clean(s.address.name, shownName) }

// shownName is how much of a name from outside is shown, in bytes.
const shownName = 60

// clean makes one line of at most so many bytes of a text from outside.
func clean(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text[:min(len(text), 16*most)])
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// retryAfter reads the header of that name (RFC 9110, 10.2.3): seconds, or a date. It is
// 0 only if there is none that can be read.
func retryAfter(value string) time.Duration {
	value = strings.TrimSpace(value)
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 64)
		if err != nil || seconds > uint64(mostPause/time.Second) {
			return mostPause
		}
		return max(time.Duration(seconds)*time.Second, 1)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(time.Until(at), 1), mostPause)
}

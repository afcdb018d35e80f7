package jetstream

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-6363c74e/mortise"
)

// lane is the second token of a subject: where in its life a job is.
type lane string

const (
	ready   lane = "ready" // due: waiting for a consumer, or held by one
	later   lane = "later" // a schedule, which the server makes ready when it is due
	dead    lane = "dead"  // a dead letter, in a stream of its own
	anyLane lane = "*"
)

// subject returns where a job stands.
func (q *Queue) subject(l lane, j *mortise.Job) string {
	return q.opts.Name + "." + string(l) + "." + j.Kind + "." + token(j.Organization) + "." + j.ID
}

// escaped begins the token of an organization that is no word. It stands in no word.
const escaped = "="

// token returns an organization as one token of a subject. A word stays as it is, so that
// operators can filter by it. Anything else is "=" and its base64url.
func token(org string) string {
	for i := range len(org) {
		c := org[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return escaped + base64.RawURLEncoding.EncodeToString([]byte(org))
		}
	}
	return org
}

// jobAt returns the job whose subject it is. Its Trace is empty.
func jobAt(subject string) (j mortise.Job, err error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 {
		return j, fmt.Errorf("jetstream: %.120q is not the subject of a job", subject)
	}
	org := parts[3]
	if text, is := strings.CutPrefix(org, escaped); is {
		raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
		if err != nil {
			return j, fmt.Errorf("jetstream: the organization in the subject %.120q: %w", subject, err)
		}
		org = string(raw)
	}
	j = mortise.Job{Kind: parts[2], Organization: org, ID: parts[4]}
	return j, j.Check()
}

// traceText returns a trace as the body of a message, for traceOf. A form, as of HTTP,
// keeps all bytes, which JSON would not.
func traceText(trace map[string]string) []byte {
	if len(trace) == 0 {
		return nil
	}
	form := make(url.Values, len(trace))
	for k, v := range trace {
		form.Set(k, v)
	}
	return []byte(form.Encode())
}

func traceOf(text []byte) (map[string]string, error) {
	if len(text) == 0 {
		return nil, nil
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, fmt.Errorf("jetstream: the trace of a job: %w", err)
	}
	trace := make(map[string]string, len(form))
	for k := range form {
		trace[k] = form.Get(k)
	}
	return trace, nil
}

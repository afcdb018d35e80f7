package oip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// newClient returns the client that requests are sent with.
func newClient(client *http.Client) *http.Client {
	if client != nil {
		c := *client
		if c.CheckRedirect == nil {
			c.CheckRedirect = checkRedirect
		}
		return &c
	}
	return &http.Client{
		CheckRedirect: checkRedirect,
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: askTimeout, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:    askTimeout,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    2 * parallel,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true,
		},
	}
}

// errRedirect is in the error of a redirect that is not followed.
var errRedirect = errors.New("it redirects too often, to another host, or from sending to reading: " +
	"give the address that it ends at")

// checkRedirect follows what cannot carry credentials away, nor turn an inference into
// something else.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || next.URL.Host != first.URL.Host || next.Method != first.Method ||
		first.URL.Scheme == "https" && next.URL.Scheme != "https" {
		return errRedirect
	}
	return nil
}

// headerLength is the header that says how long the JSON before binary tensors is.
const headerLength = "Inference-Header-Content-Length"

// question is a request that can be sent again.
type question struct {
	address string
	timeout time.Duration
	most    int64   // bytes of the answer
	payload payload // nil: it is a GET
}

// payload is what a request sends.
type payload interface {
	size() int64
	open() io.ReadCloser
	header(http.Header)
}

// answer is what came back, with status 200.
type answer struct {
	header http.Header
	body   []byte
}

// send sends a question, and again if that may help.
func (s *Scorer) send(ctx context.Context, q *question) (answer, *failure) {
	for try := 0; ; try++ {
		a, f := s.sendOnce(ctx, q)
		if f == nil || !f.again || try >= s.opts.Retries || f.after > mostWait || ctx.Err() != nil {
			return a, f
		}
		pause := max(spread(100*time.Millisecond<<min(try, 5)), f.after)
		if end, ok := ctx.Deadline(); ok && time.Until(end) < pause {
			return a, f
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return a, f
		}
	}
}

// errSlow ends a request that takes too long.
var errSlow = errors.New("it did not answer in time")

// sendOnce sends a question once.
func (s *Scorer) sendOnce(ctx context.Context, q *question) (answer, *failure) {
	ctx, cancel := context.WithTimeoutCause(ctx, q.timeout, errSlow)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, q.address, nil)
	if err != nil {
		return answer{}, s.away(ctx, q, err)
	}
	request.Header = s.header.Clone()
	request.Host = s.host
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Encoding", "identity")
	if q.payload != nil {
		request.Method = http.MethodPost
		request.Body, request.ContentLength = q.payload.open(), q.payload.size()
		request.GetBody = func() (io.ReadCloser, error) { return q.payload.open(), nil }
		request.Header.Set("Accept", "application/json, application/octet-stream")
		q.payload.header(request.Header)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, s.away(ctx, q, err)
	}
	defer response.Body.Close()
	body, f := s.read(ctx, q, response)
	switch {
	case response.StatusCode < 200 || response.StatusCode >= 300:
		return answer{}, s.refused(response, body, q.payload != nil)
	case f != nil:
		return answer{}, f
	case response.StatusCode != http.StatusOK:
		return answer{}, s.broken("status %d in place of 200", response.StatusCode)
	}
	return answer{response.Header, body}, nil
}

// read reads an answer within its bounds. That of a refusal is returned as far as it
// came.
func (s *Scorer) read(ctx context.Context, q *question, response *http.Response) ([]byte, *failure) {
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" || response.Uncompressed {
		return nil, s.broken("it is compressed, though it was asked not to be")
	}
	if response.ContentLength > q.most {
		return nil, s.broken("it has %d bytes; at most %d can be right", response.ContentLength, q.most)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, q.most+1))
	if err != nil {
		return body, s.away(ctx, q, err)
	}
	if int64(len(body)) > q.most {
		return nil, s.broken("it has more than %d bytes, which is more than can be right", q.most)
	}
	return body, nil
}

// away is a server that did not answer, or not to the end.
func (s *Scorer) away(ctx context.Context, q *question, err error) *failure {
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		err = outer.Err // without the address
	}
	f := &failure{again: true, later: true}
	switch {
	case errors.Is(err, errRedirect):
		return &failure{err: fmt.Errorf("oip: the inference server of model %s does not answer itself: %w",
			s.name(), err)}
	case context.Cause(ctx) == errSlow:
		f.again, err = false, fmt.Errorf("%w: %v", errSlow, q.timeout)
	}
	f.err = fmt.Errorf("oip: the inference server of model %s is away: %w", s.name(), err)
	return f
}

package modelfile

import (
	"context"
	"math"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Options of [Open] and [Fetch]. The zero value, and nil, are the defaults.
type Options struct {
	// Client has the transport for the requests of Fetch. Fetch uses nothing else of the
	// client: it follows redirects itself, and has its own time limits. For nil, the
	// transport is like http.DefaultTransport.
	Client *http.Client

	// Progress is called while Fetch downloads, at most five times a second and at the
	// end of the download, by the goroutine that called Fetch. It is not called when no
	// download is needed.
	Progress func(Progress)

	maxBytes int64         // of a file, which is held in memory: 2 GiB
	stall    time.Duration // how long a server may send nothing: 30 s
	retries  int           // attempts in a row that may fail: 5; below 0: none

	wait func(context.Context, time.Duration) error // replaced by tests
	slow time.Duration                              // rateOver, but for tests
}

// Progress says how far a download is. While another process downloads the same file, it
// says how far that one is.
type Progress struct {
	Done  int64 // bytes that are here, those of earlier attempts included
	Total int64 // size of the file in bytes, -1 while it is not known

	// Trouble is why the last attempt failed, on the one call before the wait for the
	// next attempt. Otherwise nil.
	Trouble error
}

const (
	defaultMaxBytes = 2 << 30 // more than which no ONNX file can have: it is one protocol buffer
	defaultStall    = 30 * time.Second
	defaultRetries  = 5

	leastRate = 1 << 10     // bytes a second
	rateOver  = time.Minute // of waiting for the server, after which its rate is looked at

	firstWait     = time.Second
	longestWait   = 30 * time.Second
	maxRetryAfter = 2 * time.Minute
	enoughGained  = 1 << 20 // bytes after which an attempt is no failure
	reportEvery   = 200 * time.Millisecond
)

// filled returns the options with the defaults in place of what is not set.
func (o *Options) filled() Options {
	var filled Options
	if o != nil {
		filled = *o
	}
	if filled.maxBytes <= 0 {
		filled.maxBytes = defaultMaxBytes
	}
	filled.maxBytes = min(filled.maxBytes, math.MaxInt-1) // it becomes one slice
	if filled.stall <= 0 {
		filled.stall = defaultStall
	}
	switch {
	case filled.retries == 0:
		filled.retries = defaultRetries
	case filled.retries < 0:
		filled.retries = 0
	}
	if filled.wait == nil {
		filled.wait = wait
	}
	if filled.slow <= 0 {
		filled.slow = rateOver
	}
	return filled
}

// transport returns what makes the requests, and what to do with it in the end.
func (o *Options) transport() (http.RoundTripper, func()) {
	switch {
	case o.Client != nil && o.Client.Transport != nil:
		return o.Client.Transport, func() {}
	case o.Client != nil:
		return http.DefaultTransport, func() {}
	}
	// http.DefaultTransport may have been replaced by the host, so it cannot be cloned.
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: o.stall, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: min(o.stall, 20*time.Second),
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			if answer.StatusCode != http.StatusOK {
				return proxyRefusal(answer.StatusCode)
			}
			return nil
		},
	}
	return transport, transport.CloseIdleConnections
}

// wait returns after a time, or with the context's error when that ends before.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// meter calls Progress, not too often.
type meter struct {
	call func(Progress)
	last time.Time
}

// report tells how far a download is, if the last call is long enough ago or now says so.
func (m *meter) report(p Progress, now bool) {
	if m.call == nil || !now && time.Since(m.last) < reportEvery {
		return
	}
	m.last = time.Now()
	m.call(p)
}

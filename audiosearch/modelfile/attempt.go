package modelfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxRedirects = 10

var redirects = []int{301, 302, 303, 307, 308}

var (
	errStalled   = errors.New("the server sends nothing any more")
	errSlow      = fmt.Errorf("the server sends less than %d bytes a second", leastRate)
	errCut       = errors.New("the connection was cut")
	errNonsense  = errors.New("the server does not answer as HTTP says")
	errChangedAt = errors.New("the file on the server changed, or its parts do not fit together")
	errNoEnd     = errors.New("the server does not say how long the file is, so that a cut could not be seen: " +
		"add #sha256= and the file's SHA-256 to the URL, or download the file yourself and give its path")
)

// attempt makes one request and writes what comes. The error is an *again if another
// attempt may help.
func (f *fetcher) attempt(ctx context.Context, p *part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(f.stall, func() { cancel(errStalled) })
	defer alarm.Stop()

	resp, err := f.get(ctx, p)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	if err := f.accept(resp, p); err != nil {
		return err
	}
	return f.receive(ctx, resp.Body, p, alarm)
}

// get asks for what is missing and follows redirects.
//
// An http.Client would send the whole address before as Referer, query included, and
// quote the next one in its errors.
func (f *fetcher) get(ctx context.Context, p *part) (*http.Response, error) {
	u := f.to.url
	for range maxRedirects + 1 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, errMalformed // err would repeat the URL
		}
		req.Header.Set("User-Agent", "mortise")
		req.Header.Set("Accept-Encoding", "identity")
		if p.at.Offset > 0 && p.at.validator() != "" {
			req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.at.Offset))
			req.Header.Set("If-Range", p.at.validator())
		}
		resp, err := f.transport.RoundTrip(req)
		if err == nil && ctx.Err() != nil { // what came as it was given up may be what the server ends with
			_ = resp.Body.Close()
			err = ctx.Err()
		}
		if err != nil {
			return nil, networkError(ctx, err)
		}
		resp.Request = req // not every transport sets it
		if !slices.Contains(redirects, resp.StatusCode) {
			return resp, nil
		}
		_ = resp.Body.Close() // says nothing that is needed
		if u, err = next(u, resp.Header.Get("Location")); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the server redirects more than %d times: check the address", maxRedirects)
}

// next is where a redirect leads.
func next(from *url.URL, location string) (*url.URL, error) {
	to, err := url.Parse(location)
	if err != nil || location == "" || len(location) > maxURLBytes {
		return nil, fmt.Errorf("%s redirects to an address that is no URL: check the address", from.Host)
	}
	to = from.ResolveReference(to)
	if err := checkURL(to); err != nil {
		return nil, fmt.Errorf("%s redirects to an address that is not taken: %w", from.Host, err)
	}
	to.Fragment, to.RawFragment = "", ""
	return to, nil
}

// accept looks at the head of an answer, and makes the part what the answer goes on from.
func (f *fetcher) accept(resp *http.Response, p *part) error {
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && p.at.Offset > 0 {
		return startOver(p)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
		return statusError(resp, time.Now())
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/html" || kind == "application/xhtml+xml" {
		return errWebPage
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fmt.Errorf("%s sends the file compressed, though it was asked not to: download it yourself and give its path",
			resp.Request.URL.Host)
	}
	total := resp.ContentLength
	if resp.StatusCode == http.StatusPartialContent {
		first, all, ok := contentRange(resp.Header.Get("Content-Range"))
		if p.at.Offset == 0 {
			return fmt.Errorf("%s sends a part of the file, though it was asked for all: "+
				"download it yourself and give its path", resp.Request.URL.Host)
		}
		etag := resp.Header.Get("ETag")
		otherFile := p.at.Total >= 0 && all != p.at.Total || p.at.ETag != "" && etag != "" && etag != p.at.ETag
		if !ok || first != p.at.Offset || otherFile {
			return startOver(p)
		}
		p.at.Total, p.doubtful = all, true
		if all > f.maxBytes {
			return f.refuseSize(p, all)
		}
		return nil
	}
	if p.at.Offset > 0 { // the server does not know ranges, or the file is another one
		if err := p.reset(); err != nil {
			return err
		}
	}
	if total > f.maxBytes {
		return f.refuseSize(p, total)
	}
	if total < 0 && resp.ProtoMajor == 1 && len(resp.TransferEncoding) == 0 {
		if f.to.want == nil {
			return errNoEnd
		}
		p.doubtful = true // a cut looks like the end
	}
	p.at.Total = total
	p.at.ETag, p.at.LastModified = validators(resp.Header)
	return nil
}

// startOver forgets what is here.
func startOver(p *part) error {
	if err := p.reset(); err != nil {
		return err
	}
	return &again{err: errChangedAt}
}

func (f *fetcher) refuseSize(p *part, size int64) error {
	p.discard()
	return tooLarge(size, f.maxBytes)
}

// validators returns what can be asked by later: RFC 9110, 8.8.3 and 8.8.2.2. A time of
// change says nothing about a file that could have changed twice in its second.
func validators(h http.Header) (etag, modified string) {
	const most = 1 << 10
	if etag = h.Get("ETag"); !strings.HasPrefix(etag, `"`) || len(etag) > most {
		etag = ""
	}
	then, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return etag, ""
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil || now.Sub(then) < time.Second {
		return etag, ""
	}
	return etag, h.Get("Last-Modified")
}

// contentRange takes the head of a part apart. Without a total the end could not be told
// from a cut, so that is refused.
func contentRange(header string) (first, total int64, ok bool) {
	rest, ok := strings.CutPrefix(header, "bytes ")
	span, all, ok2 := strings.Cut(rest, "/")
	from, to, ok3 := strings.Cut(span, "-")
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if !ok || !ok2 || !ok3 || err1 != nil || err2 != nil || first < 0 || last < first {
		return 0, 0, false
	}
	total, err := strconv.ParseInt(all, 10, 64)
	if err != nil || total <= last {
		return 0, 0, false
	}
	return first, total, true
}

// pace is how fast a server sends.
type pace struct {
	over   time.Duration // of waiting, after which it is judged
	waited time.Duration
	came   int64 // bytes
}

// tooSlow counts bytes and the wait for them. It reports whether fewer came than leastRate asks
// for, once over has passed, and then counts anew.
func (p *pace) tooSlow(bytes int, waited time.Duration) bool {
	p.came += int64(bytes)
	if p.waited += waited; p.waited < p.over {
		return false
	}
	slow := float64(p.came) < leastRate*p.waited.Seconds()
	p.came, p.waited = 0, 0
	return slow
}

// receive writes what comes until all is here. The alarm runs only while the server is
// waited for, and nothing else counts for its pace.
func (f *fetcher) receive(ctx context.Context, body io.Reader, p *part, alarm *time.Timer) error {
	buf := make([]byte, 256<<10)
	rate := pace{over: f.slow}
	for {
		alarm.Reset(f.stall)
		asked := time.Now()
		n, err := body.Read(buf)
		slow := rate.tooSlow(n, time.Since(asked))
		alarm.Stop()
		switch size := p.at.Offset + int64(n); {
		case size > f.maxBytes:
			return f.refuseSize(p, size)
		case p.at.Total >= 0 && size > p.at.Total:
			return startOver(p)
		}
		if n > 0 {
			if err := p.write(buf[:n]); err != nil {
				return err
			}
			if !p.complete() {
				f.meter.report(Progress{Done: p.at.Offset, Total: p.at.Total}, false)
			}
		}
		switch {
		case err == io.EOF && p.at.Total >= 0 && p.at.Offset < p.at.Total:
			return &again{err: errCut}
		case err == io.EOF:
			p.at.Total = p.at.Offset
			f.meter.report(Progress{Done: p.at.Offset, Total: p.at.Total}, true)
			return nil
		case err != nil:
			return networkError(ctx, err)
		case slow && !p.complete():
			return &again{err: errSlow}
		}
	}
}

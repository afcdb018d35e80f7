package modelfile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// networkError says why no answer came, or not all of it. Its text is made anew, since
// those of net/http can hold addresses.
func networkError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return &again{err: errStalled}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	var refusal proxyRefusal
	switch {
	case errors.As(err, &refusal) && refusal < 500:
		return refusal
	case errors.As(err, &certificate):
		return fmt.Errorf("the server's certificate is not trusted (%s): if a proxy of your network opens connections, "+
			"add its certificate to those of this system, or name it in SSL_CERT_FILE", plain(certificate.Err))
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("there is no host %s: check the address and the network (HTTPS_PROXY, if it goes through a proxy)",
			plain(errors.New(name.Name)))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &again{err: errCut}
	case strings.Contains(err.Error(), "malformed"): // and quotes what came, addresses included
		return &again{err: errNonsense}
	}
	return &again{err: fmt.Errorf("the server cannot be reached: %s", plain(err))}
}

// proxyRefusal is the status of a proxy that does not connect.
type proxyRefusal int

func (p proxyRefusal) Error() string {
	return fmt.Sprintf("the proxy answers %d: check HTTPS_PROXY, or name the server in NO_PROXY", int(p))
}

// plain makes one short line of a text of others, without the words that could be an
// address with a query or a password.
func plain(err error) string {
	const most = 200
	words := strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, err.Error()))
	for i, word := range words {
		if strings.Contains(word, "//") || strings.ContainsAny(word, "?@=&%") {
			words[i] = "..."
		}
	}
	text := strings.Join(words, " ")
	return text[:min(len(text), most)]
}

// statusError says what an answer that is no file means.
func statusError(resp *http.Response, now time.Time) error {
	host, code := resp.Request.URL.Host, resp.StatusCode
	const byHand = "download the file yourself and give its path"
	switch {
	case code == http.StatusUnauthorized:
		return fmt.Errorf("%s asks for credentials (401), as Hugging Face does for names that do not exist, too: "+
			"check the address, or %s", host, byHand)
	case code == http.StatusForbidden:
		return fmt.Errorf("%s refuses the file (403): check that everybody may have it, or %s", host, byHand)
	case code == http.StatusNotFound, code == http.StatusGone:
		return fmt.Errorf("%s has no such file (%d): check the address; "+onHuggingFace, host, code)
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500 && code <= 599:
		after := retryAfter(resp.Header.Get("Retry-After"), now)
		if after > maxRetryAfter {
			return fmt.Errorf("%w: %s answers %d and asks to wait until %s: start again then",
				ErrUnavailable, host, code, now.Add(after).UTC().Format(time.RFC3339))
		}
		return &again{err: fmt.Errorf("%s answers %d", host, code), after: after}
	}
	return fmt.Errorf("%s answers %d in place of a file: check the address, or %s", host, code, byHand)
}

// retryAfter reads the header: seconds, or a time. Nonsense is 0.
func retryAfter(header string, now time.Time) time.Duration {
	const most = 365 * 24 * time.Hour // what is longer would overflow
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(most/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(0, at.Sub(now)), most)
	}
	return 0
}

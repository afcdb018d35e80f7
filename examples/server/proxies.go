package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/realclientip/realclientip-go"
)

// proxies takes the client's address from the headers of trusted proxies.
type proxies struct {
	trusted                  []net.IPNet
	xForwardedFor, forwarded realclientip.Strategy // the second one reads Forwarded (RFC 7239)
}

// newProxies takes addresses and networks with commas between them. For "" it returns nil.
func newProxies(list string) (*proxies, error) {
	if list == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
		if _, err := realclientip.AddressesAndRangesToIPNets(names[i]); err != nil {
			return nil, fmt.Errorf("%q is neither", names[i])
		}
	}
	trusted, err := realclientip.AddressesAndRangesToIPNets(names...)
	if err != nil {
		return nil, err
	}
	x, err := realclientip.NewRightmostTrustedRangeStrategy("X-Forwarded-For", trusted)
	if err != nil {
		return nil, err
	}
	forwarded, err := realclientip.NewRightmostTrustedRangeStrategy("Forwarded", trusted)
	return &proxies{trusted, x, forwarded}, err
}

// in returns a handler that sees the client's address as the RemoteAddr of a request, with
// port 0, if the request came from a trusted proxy. If both headers are there and differ, the
// RemoteAddr stays, because the proxy sets one of them and the client may have sent the other.
func (p *proxies) in(next http.Handler) http.Handler {
	if p == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if address := p.client(r); address != "" {
			r.RemoteAddr = net.JoinHostPort(address, "0")
		}
		next.ServeHTTP(w, r)
	})
}

// client returns the address in the headers, or "" if they have none that counts.
func (p *proxies) client(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(p.trusted, func(n net.IPNet) bool { return n.Contains(peer.Addr().Unmap().AsSlice()) }) {
		return ""
	}
	x, _, _ := strings.Cut(p.xForwardedFor.ClientIP(r.Header, ""), "%") // without the zone of another machine
	forwarded, _, _ := strings.Cut(p.forwarded.ClientIP(r.Header, ""), "%")
	switch {
	case strings.Join(r.Header["Forwarded"], "") == "":
		return x
	case strings.Join(r.Header["X-Forwarded-For"], "") == "" || x == forwarded:
		return forwarded
	}
	return ""
}

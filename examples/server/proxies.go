package main

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/realclientip/realclientip-go"
)

// proxies finds the client's address in what a proxy in front of the server says.
type proxies struct {
	trusted           []net.IPNet
	x, forwardedChain realclientip.Strategy // of X-Forwarded-For, and of Forwarded (RFC 7239)
}

// newProxies takes addresses and networks with commas between them. For "" it returns nil.
func newProxies(list string) (*proxies, error) {
	if list == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
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

// in returns a handler whose requests have the client's address as their RemoteAddr, with
// port 0, if a trusted proxy says it. Of a proxy that sets one of the two headers, a client
// can have sent the other: where both come and differ, none is believed.
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

// client returns "" if no trusted proxy says which address asks.
func (p *proxies) client(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(p.trusted, func(n net.IPNet) bool { return n.Contains(peer.Addr().Unmap().AsSlice()) }) {
		return ""
	}
	x, _, _ := strings.Cut(p.x.ClientIP(r.Header, ""), "%") // without a zone, which says nothing elsewhere
	forwarded, _, _ := strings.Cut(p.forwardedChain.ClientIP(r.Header, ""), "%")
	switch {
	case strings.Join(r.Header["Forwarded"], "") == "":
		return x
	case strings.Join(r.Header["X-Forwarded-For"], "") == "" || x == forwarded:
		return forwarded
	}
	return ""
}

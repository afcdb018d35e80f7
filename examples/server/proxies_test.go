package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTrustedProxies: a client's address is the rightmost one that no trusted proxy has,
// and no client can choose it.
func TestTrustedProxies(t *testing.T) {
	p, err := newProxies("192.0.2.1, 198.51.100.0/24,2001:db8::/32")
	require.NoError(t, err)
	x := func(values ...string) http.Header { return http.Header{"X-Forwarded-For": values} }
	forwarded := func(values ...string) http.Header { return http.Header{"Forwarded": values} }
	both := x("203.0.113.7")
	both.Set("Forwarded", "for=203.0.113.8")
	same := x("203.0.113.7")
	same.Set("Forwarded", "for=203.0.113.7")
	for _, c := range []struct {
		name, peer string
		header     http.Header
		want       string
	}{
		{"no proxy", "203.0.113.9:1", x("203.0.113.7"), "203.0.113.9:1"},
		{"no header", "192.0.2.1:1", nil, "192.0.2.1:1"},
		{"one proxy", "192.0.2.1:1", x("203.0.113.7"), "203.0.113.7:0"},
		{"one proxy, IPv4 in IPv6", "[::ffff:192.0.2.1]:1", x("203.0.113.7"), "203.0.113.7:0"},
		{"a client's own line before the proxy's", "192.0.2.1:1", x("10.0.0.1", "203.0.113.7"), "203.0.113.7:0"},
		{"a client's own address before the proxy's", "192.0.2.1:1", x("10.0.0.1, 203.0.113.7"), "203.0.113.7:0"},
		{"two proxies", "192.0.2.1:1", x("10.0.0.1, 203.0.113.7, 198.51.100.9"), "203.0.113.7:0"},
		{"proxies alone", "192.0.2.1:1", x("198.51.100.8, 198.51.100.9"), "192.0.2.1:1"},
		{"no address", "192.0.2.1:1", x("203.0.113.7, unknown"), "192.0.2.1:1"},
		{"RFC 7239", "192.0.2.1:1", forwarded(`for=10.0.0.1, for="203.0.113.7:4711";proto=https`), "203.0.113.7:0"},
		{"RFC 7239, IPv6", "[2001:db8::1]:1", forwarded(`for="[2001:db9::7]:4711"`), "[2001:db9::7]:0"},
		{"one of two headers is the client's", "192.0.2.1:1", both, "192.0.2.1:1"},
		{"one of two headers is the client's, and empty", "192.0.2.1:1", http.Header{"X-Forwarded-For": {"203.0.113.7"}, "Forwarded": {""}}, "203.0.113.7:0"},
		{"a zone", "192.0.2.1:1", x("2001:db9::1%zone"), "[2001:db9::1]:0"},
		{"both say the same", "192.0.2.1:1", same, "203.0.113.7:0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr, r.Header = c.peer, c.header
			p.in(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { assert.Equal(t, c.want, r.RemoteAddr) })).
				ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	for _, wrong := range []string{"proxy.example", "192.0.2.1,", "192.0.2.0/33", "192.0.2.1:80"} {
		_, err := newProxies(wrong)
		assert.Error(t, err, wrong)
	}
	none, err := newProxies("")
	require.NoError(t, err)
	assert.Nil(t, none)
}

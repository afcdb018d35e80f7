package httpadapter_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// loginRig is a token endpoint with one client, within a synctest bubble.
type loginRig struct {
	t       *testing.T
	handler http.Handler
	secret  string
	log     bytes.Buffer // one line is written at a time
}

func newLoginRig(t *testing.T, most int) *loginRig {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	service, err := authmgmt.New(db.AuthMgmt(), nil)
	require.NoError(t, err)
	by := authmgmt.Caller{Actor: "test", Access: access.Full()}
	_, secret, err := service.CreateClient(t.Context(), "acme", by, authmgmt.NewClient{ID: "c1", Name: "ci", FullAccess: true})
	require.NoError(t, err)
	r := &loginRig{t: t, secret: secret.Reveal()}
	log := slog.New(slog.NewTextHandler(&r.log, nil))
	r.handler, err = httpadapter.NewAuthMgmt(service, nil, &httpadapter.AuthMgmtOptions{
		Options: httpadapter.Options{Logger: log}, PublicOnly: true, Login: true, FailedLogins: most,
	})
	require.NoError(t, err)
	return r
}

func (r *loginRig) login(id, secret, address string) *httptest.ResponseRecorder {
	body := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}.Encode()
	request := httptest.NewRequest("POST", login, strings.NewReader(body)).WithContext(context.Background())
	request.Header.Set("Content-Type", asForm)
	request.RemoteAddr = address
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, request)
	return w
}

func TestFailedLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoginRig(t, 0)
		const here = "192.0.2.1:1234"
		for range 100 {
			require.Equal(t, http.StatusOK, r.login("c1", r.secret, here).Code, "right ones do not count")
		}
		for i := range 30 {
			require.Equal(t, http.StatusUnauthorized, r.login("c1", "wrong", "192.0.2.1:"+string('0'+rune(i%10))).Code)
			time.Sleep(time.Second)
		}
		w := r.login("c1", "wrong", here)
		requireTokenError(t, w, http.StatusTooManyRequests, "slow_down")
		require.Equal(t, "30", w.Header().Get("Retry-After"))
		require.Equal(t, http.StatusOK, r.login("c1", r.secret, here).Code, "the right secret")
		require.Equal(t, http.StatusTooManyRequests, r.login("c1", "wrong", here).Code, "nor does the right one end the limit")
		require.Equal(t, http.StatusUnauthorized, r.login("c2", "wrong", here).Code, "another client ID")

		time.Sleep(30 * time.Second)
		require.Equal(t, http.StatusUnauthorized, r.login("c1", "wrong", here).Code, "the first failure is a minute old")
		require.Equal(t, http.StatusTooManyRequests, r.login("c1", "wrong", here).Code)
	})
}

// TestFailedLoginsAtOnce: those that come together find the limit, too, and none of the
// right ones is refused for being many.
func TestFailedLoginsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoginRig(t, 0)
		codes := func(secret string) map[int]int {
			var mu sync.Mutex
			var all sync.WaitGroup
			codes := make(map[int]int)
			for range 200 {
				all.Go(func() {
					code := r.login("c1", secret, "[2001:db8::1]:1").Code
					mu.Lock()
					defer mu.Unlock()
					codes[code]++
				})
			}
			all.Wait()
			return codes
		}
		require.Equal(t, map[int]int{http.StatusOK: 200}, codes(r.secret))
		require.Equal(t, map[int]int{http.StatusUnauthorized: 30, http.StatusTooManyRequests: 170}, codes("wrong"))
		require.Equal(t, http.StatusTooManyRequests, r.login("c1", "wrong", "[2001:db8::2]:1").Code, "the same 64 bits")
		require.Equal(t, http.StatusTooManyRequests, r.login("c1", "wrong", "2001:db8::3").Code, "as some middleware has it")
		require.Equal(t, http.StatusUnauthorized, r.login("c1", "wrong", "[2001:db8:0:1::2]:1").Code, "other ones")
	})
}

// TestFailedLoginsOfMany: what others try does not make a guesser forgotten at once.
func TestFailedLoginsOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoginRig(t, 3)
		for range 3 {
			require.Equal(t, http.StatusUnauthorized, r.login("c1", "wrong", "192.0.2.1:1").Code)
		}
		for i := range 17_000 {
			r.login("x"+strings.Repeat("y", i%7), "wrong", "192.0.2."+string('0'+rune(i%10))+":1")
		}
		require.Equal(t, http.StatusTooManyRequests, r.login("c1", "wrong", "192.0.2.1:1").Code)

		r = newLoginRig(t, -1)
		for range 100 {
			require.Equal(t, http.StatusUnauthorized, r.login("c1", "wrong", "a socket").Code, "no limit")
		}
	})
}

// TestRefusedLoginsAreLogged: once a second, with the number of failures since the last line,
// the client ID and the address, but no secret.
func TestRefusedLoginsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoginRig(t, 0)
		logged := func(id, secret string) string {
			r.log.Reset()
			r.login(id, secret, "192.0.2.1:7")
			return r.log.String()
		}
		require.Empty(t, logged("c1", r.secret))
		line := logged("c1", "wrong")
		require.Contains(t, line, `level=WARN msg="login refused" client_id=c1 address=192.0.2.1:7 count=1 request_id=`)
		require.Equal(t, 1, strings.Count(line, "\n"))
		for range 40 { // from the 30th on with 429
			require.Empty(t, logged("c1", "wrong"))
		}
		time.Sleep(time.Second)
		require.Contains(t, logged("c2", "wrong"), "client_id=c2 address=192.0.2.1:7 count=41 ")
		for _, id := range []string{
			r.secret, r.secret + "\n", "c1:" + r.secret, url.QueryEscape(r.secret + "+"), "at-" + strings.Repeat("0", 64), strings.Repeat("x", 256), "\xff",
		} {
			time.Sleep(time.Second)
			require.Contains(t, logged(id, "c1"), `client_id="" address=192.0.2.1:7 count=1 `)
		}
	})
}

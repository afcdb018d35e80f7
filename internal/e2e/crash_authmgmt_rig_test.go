package e2e

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// credentialsLoad works on credentials from several sides at once, and keeps what it was
// told.
type credentialsLoad struct {
	t         testing.TB
	http      *http.Client
	answered  atomic.Int64  // requests that succeeded
	after     func(n int64) // called by whoever got the n-th of these
	changers  []*changer
	logins    []*loginLoop
	accepters []*accepter
}

// changer renames one client, and gives it another role together with each name.
type changer struct {
	load *credentialsLoad
	id   string
	sent int          // changes 0 to sent-1
	lost map[int]bool // those that got no answer
}

// loginLoop exchanges the secret of one client for tokens.
type loginLoop struct {
	load   *credentialsLoad
	client credentials
	tokens []string
	lost   int
}

// accepter invites people and accepts in their place.
type accepter struct {
	load        *credentialsLoad
	name        int
	next        int
	invitations map[string]inviteState // by email address
	unsure      []string               // links whose acceptance got no answer
	tokens      []string
}

type inviteState int

const (
	inviteLost     inviteState = iota // no answer to the invitation
	acceptLost                        // no answer to its acceptance
	acceptAnswered                    // accepted, and a token was shown
)

// newCredentialsLoad makes what the load works on: n of each kind.
func newCredentialsLoad(s *server, n int) *credentialsLoad {
	s.t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 3 * n}
	s.t.Cleanup(transport.CloseIdleConnections)
	l := &credentialsLoad{t: s.t, http: &http.Client{Transport: transport}}
	for i := range n {
		l.changers = append(l.changers, &changer{load: l, id: s.newClient(rootToken, "new").ID, lost: make(map[int]bool)})
		l.logins = append(l.logins, &loginLoop{load: l, client: s.newClient(rootToken, "login", "admin client")})
		l.accepters = append(l.accepters, &accepter{load: l, name: i, invitations: make(map[string]inviteState)})
	}
	return l
}

// run has everybody work until a request fails. It returns a function that waits for
// that.
func (l *credentialsLoad) run(address string, failed func(what string, err error)) (wait func()) {
	var running sync.WaitGroup
	loop := func(what string, step func(address string) error) {
		running.Go(func() {
			for {
				if err := step(address); err != nil {
					failed(what, err)
					return
				}
			}
		})
	}
	for i := range l.changers {
		loop("a change", l.changers[i].step)
		loop("a login", l.logins[i].step)
		loop("an acceptance", l.accepters[i].step)
	}
	return running.Wait
}

// send returns the body of an answer with the status that is wanted.
func (l *credentialsLoad) send(want int, method, address, token, mediaType, body string) (string, error) {
	r, err := http.NewRequestWithContext(l.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", mediaType)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := l.http.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != want {
		l.t.Errorf("%s: status %d: %s", method, resp.StatusCode, text)
		return "", fmt.Errorf("status %d", resp.StatusCode)
	}
	if n := l.answered.Add(1); l.after != nil {
		l.after(n)
	}
	return string(text), nil
}

func (c *changer) step(address string) error {
	n := c.sent
	c.sent++
	c.lost[n] = true
	body := fmt.Sprintf(`{"name":"name %d","roles":[{"role_id":%q}]}`, n, roleOf(n))
	_, err := c.load.send(http.StatusOK, "PUT", address+clientsPath+"/"+c.id, rootToken, "application/json", body)
	if err == nil {
		delete(c.lost, n)
	}
	return err
}

func (c *loginLoop) step(address string) error {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {c.client.ID}, "client_secret": {c.client.Secret}}
	text, err := c.load.send(http.StatusOK, "POST", address+loginPath, "", "application/x-www-form-urlencoded", form.Encode())
	var body struct {
		Token string `json:"access_token"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &body)
	}
	if err != nil {
		c.lost++
		return err
	}
	c.tokens = append(c.tokens, body.Token)
	return nil
}

func (a *accepter) step(address string) error {
	email := fmt.Sprintf("alan%d@example%d.com", a.next, a.name)
	a.next++
	a.invitations[email] = inviteLost
	text, err := a.load.send(http.StatusCreated, "POST", address+invitationsPath, rootToken, "application/json",
		`{"email":"`+email+`","name":"Alan","roles":[{"role_id":"admin","resource":"client"}]}`)
	var i invitation
	if err == nil {
		err = json.Unmarshal([]byte(text), &i)
	}
	if err != nil {
		return err
	}
	a.invitations[email] = acceptLost
	_, link, _ := strings.Cut(i.URL, acceptPath)
	text, err = a.load.send(http.StatusOK, "POST", address+acceptPath+link, "", "application/x-www-form-urlencoded", "")
	if err != nil {
		a.unsure = append(a.unsure, link)
		return err
	}
	a.invitations[email] = acceptAnswered
	a.tokens = append(a.tokens, shownToken.FindString(html.UnescapeString(text)))
	return nil
}

// check asks the server, after the last start, whether everything that was answered is
// there, and brings the acceptances that were cut off to their end: a claim on an attempt
// lasts as long as the attempt may.
func (l *credentialsLoad) check(s *server) {
	l.t.Helper()
	for _, c := range l.changers {
		stored := ask[credentials](s, http.StatusOK, "GET", clientsPath+"/"+c.id, rootToken, nil)
		last := c.sent - 1 // that was answered
		for c.lost[last] {
			last--
		}
		var n int
		_, err := fmt.Sscanf(stored.Name, "name %d", &n)
		require.NoError(l.t, err, stored.Name)
		assert.True(l.t, n >= last && n < c.sent, "%s, and the last change that was answered is %d", stored.Name, last)
		assert.Equal(l.t, roles(roleOf(n)), stored.Roles, "half of a change")
	}
	for i := range l.logins {
		got := l.logins[i].tokens // the client keeps the newest tokens, and had others whose answers were lost
		for _, token := range append(got[max(0, len(got)-authmgmt.MaxClientTokens/2):], l.accepters[i].tokens...) {
			require.True(l.t, s.works(token), "a token that was answered does not work")
		}
	}
	for _, a := range l.accepters {
		for _, link := range a.unsure {
			var last answer
			for deadline := time.Now().Add(endurance); ; time.Sleep(100 * time.Millisecond) {
				if last = s.accept(link); last.status != http.StatusConflict {
					break
				}
				require.True(l.t, time.Now().Before(deadline), "an acceptance that was cut off cannot be finished: %s", last.body)
			}
			if last.status == http.StatusOK {
				token := last.accepted(l.t)
				a.tokens = append(a.tokens, token)
				assert.True(l.t, s.works(token))
				continue
			}
			// It had come to its end; its token was in the answer that was lost.
			assert.Equal(l.t, http.StatusNotFound, last.status, last.body)
		}
	}
}

// cutOff is how many acceptances, or the invitations before them, got no answer.
func (l *credentialsLoad) cutOff() (n int) {
	for _, a := range l.accepters {
		for _, state := range a.invitations {
			if state != acceptAnswered {
				n++
			}
		}
	}
	return n
}

// secrets are some of each kind that the load was told, the last ones included.
func (l *credentialsLoad) secrets() []string {
	all := []string{rootToken, adminToken, otherToken}
	for i := range l.logins {
		all = append(all, l.logins[i].client.Secret)
		all = append(all, l.accepters[i].unsure...)
		for _, tokens := range [][]string{l.logins[i].tokens, l.accepters[i].tokens} {
			all = append(all, tokens[max(0, len(tokens)-20):]...)
		}
	}
	return all
}

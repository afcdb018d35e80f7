package httpadapter_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// hostileVaultBodies are bodies that have broken JSON services, with the fields of this
// one. One operation gets those of the triggers, too: all read JSON in the same way.
func hostileVaultBodies(target string) map[string]string {
	list := make(map[string]string)
	if target == tokenize {
		list = hostileBodies()
	}
	fill := func(piece string) string { return strings.Repeat(piece, bodyLimit/len(piece)-64) }
	cut := func(text string) string { return strings.TrimSuffix(text, ",") }
	var keys, fields strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&keys, `"k%d":0,`, i)
		fmt.Fprintf(&fields, `"k%d":"",`, i)
	}
	for name, items := range map[string]string{
		"many empty items":   cut(fill(`{},`)),
		"many nulls":         cut(fill(`null,`)),
		"many numbers":       cut(fill(`1,`)),
		"many items":         cut(fill(`{"value":"Ada","columnGroup":"emails"},`)),
		"1000 empty items":   cut(strings.Repeat(`{},`, 1000)),
		"item of many keys":  `{` + keys.String() + `"value":"x","columnGroup":"emails"}`,
		"long value":         `{"value":"` + fill("v") + `","columnGroup":"emails"}`,
		"long escaped value": `{"value":"` + fill(`\u0000`) + `","columnGroup":"emails"}`,
		"long names":         `{"value":"x","table":"` + fill("t")[:bodyLimit/2] + `","column":"` + fill("c")[:bodyLimit/4] + `"}`,
		"deep value":         `{"value":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
		"nested items":       strings.Repeat(`{"tokenizationParameters":[`, 200) + strings.Repeat(`]}`, 200),
	} {
		list[name] = parameters(items)
	}
	list["record of many fields"] = `{"records":[{"fields":{` + cut(fields.String()) + `}}]}`
	list["many records"] = `{"records":[` + cut(fill(`{"fields":{"":""}},`)) + `]}`
	list["long field"] = `{"records":[{"fields":{"` + fill("f") + `":""}}]}`
	list["long escaped field"] = `{"records":[{"fields":{"` + fill(`\u0001`) + `":7}}]}`
	list["many tokens"] = detokenization(cut(fill(`{"token":""},`)))
	list["long token"] = detokenization(`{"token":"` + fill("t") + `"}`)
	list["long redaction"] = detokenization(`{"token":"x","redaction":"` + fill("R") + `"}`)
	return list
}

// None of them succeeds, breaks the server, or is repeated.
func TestHostileVaultBodies(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	for _, target := range []string{tokenize, persons, detokenize} {
		for name, body := range hostileVaultBodies(target) {
			w := r.post(target, body)
			require.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, w.Code, "%s, %s: %s", target, name, w.Body)
			require.Less(t, w.Body.Len(), 64<<10, name)
		}
	}
	require.NotContains(t, r.log.String(), "request failed")
}

// A request allocates a few times its body at most, whatever is in it.
func TestHostileVaultBodiesMemory(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	for _, target := range []string{tokenize, persons, detokenize} {
		for name, body := range hostileVaultBodies(target) {
			measure := func() uint64 {
				req := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
				req.Header.Set("Authorization", "Bearer full")
				req.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				w.Body = nil // the recorder's own copy does not count
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r.handler.ServeHTTP(w, req)
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			// Other goroutines of the test binary allocate too, and the race detector
			// empties pools at random: the least is ours.
			spent := measure()
			for range 9 {
				if spent <= 8*bodyLimit {
					break
				}
				spent = min(spent, measure())
			}
			require.LessOrEqual(t, spent, uint64(8*bodyLimit), "%s %s: %d bytes", target, name, spent)
		}
	}
}

// canary is a value that must not be seen in the wrong place, in any form.
const canary = "canary-7c1e@example"

// Whatever goes wrong, and wherever: no value in logs, observations and answers that are
// no success.
func TestNoValueInLogsObservationsOrErrors(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	token := r.insert("acme", "v1", "persons", "email", canary)
	r.insert("acme", "v1", "persons", "name", canary)
	quoted := quoteJSON(canary)
	bodies := map[string][]string{
		tokenize: {
			parameters(ofEmail(canary)), parameters(ofEmail(canary), ofName("unknown")), parameters(ofName(canary + "?")),
			parameters(`{"value":` + quoted + `}`),
			parameters(`{"value":` + quoted + `,"columnGroup":"none"}`), parameters(`{"value":` + quoted + `,"table":"persons","column":"note"}`),
			parameters(`{"value":"x","table":` + quoted + `,"column":` + quoted + `}`), parameters(`{"value":"x","columnGroup":` + quoted + `}`),
			parameters(`{"value":[` + quoted + `],"table":"persons"}`), parameters(quoted), quoted, `{"value":` + quoted,
			`{"tokenizationParameters":` + quoted + `}`, `{"tokenizationParameters":[` + quoted + quoted,
			parameters(`{"value":"` + canary + `\ud800"}`), parameters(`{"value":` + quoted + `,"value":` + quoted + `}`), parameters(`{` + quoted + `:1}`),
			parameters(`{"value":"` + strings.Repeat(canary, 4000) + `","columnGroup":"emails"}`),
		},
		persons: {
			`{"records":[{"fields":{"card":` + quoted + `,"email":"x` + canary + ` "}}]}`, `{"records":[{"fields":{"remark":` + quoted + `}}]}`,
			`{"records":[{"fields":{"none":` + quoted + `}}]}`, `{"records":[{"fields":{"name":[` + quoted + `]}}]}`, `{"records":` + quoted + `}`,
			`{"records":[{"fields":{"email":` + quoted + `}}],"tokenization":` + quoted + `}`, `{"records":[{"fields":{"email":"y` + canary + `"}}]}`,
		},
		detokenize: {
			detokenization(ofToken(token, "")), detokenization(ofToken(canary, "")), detokenization(ofToken(token, canary)),
			detokenization(ofToken(token, ""), ofToken("none", "")), detokenization(quoted),
		},
	}
	var failures strings.Builder
	for _, broken := range []string{"Vault", "FindTokens", "InsertTokens", "Rows", "AddAuditEvent", "tamper", "strange key", ""} {
		r.faults(broken)
		for target, list := range bodies {
			for _, body := range list {
				for _, caller := range []string{"full", "viewer", "editor", "none", ""} {
					if w := r.as(caller, http.MethodPost, target, body); w.Code >= 300 {
						fmt.Fprintf(&failures, "%d %v %s\n", w.Code, w.Header(), w.Body)
					}
				}
			}
		}
		w := r.as("full", http.MethodDelete, tokens+canary, "")
		fmt.Fprintf(&failures, "%d %v %s\n", w.Code, w.Header(), w.Body)
	}
	require.Contains(t, r.log.String(), "connection refused")
	require.Contains(t, failures.String(), "value_corrupt")
	require.Contains(t, failures.String(), "format_mismatch")
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	r.did.mu.Lock()
	defer r.did.mu.Unlock()
	var did strings.Builder
	for _, o := range r.did.list {
		fmt.Fprintf(&did, "%+v %#v %v\n", o, o, o.Err)
	}
	require.Contains(t, did.String(), "corrupt")
	for _, all := range []string{r.log.String(), failures.String(), did.String(), fmt.Sprintf("%+v", r.seen.list)} {
		for _, form := range encodings(canary) {
			require.False(t, strings.Contains(all, form), form)
		}
		require.False(t, strings.Contains(all, "canary"))
	}
}

func TestVaultBodyThatDoesNotArrive(t *testing.T) {
	r := newVaultRig(t, &httpadapter.VaultOptions{Options: httpadapter.Options{BodyTimeout: 50 * time.Millisecond}}, nil)
	server := httptest.NewServer(r.handler)
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	head := "POST " + tokenize + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer full\r\nContent-Type: application/json\r\n"
	require.Equal(t, "HTTP/1.1 408 Request Timeout", raw(t, address, head+"Content-Length: 100\r\n\r\n{", false))
	require.Equal(t, "HTTP/1.1 413 Request Entity Too Large", raw(t, address, head+"Content-Length: 8388609\r\n\r\n", false))

	patient := newVaultRig(t, nil, nil)
	broken := io.MultiReader(strings.NewReader(`{"tokeni`), iotest.ErrReader(io.ErrUnexpectedEOF))
	w := patient.post(tokenize, "x", func(req *http.Request) { req.Body, req.ContentLength = io.NopCloser(broken), 100 })
	message := requireProblems(t, w, http.StatusBadRequest, problemAt{-1, "", "json_invalid"})
	require.Equal(t, "The body did not arrive to its end.", message)
	require.Contains(t, w.Body.String(), `"offset":8`)
}

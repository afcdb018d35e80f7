//go:build linux || darwin

package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

//go:embed page.html
var page []byte

// open serves the page, and prints its URL.
func (g *game) open(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) })
	mux.HandleFunc("GET /numbers", func(w http.ResponseWriter, _ *http.Request) {
		n, err := g.count()
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"acknowledged": g.acknowledged.Load(), "finished": g.finished.Load(), "rows": n.Rows, "wrong": n.Lost + n.Twice,
			"kills": g.done[kill].Load(), "stops": g.done[pause].Load(), "full": g.done[full].Load(), "said": g.said.Load(),
		})
	})
	mux.HandleFunc("POST /end", func(http.ResponseWriter, *http.Request) { g.enough() })
	for a, path := range []string{"POST /kill", "POST /pause", "POST /full"} {
		mux.HandleFunc(path, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case g.acts <- act(a):
			case <-r.Context().Done():
			}
		})
	}
	fmt.Printf("http://%s has a red button; Ctrl-C counts and ends\n", listener.Addr())
	s := &http.Server{Handler: http.NewCrossOriginProtection().Handler(mux), ReadHeaderTimeout: 5 * time.Second}
	go func() { fail(s.Serve(listener)) }()
	return nil
}

// tell shows the line on the page, and gives browsers the time to fetch it.
func (g *game) tell(line string) {
	if g.said.Store(&line); !g.byClock {
		time.Sleep(2 * time.Second)
	}
}

// Package oipserver is an inference server for tests. It speaks the Open Inference
// Protocol, version 2, over HTTP, with Triton's extensions for binary tensors and the
// configuration of models, and refuses whatever those do not allow: it is a judge of
// clients, not a server to be kind to them. What a model computes is a Go function.
//
// The protocol: https://github.com/kserve/open-inference-protocol, inference_rest.md; the
// extensions: https://github.com/triton-inference-server/server, docs/protocol.
package oipserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tensor describes an input or output of a model.
type Tensor struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"` // -1 for any length
}

// Model is a model with one input and some outputs, all of FP32.
type Model struct {
	Name     string
	Versions []string // that can be asked for; the last one answers where none is asked for
	Input    Tensor
	Outputs  []Tensor
	MaxBatch int // as in Triton's configuration: 0 bounds nothing, and is not told

	// Run computes the outputs, by name, from an input of a shape that fits. The first
	// dimension of an output that may have any length is that of the input. Its error is
	// answered with 500.
	Run func(version string, shape []int64, input []float32) (map[string][]float32, error)
}

// The extensions that the server knows.
const (
	Binary        = "binary_tensor_data"
	Configuration = "model_configuration"
)

// Request is what the server was asked.
type Request struct {
	Method, Path string
	Header       http.Header
	Clips        int64 // first dimension of the input of an inference
	Status       int   // of the answer; 0: Intercept gave it
}

// Server is an [http.Handler]. Its fields are set before it serves.
type Server struct {
	Extensions []string
	Nested     bool          // data in JSON are nested as the shape says, else flat
	Latency    time.Duration // of an inference

	// Intercept answers in place of the server if it returns true.
	Intercept func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	models   map[string]Model
	requests []Request
}

// Serve serves a model, in place of the one of that name.
func (s *Server) Serve(m Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.models == nil {
		s.models = map[string]Model{}
	}
	s.models[m.Name] = m
}

// Remove serves a model no longer.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.models, name)
}

// Requests returns what was asked since the last call, in the order of the answers.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// refusal is an error with its status.
type refusal struct {
	status  int
	message string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone()}
	if s.Intercept == nil || !s.Intercept(w, r) {
		seen.Status = http.StatusOK
		if no := s.route(w, r, &seen); no != nil {
			seen.Status = no.status
			answer(w, no.status, map[string]any{"error": no.message})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, seen)
}

// answer writes JSON.
func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// route answers a request.
func (s *Server) route(w http.ResponseWriter, r *http.Request, seen *Request) *refusal {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if parts[0] != "v2" || r.URL.RawQuery != "" {
		return refuse(http.StatusNotFound, "no such address")
	}
	get := func() *refusal {
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			return refuse(http.StatusMethodNotAllowed, "send GET")
		}
		if r.ContentLength != 0 {
			return refuse(http.StatusBadRequest, "a GET has no body here")
		}
		return nil
	}
	switch rest := strings.Join(parts[1:], "/"); rest {
	case "":
		no := get()
		if no == nil {
			extensions := append([]string{}, s.Extensions...)
			answer(w, http.StatusOK, map[string]any{"name": "oipserver", "version": "1", "extensions": extensions})
		}
		return no
	case "health/live", "health/ready":
		no := get()
		if no == nil {
			answer(w, http.StatusOK, map[string]any{"live": true})
		}
		return no
	}
	if parts = parts[1:]; parts[0] != "models" || len(parts) < 2 {
		return refuse(http.StatusNotFound, "no such address")
	}
	s.mu.Lock()
	m, ok := s.models[parts[1]]
	s.mu.Unlock()
	if !ok {
		return refuse(http.StatusNotFound, "Request for unknown model: '%s' is not found", parts[1])
	}
	parts, version := parts[2:], ""
	if len(m.Versions) > 0 {
		version = m.Versions[len(m.Versions)-1]
	}
	listed := m.Versions
	if len(parts) > 1 && parts[0] == "versions" {
		version, parts = parts[1], parts[2:]
		if !slices.Contains(m.Versions, version) {
			return refuse(http.StatusNotFound, "Request for unknown model: '%s' version %s is not found", m.Name, version)
		}
		listed = []string{version}
	}
	switch what := strings.Join(parts, "/"); {
	case what == "infer":
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			return refuse(http.StatusMethodNotAllowed, "send POST")
		}
		return s.infer(w, r, &m, version, seen)
	case what == "" || what == "ready" || what == "config" && slices.Contains(s.Extensions, Configuration):
		if no := get(); no != nil {
			return no
		}
		switch what {
		case "ready":
			answer(w, http.StatusOK, map[string]any{"name": m.Name, "ready": true})
		case "config":
			answer(w, http.StatusOK, map[string]any{"name": m.Name, "platform": "go", "max_batch_size": m.MaxBatch})
		default:
			body := map[string]any{"name": m.Name, "platform": "go_function", "inputs": []Tensor{m.Input}, "outputs": m.Outputs}
			if len(listed) > 0 {
				body["versions"] = listed
			}
			answer(w, http.StatusOK, body)
		}
		return nil
	}
	return refuse(http.StatusNotFound, "no such address")
}

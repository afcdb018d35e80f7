package main

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// meters is what /metrics tells. No label names an organization, a client or an event: each
// has the values that this program's code has, and no others. A nil one counts nothing.
type meters struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	events   *prometheus.CounterVec
	waits    prometheus.Histogram
	attempts prometheus.Histogram
}

func newMeters() *meters {
	m := &meters{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "mortise_http_request_duration_seconds",
			Help:    "Requests that reached an operation, by its ID in the OpenAPI document.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"service", "operation", "code"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mortise_events_total",
			Help: "What the services have done, refused or noticed, by its kind.",
		}, []string{"service", "kind"}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "mortise_trigger_wait_seconds",
			Help:    "From when a trigger event was due to its first attempt.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 15, 60, 300, 3600},
		}),
		attempts: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "mortise_trigger_attempt_duration_seconds",
			Help:    "How long attempts on trigger events took, failed ones too.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 15, 60, 300, 600},
		}),
	}
	version, revision, modified := built()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mortise_build_info",
		Help: "The version of the program, and the revision that it was built from. It is always 1.",
		ConstLabels: prometheus.Labels{
			"version": version, "revision": revision, "modified": strconv.FormatBool(modified), "goversion": runtime.Version(),
		},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.events, m.waits, m.attempts, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// request is an httpadapter.Observer.
func (m *meters) request(_ context.Context, r httpadapter.RequestObservation) {
	if m != nil {
		m.requests.WithLabelValues(r.Operation.Service, r.Operation.ID, strconv.Itoa(r.Status)).Observe(r.Duration.Seconds())
	}
}

// observe counts the work of the services.
func (m *meters) observe(o *mortise.Observation) {
	if m == nil {
		return
	}
	m.events.WithLabelValues(o.Service, string(o.Kind)).Inc()
	if o.Service != "trigger" {
		return
	}
	switch o.Kind {
	case mortise.KindStarted:
		if o.Attempt == 1 {
			m.waits.Observe(o.Wait.Seconds())
		}
	case mortise.KindCompleted, mortise.KindRetrying, mortise.KindFailed:
		m.attempts.Observe(o.Duration.Seconds())
	}
}

// handler serves what was counted, and what the stores have and which of them are away.
func (m *meters) handler(all *services, ready *httpadapter.Readiness, log *slog.Logger) http.Handler {
	state := &storeState{services: all, ready: ready}
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, state}, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4,
	})
}

// stateFor is how long an answer of the stores is told again: anybody may ask for it, as
// often as they like.
const stateFor = 5 * time.Second

// storeState asks the stores when somebody asks for the metrics.
type storeState struct {
	services *services
	ready    *httpadapter.Readiness

	mu    sync.Mutex
	asked time.Time
	told  *prometheus.Registry
}

// Gather implements [prometheus.Gatherer].
func (s *storeState) Gather() ([]*dto.MetricFamily, error) {
	s.mu.Lock()
	if time.Since(s.asked) >= stateFor {
		s.told = s.ask()
		s.asked = time.Now()
	}
	told := s.told
	s.mu.Unlock()
	return told.Gather()
}

// ask returns what the stores tell. A number that a store does not tell is left out.
func (s *storeState) ask() *prometheus.Registry {
	told := prometheus.NewRegistry()
	gauge := func(name, help string, labels ...string) func(value float64, of ...string) {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		told.MustRegister(v)
		return func(value float64, of ...string) { v.WithLabelValues(of...).Set(value) }
	}
	exact := " It is exact up to " + strconv.Itoa(mortise.MaxCount) + "."
	up := gauge("mortise_up", "Whether a part answers (1) or is away (0), as /readyz tells.", "part")
	events := gauge("mortise_trigger_events",
		"Trigger events of all organizations that wait, run or have failed, by what they do."+exact, "state")
	runs := gauge("mortise_audiosearch_runs", "Searches of all organizations that have not ended."+exact, "state")
	late := gauge("mortise_late_seconds", "For how long the work that has waited longest has been due.", "service")
	dead := gauge("mortise_postgres_dead_rows", "About how many dead rows the tables in PostgreSQL keep.")
	snapshot := gauge("mortise_postgres_oldest_snapshot_seconds", "For how long the oldest transaction has run that may see dead rows. Of other roles only with pg_read_all_stats.")
	since := func(service string, due time.Time) {
		behind := 0.
		if !due.IsZero() {
			behind = max(0, time.Since(due).Seconds())
		}
		late(behind, service)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var asking sync.WaitGroup
	asking.Go(func() {
		for _, part := range s.services.needed() {
			up(1, part.Name)
		}
		for _, part := range s.ready.Away(ctx) {
			up(0, part)
		}
	})
	asking.Go(func() {
		if has, err := s.services.trigger.service.Backlog(ctx); err == nil {
			events(float64(has.Waiting.N), "waiting")
			events(float64(has.Running.N), "running")
			events(float64(has.Failed.N), "failed")
			since("trigger", has.NextDue)
		}
	})
	asking.Go(func() {
		if has, err := s.services.audio.service.Backlog(ctx); err == nil {
			runs(float64(has.Waiting.N), "waiting")
			runs(float64(has.Running.N), "running")
			since("audiosearch", has.NextDue)
		}
	})
	if s.services.dead != nil {
		asking.Go(func() {
			if rows, oldest, err := s.services.dead(ctx); err == nil {
				dead(float64(rows))
				snapshot(oldest.Seconds())
			}
		})
	}
	asking.Wait()
	return told
}

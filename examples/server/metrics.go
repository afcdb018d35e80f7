package main

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
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
			Help:    "From the submission of a trigger event to its first attempt.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 15, 60, 300, 3600},
		}),
		attempts: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "mortise_trigger_attempt_duration_seconds",
			Help:    "How long attempts on trigger events took, failed ones too.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 15, 60, 300, 600},
		}),
	}
	m.registry.MustRegister(m.requests, m.events, m.waits, m.attempts,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// request is an httpadapter.Observer.
func (m *meters) request(_ context.Context, r httpadapter.RequestObservation) {
	if m != nil {
		m.requests.WithLabelValues(r.Operation.Service, r.Operation.ID, strconv.Itoa(r.Status)).Observe(r.Duration.Seconds())
	}
}

func (m *meters) event(service, kind string) {
	if m != nil {
		m.events.WithLabelValues(service, kind).Inc()
	}
}

// trigger is a trigger.Observer.
func (m *meters) trigger(_ context.Context, o trigger.Observation) {
	m.event("trigger", string(o.Kind))
	switch {
	case m == nil:
	case o.Kind == trigger.KindStarted && o.Attempt == 1:
		m.waits.Observe(o.Duration.Seconds())
	case o.Kind == trigger.KindCompleted, o.Kind == trigger.KindRetrying, o.Kind == trigger.KindFailed:
		m.attempts.Observe(o.Duration.Seconds())
	}
}

// vault is a vault.Observer.
func (m *meters) vault(_ context.Context, o vault.Observation) { m.event("vault", string(o.Kind)) }

// authmgmt returns an authmgmt.Observer that asks next, too.
func (m *meters) authmgmt(next authmgmt.Observer) authmgmt.Observer {
	return func(ctx context.Context, o authmgmt.Observation) {
		m.event("authmgmt", string(o.Kind))
		next(ctx, o)
	}
}

// audio returns an audiosearch.Observer that asks next, too.
func (m *meters) audio(next audiosearch.Observer) audiosearch.Observer {
	return func(ctx context.Context, o audiosearch.Observation) {
		m.event("audiosearch", string(o.Kind))
		next(ctx, o)
	}
}

// handler serves what was counted, and what the stores have and which of them are away.
func (m *meters) handler(all *services, log *slog.Logger) (http.Handler, error) {
	if err := m.registry.Register(&stateCollector{services: all, log: log}); err != nil {
		return nil, err
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4,
	}), nil
}

// stateFor is how long an answer of the stores is told again: anybody may ask for it, as
// often as they like.
const stateFor = 5 * time.Second

// stateCollector asks the stores when somebody asks for the metrics. A number that a store
// does not tell is left out.
type stateCollector struct {
	services *services
	log      *slog.Logger

	mu    sync.Mutex
	asked time.Time
	told  []prometheus.Metric
}

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	partUp = gauge("mortise_up", "Whether a part answers (1) or is away (0), as /readyz tells.", "part")

	triggerEvents = gauge("mortise_trigger_events",
		"Trigger events of all organizations that are not completed, by what they do. It is exact up to "+maxCount+".", "state")
	audioRuns   = gauge("mortise_audiosearch_runs", "Searches of all organizations that have not ended. It is exact up to "+maxCount+".", "state")
	workLate    = gauge("mortise_late_seconds", "For how long the work that has waited longest has been due.", "service")
	vaultTokens = gauge("mortise_vault_tokens", "Tokens of all organizations. It is exact up to "+maxCount+".", "state")
	vaults      = gauge("mortise_vaults", "Vaults of all organizations. It is exact up to "+maxCount+".")
)

var maxCount = strconv.Itoa(mortise.MaxCount)

// Describe implements [prometheus.Collector].
func (c *stateCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{partUp, triggerEvents, audioRuns, workLate, vaultTokens, vaults} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *stateCollector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil || time.Since(c.asked) >= stateFor {
		c.told = c.ask()
		c.asked = time.Now()
	}
	for _, m := range c.told {
		to <- m
	}
}

func (c *stateCollector) ask() (told []prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	var mu sync.Mutex
	tell := func(d *prometheus.Desc, value float64, labels ...string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...))
	}
	count := func(d *prometheus.Desc, n mortise.Count, labels ...string) { tell(d, float64(n.N), labels...) }
	since := func(service string, due time.Time) {
		behind := 0.
		if !due.IsZero() {
			behind = max(0, time.Since(due).Seconds())
		}
		tell(workLate, behind, service)
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		needed := c.services.needed()
		up := make(map[string]float64, len(needed))
		for _, m := range needed {
			up[m.name] = 1
		}
		for _, name := range pingAll(ctx, needed, c.log) {
			up[name] = 0
		}
		for name, value := range up {
			tell(partUp, value, name)
		}
	})
	asking.Go(func() {
		if s, err := c.services.trigger.service.StatsAll(ctx); err == nil {
			count(triggerEvents, s.Waiting, "waiting")
			count(triggerEvents, s.Running, "running")
			count(triggerEvents, s.Failed, "failed")
			since("trigger", s.NextDue)
		}
	})
	asking.Go(func() {
		if s, err := c.services.audio.service.StatsAll(ctx); err == nil {
			count(audioRuns, s.Waiting, "waiting")
			count(audioRuns, s.Running, "running")
			since("audiosearch", s.NextDue)
		}
	})
	asking.Go(func() {
		if s, err := c.services.vault.service.StatsAll(ctx); err == nil {
			count(vaults, s.Vaults)
			count(vaultTokens, s.Tokens, "kept")
			count(vaultTokens, s.Deleted, "deleted")
		}
	})
	asking.Wait()
	return told
}

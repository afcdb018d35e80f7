package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestDatasetsOfADeletedOrganization: the document that names them is noted in one line,
// and the rest of it is applied.
func TestDatasetsOfADeletedOrganization(t *testing.T) {
	for name, open := range storages {
		t.Run(name, func(t *testing.T) {
			s, err := wire(testSettings(), open(t), testKey(), discard())
			if err != nil {
				t.Fatal(err)
			}
			const text = `{"organizations":[{"id":"acme","datasets":[{"id":"a"},{"id":"b"},{"id":"c"}]},{"id":"rival","datasets":[{"id":"d"}]}]}`
			if err := apply(t, s, text); err != nil {
				t.Fatal(err)
			}
			for more := true; more; {
				if more, err = s.audio.service.DeleteOrganization(t.Context(), "acme", "ada"); err != nil {
					t.Fatal(err)
				}
			}
			before := len(s.audio.ingestion.datasets)
			doc, err := readText(t, text)
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			if err := applyDocument(t.Context(), s, doc, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))); err != nil {
				t.Fatal(err)
			}
			if told := log.String(); strings.Count(told, "\n") != 1 || !strings.Contains(told, "organization=acme") {
				t.Errorf("logged %q, want one line of the organization", told)
			}
			if got := len(s.audio.ingestion.datasets) - before; got != 1 {
				t.Errorf("%d datasets to look at, want that of the other organization", got)
			}
			if _, err := s.audio.service.Dataset(t.Context(), "rival", "d"); err != nil {
				t.Error(err)
			}
		})
	}
}

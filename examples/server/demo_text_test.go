package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// demoOutput is what the demo prints.
func demoOutput(t *testing.T, all, docs bool) string {
	t.Helper()
	d := newDemoCredentials()
	page := &demoPage{
		URL: "http://127.0.0.1:8080", Key: d.key, Token: d.token, Link: "http://127.0.0.1:8080/#" + strings.Repeat("x", 32),
		Kept: "in memory", Docs: docs, All: all, Start: "12345678", Tomorrow: "2026-11-02T10:00:00+02:00",
	}
	var b strings.Builder
	if err := page.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestDemoCommandsAreOfAllOperations: -demo-commands has one for each that is mounted.
func TestDemoCommandsAreOfAllOperations(t *testing.T) {
	var named, mounted []string
	for line := range strings.Lines(demoOutput(t, true, true)) {
		ids, _, found := strings.Cut(strings.TrimPrefix(line, "# "), ": ")
		for id := range strings.SplitSeq(ids, ", ") {
			if found && strings.HasPrefix(line, "# ") && !strings.Contains(id, " ") {
				named = append(named, id)
			}
		}
	}
	s, _ := open(t)
	for _, h := range s.handlers() {
		for _, route := range h.Routes() {
			mounted = append(mounted, route.ID)
		}
	}
	slices.Sort(named)
	slices.Sort(mounted)
	if !slices.Equal(named, mounted) {
		t.Errorf("there are commands of\n%v\nand operations\n%v", named, mounted)
	}
}

// TestDemoFitsATerminal: of 80 columns.
func TestDemoFitsATerminal(t *testing.T) {
	for _, all := range []bool{false, true} {
		text := demoOutput(t, all, true)
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("%d columns: %s", len(line)-1, line)
			}
		}
		if strings.Contains(text, "\n\n\n") || !strings.HasSuffix(text, "/docs\n") || strings.HasSuffix(demoOutput(t, all, false), "/docs\n") {
			t.Errorf("it is not as it should be:\n%s", text)
		}
	}
}

// TestONNXRuntimeIsNamed: the flag that is wrong is the one that the message names.
func TestONNXRuntimeIsNamed(t *testing.T) {
	s := testSettings()
	s.model, s.onnxruntime = "model.onnx", t.TempDir()
	_, err := openModel(t.Context(), s, nil, discard())
	if err == nil || !strings.HasPrefix(err.Error(), "-onnxruntime: onnx: ") {
		t.Errorf("got %v", err)
	}
}

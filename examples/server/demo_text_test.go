package main

import (
	"strings"
	"testing"
)

// TestDemoTextWithAModel: what the demo shows as not found is not shown where a model may find it.
func TestDemoTextWithAModel(t *testing.T) {
	text := func(model bool) string {
		var b strings.Builder
		place := demoPlace{URL: "http://localhost", Kept: "in memory", Docs: true, Model: model}
		if err := demoText.Execute(&b, demoPage{place, "key", "token", "start"}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const refused = "cannot find without a model (422)"
	with, without := text(true), text(false)
	if strings.Contains(with, refused) || strings.Contains(with, "Bark") {
		t.Error("with a model the demo says that there is none")
	}
	if !strings.Contains(without, refused) {
		t.Error("without a model the demo does not show how a sound is refused")
	}
	for _, s := range []string{with, without} {
		if strings.Contains(s, "\n\n\n") || !strings.Contains(s, "\n\n# Search with a browser") {
			t.Error("the paragraphs are not one line apart")
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

package inference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Description says how a network is used that is not recognized by itself. As JSON it is
// a file beside the model, with ".json" after its name:
//
//	{
//	  "family": "birds",
//	  "input": "waveform",
//	  "sample_rate": 32000,
//	  "samples": 160000,
//	  "hop_seconds": 2.5,
//	  "output": "probabilities",
//	  "gives": "scores",
//	  "classes": ["Owl", "Crow"]
//	}
type Description struct {
	// Family names the model without what changes when it is made better, see
	// [sound.Model]. It is required.
	Family string

	Features   string        // "": the input is a waveform; "ast": the features of package astfeatures
	Input      string        // name of the input; "": the only one
	SampleRate int           // Hz, 100 to 384,000; of a waveform
	Samples    int           // of a window of a waveform, at most 10 minutes; 0: as the shape says
	Hop        time.Duration // from window to window; 0: half a window

	Output  string        // name of the output with one value a class; "": the only one
	Gives   string        // "logits", of which the scores are the sigmoid, or "scores", in [0,1]
	Classes []sound.Class // in the order of the output
}

// What Description.Features and Gives may be.
const (
	featuresAST = "ast"
	givesLogits = "logits"
	givesScores = "scores"
)

// maxFamily bounds the name of a family, in bytes: IDs of models begin with it.
const maxFamily = 64

// The sampling rates of waveforms, in Hz. A rate below is one in kHz.
const lowestRate, highestRate = 100, 384_000

// maxDescription bounds a description, in bytes: 10,000 classes of 255 bytes fit.
const maxDescription = 4 << 20

// descriptionJSON is the form of a description in files.
type descriptionJSON struct {
	Family     string    `json:"family"`
	Features   string    `json:"features"`
	Input      string    `json:"input"`
	SampleRate int       `json:"sample_rate"`
	Samples    int       `json:"samples"`
	HopSeconds float64   `json:"hop_seconds"`
	Output     string    `json:"output"`
	Gives      string    `json:"gives"`
	Classes    classJSON `json:"classes"`
}

// classJSON is a list of names, or "audioset" for the 527.
type classJSON []sound.Class

// UnmarshalJSON implements [json.Unmarshaler].
func (c *classJSON) UnmarshalJSON(data []byte) error {
	var name string
	if json.Unmarshal(data, &name) == nil && name == "audioset" {
		*c = audioset.Classes()
		return nil
	}
	if json.Unmarshal(data, (*[]sound.Class)(c)) != nil {
		return errors.New(`classes: must be a list of names, or "audioset" for the 527 in AudioSet's order`)
	}
	return nil
}

// ParseDescription reads a description from JSON. Keys that it does not know are an error.
func ParseDescription(data []byte) (*Description, error) {
	if len(data) > maxDescription {
		return nil, fmt.Errorf("inference: the description of the model has %d bytes; at most %d are read",
			len(data), maxDescription)
	}
	var j descriptionJSON
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		return nil, fmt.Errorf("inference: the description of the model is no JSON of the documented form: %s",
			cut(explain(err).Error(), shownProblem))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("inference: the description of the model goes on after its end: leave one JSON object")
	}
	const longest = 3600 // seconds; the service has its own, lower bound
	if j.HopSeconds < 0 || j.HopSeconds > longest {
		return nil, fmt.Errorf("inference: hop_seconds of the model's description must be 0 to %d", longest)
	}
	return &Description{
		Family: j.Family, Features: j.Features, Input: j.Input, SampleRate: j.SampleRate, Samples: j.Samples,
		Hop:    time.Duration(j.HopSeconds*float64(time.Second) + 0.5),
		Output: j.Output, Gives: j.Gives, Classes: j.Classes,
	}, nil
}

// descriptionKeys are those of descriptionJSON.
const descriptionKeys = "family, features, input, sample_rate, samples, hop_seconds, output, gives, classes"

// explain says in the words of the file what encoding/json says in those of Go.
func explain(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early: is a brace or a bracket missing?")
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("it is of type %s: write an object in braces, with the keys %s", wrong.Value, descriptionKeys)
	case errors.As(err, &wrong):
		wanted := "a number"
		switch wrong.Type.Kind() {
		case reflect.String:
			wanted = "a text"
		case reflect.Int:
			wanted = "a whole number"
		}
		return fmt.Errorf("%s: %s is wanted, not a value of type %s", wrong.Field, wanted, wrong.Value)
	}
	if _, key, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return fmt.Errorf("there is no key %s; the keys are %s", shorten(key), descriptionKeys)
	}
	return err
}

// check returns what is wrong with a description, whatever the network.
func (d *Description) check() error {
	problem := func(format string, args ...any) error {
		return fmt.Errorf("inference: the description of the model: "+format, args...)
	}
	switch {
	case d.Family == "":
		return problem("family: name the model, without its version, so that a better one takes its place")
	case strings.Contains(d.Family, "/"), len(d.Family) > maxFamily, !sound.Class(d.Family).Valid():
		return problem("family: must be at most %d bytes of UTF-8 without a slash", maxFamily)
	case d.Features != "" && d.Features != featuresAST:
		return problem("features: must be %q, or left out for a waveform", featuresAST)
	case d.Features == featuresAST && (d.SampleRate != 0 || d.Samples != 0):
		return problem("sample_rate and samples: leave them out, the features say both")
	case d.Features == "" && d.SampleRate < 1:
		return problem("sample_rate: say how many samples a second the network was trained on")
	case d.Features == "" && (d.SampleRate < lowestRate || d.SampleRate > highestRate):
		return problem("sample_rate: %d is not in Hz: such as 16000, %d to %d", d.SampleRate, lowestRate, highestRate)
	case d.Samples < 0:
		return problem("samples: must be over 0, or left out if the shape of the input says it")
	case d.Gives != givesLogits && d.Gives != givesScores:
		return problem("gives: must be %q if scores are the sigmoid of the output, %q if they are the output",
			givesLogits, givesScores)
	case len(d.Classes) == 0 || len(d.Classes) > sound.MaxClasses:
		return problem("classes: name what the output has, in its order: 1 to %d", sound.MaxClasses)
	}
	seen := make(map[sound.Class]bool, len(d.Classes))
	for i, c := range d.Classes {
		if !c.Valid() {
			return problem("classes: number %d of the list is no name: 1 to 255 bytes of UTF-8", i+1)
		}
		if seen[c] {
			return problem("classes: %q is there twice", c)
		}
		seen[c] = true
	}
	return nil
}

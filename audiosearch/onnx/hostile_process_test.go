//go:build cgo

package onnx

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childModels is the environment variable with the folder of models that a process of its
// own opens, and childSkip how many of them it leaves out.
const (
	childModels = "MORTISE_TEST_MODELS"
	childSkip   = "MORTISE_TEST_SKIP"
)

// childMemory is how much address space such a process may get besides what it has.
const childMemory = 4 << 30

// opened is what came of a model.
type opened struct {
	Name   string
	Done   bool
	Error  string    // of Open or Score
	ID     string    // of the model
	Wanted int       // classes
	Scores []float32 // of a tone
}

// openAll is the process: it opens the models of a folder in the order of their names, and
// tells of each that it begins, and what came of it.
func openAll(dir string, skip int) error {
	if err := limitMemory(childMemory); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, entry := range entries[skip:] {
		o := opened{Name: entry.Name()}
		if err := out.Encode(o); err != nil {
			return err
		}
		if err := o.try(filepath.Join(dir, o.Name)); err != nil {
			o.Error = err.Error()
		}
		o.Done = true
		if err := out.Encode(o); err != nil {
			return err
		}
	}
	return nil
}

func (o *opened) try(path string) error {
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	m, err := s.Model(context.Background())
	if err != nil {
		return err
	}
	o.ID, o.Wanted = m.ID, len(m.Classes)
	scores, err := s.Score(context.Background(), [][]float32{tone(100)})
	if err != nil {
		return err
	}
	o.Scores = scores[0]
	return s.Close()
}

// ended is a model at which the process ended, and how.
type ended struct{ name, how string }

// openInProcess has models opened, by as many processes as it takes. One that is at a model
// for longer than the patience is ended.
func openInProcess(t *testing.T, models files, patience time.Duration) (all []opened, at []ended) {
	t.Helper()
	needLibrary(t)
	dir := t.TempDir()
	for name, model := range models {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), model, 0o600))
	}
	program, err := os.Executable()
	require.NoError(t, err)
	for done := 0; done < len(models); {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), childModels+"="+dir, fmt.Sprintf("%s=%d", childSkip, done))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		var last opened
		for lines := bufio.NewReader(stdout); ; late.Reset(patience) {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				break
			}
			last = opened{}
			require.NoError(t, json.Unmarshal(line, &last))
			if last.Done {
				all = append(all, last)
				done++
			}
		}
		err = cmd.Wait()
		late.Stop()
		if done == len(models) {
			require.NoError(t, err, "%s", stderr.String())
			require.Empty(t, stderr.String())
			break
		}
		said, _, _ := strings.Cut(stderr.String(), "\n")
		at = append(at, ended{last.Name, fmt.Sprintf("%v: %s", err, said)})
		done++
	}
	return all, at
}

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// secretFrom is where a secret is that does not stand in the document itself.
type secretFrom struct {
	Env  string    `json:"env,omitempty"`
	File mediaPath `json:"file,omitempty"`
}

// maxSecretFile bounds what is read of a secret's file, in bytes.
const maxSecretFile = 4096

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secret reads a credential from where an object says that it is. What is wrong with it is
// said of the variable or the file, and never has its value.
func (r *docReader) secret(at place, depth int, into reflect.Value) {
	var from secretFrom
	r.object(at, depth, reflect.ValueOf(&from).Elem())
	var text string
	var err error
	there := true
	switch {
	case r.bad[at.path]:
		return
	case (from.Env == "") == (from.File == ""):
		r.fail(at, "must have either env or file")
		return
	case from.File != "":
		r.sources[at.path] = "file " + string(from.File) + " "
		text, err = r.readSecret(string(from.File))
	case !variableName.MatchString(from.Env): // a secret, maybe
		r.fail(at, "env must be the name of an environment variable")
		return
	default:
		r.sources[at.path] = "environment variable " + from.Env + " "
		r.variables = append(r.variables, from.Env)
		text, there = r.env[from.Env]
	}
	if err != nil {
		r.fail(at, "cannot be read: %v", err)
	} else if !there {
		r.fail(at, "is not set")
	} else if problem := r.set(into, text, at); problem != "" {
		r.fail(at, "%s", problem)
	}
}

// readSecret reads a file in the document's folder, without the end of its last line.
func (d *document) readSecret(path string) (string, error) {
	f, err := os.OpenInRoot(filepath.Dir(d.file), filepath.FromSlash(path))
	if err != nil {
		return "", err
	}
	text, exposed, err := readBounded(f, maxSecretFile)
	if exposed != 0 {
		d.exposed[filepath.Join(filepath.Dir(d.file), path)] = exposed
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), err
}

// withoutSecrets returns an environment without the variables that the document has
// secrets from.
func (d *document) withoutSecrets(env []string) []string {
	if d == nil {
		return env
	}
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(d.variables, name)
	})
}

// variablesOf returns an environment by name.
func variablesOf(env []string) map[string]string {
	variables := make(map[string]string)
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			variables[name] = value
		}
	}
	return variables
}

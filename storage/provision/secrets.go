package provision

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// secretFrom is where a secret is that does not stand in the document itself.
type secretFrom struct {
	Env  string    `json:"env,omitempty"`
	File mediaPath `json:"file,omitempty"`
}

const (
	maxSecretFile  = 4096 // bounds what is read of a secret's file, in bytes
	shortestSecret = 32   // bytes; the services refuse what is shorter
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secret reads a credential from where an object says that it is. What is wrong with it
// is said of the variable or the file, and never has its value.
func (r *reader) secret(at place, v strictjson.Value, into reflect.Value) {
	var from secretFrom
	r.object(at, v, reflect.ValueOf(&from).Elem())
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
		r.sources[at.path] = named("file", string(from.File))
		text, err = r.readSecret(string(from.File))
	case !variableName.MatchString(from.Env): // a secret, maybe
		r.fail(at, "env must be the name of an environment variable")
		return
	default:
		r.sources[at.path] = named("environment variable", from.Env)
		r.variables = append(r.variables, from.Env)
		text, there = r.env[from.Env]
	}
	if err != nil {
		r.fail(at, "cannot be read: %v", err)
	} else if !there {
		r.fail(at, "is not set")
	} else if problem := r.set(into, text, nil, at); problem != "" {
		r.fail(at, "%s", problem)
	}
}

// readSecret reads a file in the document's folder, without the end of its last line.
func (d *Document) readSecret(path string) (string, error) {
	folder := filepath.Dir(d.file)
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := openRegular(root, filepath.FromSlash(path))
	if err != nil {
		return "", err
	}
	text, exposed, err := readBounded(f, maxSecretFile)
	if exposed != 0 {
		d.exposed[filepath.Join(folder, path)] = exposed
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), err
}

var errNotRegular = errors.New("it is not a regular file")

// openRegular opens a file to be read. Its errors do not repeat the name.
func openRegular(root *os.Root, name string) (*os.File, error) {
	// To open a named pipe would wait for a writer, and to open a device may do something.
	// The flag is for a pipe that comes into the place of a file after the look.
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	var f *os.File
	if err == nil {
		f, err = root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	if failed := new(fs.PathError); errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was read
		return nil, errNotRegular
	}
	return f, nil
}

// named is a kind of thing with its name, for the beginning of a message. A name as long
// as a secret may be one, in the wrong place.
func named(kind, name string) string {
	if len(name) >= shortestSecret {
		return kind + " "
	}
	return kind + " " + name + " "
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

// readFile is readBounded of a file by its name.
func readFile(path string, most int64) (data []byte, exposed fs.FileMode, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return readBounded(f, most)
}

// readBounded reads a whole file, of so many bytes at most, and closes it. It returns the
// file's mode if others than its owner can read it, else 0.
func readBounded(f *os.File, most int64) (data []byte, exposed fs.FileMode, err error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("the file is too large: it may have %d bytes", most)
	}
	return data, exposedMode(info), err
}

// exposedMode is the mode of a file that others than its owner can read or write, else 0.
// A pipe's says nothing.
func exposedMode(info fs.FileInfo) fs.FileMode {
	if mode := info.Mode(); mode.IsRegular() && runtime.GOOS != "windows" && mode.Perm()&0o077 != 0 {
		return mode.Perm()
	}
	return 0
}

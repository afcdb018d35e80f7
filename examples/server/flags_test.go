package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStorageFlags(t *testing.T) {
	const password = "a-password"
	const database = "postgres://user:" + password + "@host/name"
	for name, test := range map[string]struct {
		args   []string
		env    []string
		data   string // "" if in memory
		refuse string // "" if right
	}{
		"default":                       {data: "./mortise-data"},
		"data":                          {args: []string{"-data", "x"}, data: "x"},
		"data in the environment":       {env: []string{"MORTISE_DATA=x"}, data: "x"},
		"empty in the environment":      {env: []string{"MORTISE_DATA="}, data: "./mortise-data"},
		"both":                          {args: []string{"-data=x"}, env: []string{"MORTISE_DATA=y"}, data: "x"},
		"empty data":                    {args: []string{"-data="}, refuse: "-data: names no folder"},
		"memory":                        {args: []string{"-memory"}},
		"memory, and empty variables":   {args: []string{"-memory"}, env: []string{"MORTISE_DATA=", "MORTISE_QUEUE="}},
		"memory, restored":              {args: []string{"-memory", "-restored"}, refuse: "-restored: is for a start of the server"},
		"no memory":                     {args: []string{"-memory=false"}, data: "./mortise-data"},
		"no memory, data":               {args: []string{"-memory=false", "-data", "x"}, data: "x"},
		"memory, data":                  {args: []string{"-memory", "-data", "x"}, refuse: "-memory: cannot go together with -data,"},
		"data, memory":                  {args: []string{"-data", "x", "-memory"}, refuse: "-memory: cannot go together with -data,"},
		"memory, empty data":            {args: []string{"-memory", "-data", ""}, refuse: "-memory: cannot go together with -data,"},
		"memory, data as it is anyway":  {args: []string{"-memory", "-data", "./mortise-data"}, refuse: "-memory: cannot go together with -data,"},
		"memory, data in environment":   {args: []string{"-memory"}, env: []string{"MORTISE_DATA=x"}, refuse: "-memory: cannot go together with MORTISE_DATA,"},
		"memory, PostgreSQL there":      {args: []string{"-memory"}, env: []string{"MORTISE_POSTGRES=x"}, refuse: "-memory: cannot go together with MORTISE_POSTGRES,"},
		"memory, queue there":           {args: []string{"-memory"}, env: []string{"MORTISE_QUEUE=x"}, refuse: "-memory: cannot go together with MORTISE_QUEUE,"},
		"memory, PostgreSQL":            {args: []string{"-memory", "-postgres", database}, refuse: "-memory: cannot go together with -postgres,"},
		"memory, queue":                 {args: []string{"-queue", "nats://x", "-memory"}, refuse: "-memory: cannot go together with -queue,"},
		"PostgreSQL":                    {args: []string{"-postgres", database, "-vault-key", "k"}, data: "./mortise-data"},
		"PostgreSQL in the environment": {env: []string{"MORTISE_POSTGRES=" + database, "MORTISE_VAULT_KEY_FILE=k", "MORTISE_QUEUE=postgres"}, data: "./mortise-data"},
		"PostgreSQL and NATS":           {args: []string{"-postgres", database, "-vault-key", "k", "-queue", "nats://a:4222,tls://b"}, data: "./mortise-data"},
		"PostgreSQL, no key":            {args: []string{"-postgres", database}, refuse: "-vault-key: needed with -postgres"},
		"copy, no key": {args: []string{"-postgres", database, "-copy-from", "old"},
			refuse: "-vault-key: needed with -copy-from: the key that the folder's server had, which is " + filepath.Join("old", "vault.key")},
		"PostgreSQL, other queue":    {args: []string{"-postgres", database, "-vault-key", "k", "-queue", "redis://" + password + "@x"}, refuse: "-queue: must be postgres, or"},
		"PostgreSQL, no queue":       {args: []string{"-postgres", database, "-vault-key", "k", "-queue", "nats://a,"}, refuse: "-queue: must be postgres, or"},
		"not PostgreSQL":             {args: []string{"-postgres", "mysql://" + password + "@x", "-vault-key", "k"}, refuse: "-postgres: must be the URL of a database"},
		"no database":                {args: []string{"-postgres="}, env: []string{"MORTISE_POSTGRES=" + database}, refuse: "-postgres: names no database"},
		"queue alone":                {args: []string{"-queue", "nats://a"}, refuse: "-queue: needs -postgres"},
		"queue alone in environment": {env: []string{"MORTISE_QUEUE=postgres"}, refuse: "-queue: needs -postgres"},
		"migrate":                    {args: []string{"-migrate", "-postgres", database}, data: "./mortise-data"},
		"migrate alone":              {args: []string{"-migrate"}, refuse: "-migrate: needs -postgres"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readSettings(test.args, test.env, io.Discard)
			if test.refuse != "" {
				var usage *usageError
				if !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), test.refuse) {
					t.Errorf("got %v, want %s", err, test.refuse)
				}
				if strings.Contains(err.Error(), password) {
					t.Errorf("%v tells a password", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.memory != (test.data == "") || !s.memory && s.data != test.data {
				t.Errorf("memory %v, data %q", s.memory, s.data)
			}
		})
	}
}

func TestVaultKeyFlag(t *testing.T) {
	for name, test := range map[string]struct {
		args, env []string
		want      string
		refuse    string
	}{
		"default":                  {},
		"flag":                     {args: []string{"-vault-key", "k"}, want: "k"},
		"environment":              {env: []string{"MORTISE_VAULT_KEY_FILE=k"}, want: "k"},
		"both":                     {args: []string{"-vault-key=k"}, env: []string{"MORTISE_VAULT_KEY_FILE=other"}, want: "k"},
		"empty in the environment": {env: []string{"MORTISE_VAULT_KEY_FILE="}},
		"with memory":              {args: []string{"-memory", "-vault-key", "k"}, want: "k"},
		"empty":                    {args: []string{"-vault-key", ""}, refuse: "-vault-key: names no file"},
		"empty, environment":       {args: []string{"-vault-key="}, env: []string{"MORTISE_VAULT_KEY_FILE=k"}, refuse: "-vault-key: names no file"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readSettings(test.args, test.env, io.Discard)
			if test.refuse != "" {
				var usage *usageError
				if !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), test.refuse) {
					t.Errorf("got %v, want %s", err, test.refuse)
				}
				return
			}
			if err != nil || s.vaultKey != test.want {
				t.Errorf("got %+v, %v", s, err)
			}
		})
	}
}

func TestONNXThreadsFlag(t *testing.T) {
	for text, want := range map[string]int{"": 0, "0": 0, "4": 4, "1024": 1024, "-1": -1, "1025": -1, "x": -1} {
		s, err := readSettings(nil, []string{"MORTISE_ONNX_THREADS=" + text}, io.Discard)
		if want < 0 {
			if err == nil || !strings.HasPrefix(err.Error(), "-onnx-threads: must be a number from 0") {
				t.Errorf("%q: got %v", text, err)
			}
		} else if err != nil || s.onnxThreads != want {
			t.Errorf("%q: got %+v, %v", text, s, err)
		}
	}
}

func TestPerOrganizationFlag(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "4": 4, "-1": -1, "x": -1} {
		s, err := readSettings([]string{"-per-organization", text}, nil, io.Discard)
		if want < 0 {
			if err == nil || !strings.Contains(err.Error(), "-per-organization") {
				t.Errorf("%q: got %v", text, err)
			}
		} else if err != nil || s.perOrganization != want {
			t.Errorf("%q: got %+v, %v", text, s, err)
		}
	}
}

func TestLeaseFlag(t *testing.T) {
	for name, test := range map[string]struct {
		args, env []string
		want      time.Duration // 0: refused
	}{
		"default":           {want: 15 * time.Second},
		"shortest":          {args: []string{"-lease", "1s"}, want: time.Second},
		"longest":           {args: []string{"-lease", "10m"}, want: 10 * time.Minute},
		"environment":       {env: []string{"MORTISE_LEASE=2s"}, want: 2 * time.Second},
		"flag, environment": {args: []string{"-lease=3s"}, env: []string{"MORTISE_LEASE=x"}, want: 3 * time.Second},
		"too short":         {args: []string{"-lease", "999ms"}},
		"too long":          {args: []string{"-lease", "601s"}},
		"no unit":           {args: []string{"-lease", "15"}},
		"empty":             {args: []string{"-lease="}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readSettings(test.args, test.env, io.Discard)
			if test.want == 0 {
				if err == nil || !strings.HasPrefix(err.Error(), "-lease: must be a duration from 1s to 10m") {
					t.Errorf("got %v", err)
				}
			} else if err != nil || s.lease != test.want {
				t.Errorf("got %+v, %v", s, err)
			}
		})
	}
}

func TestModelFlags(t *testing.T) {
	for name, test := range map[string]struct {
		args, env      []string
		model, library string
		refuse         string // "" if right
	}{
		"none":               {},
		"a file":             {args: []string{"-model", "m.onnx"}, model: "m.onnx"},
		"a URL":              {args: []string{"-model", "https://example.com/m.onnx?key=1#sha256=00"}, model: "https://example.com/m.onnx?key=1#sha256=00"},
		"in the environment": {env: []string{"MORTISE_MODEL=m.onnx", "MORTISE_ONNXRUNTIME=l.so"}, model: "m.onnx", library: "l.so"},
		"both":               {args: []string{"-model=a.onnx", "-onnxruntime=a.so"}, env: []string{"MORTISE_MODEL=m.onnx", "MORTISE_ONNXRUNTIME=l.so"}, model: "a.onnx", library: "a.so"},
		"no model":           {args: []string{"-onnxruntime", "l.so"}, library: "l.so"},
		"and a server":       {args: []string{"-model", "m.onnx", "-oip", "http://h/v2/models/m"}, refuse: "-model and -oip: two models; choose one of them"},
		"a server besides":   {args: []string{"-oip", "http://h/v2/models/m"}, env: []string{"MORTISE_MODEL=m.onnx"}, refuse: "-model and -oip: two models; choose one of them"},
		"plain http":         {args: []string{"-model", "http://key@example.com/m.onnx"}, refuse: "-model: must be a file or an https URL"},
		"another scheme":     {env: []string{"MORTISE_MODEL=s3://bucket/m.onnx"}, refuse: "-model: must be a file or an https URL"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readSettings(test.args, test.env, io.Discard)
			if test.refuse != "" {
				var usage *usageError
				if !errors.As(err, &usage) || err.Error() != test.refuse {
					t.Errorf("got %v, want %s", err, test.refuse)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.model != test.model || s.onnxruntime != test.library {
				t.Errorf("model %q, library %q", s.model, s.onnxruntime)
			}
		})
	}
}

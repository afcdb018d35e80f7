package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestStorageFlags(t *testing.T) {
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
		"memory, and empty variables":   {args: []string{"-memory"}, env: []string{"MORTISE_DATA=", "MORTISE_NATS="}},
		"no memory":                     {args: []string{"-memory=false"}, data: "./mortise-data"},
		"no memory, data":               {args: []string{"-memory=false", "-data", "x"}, data: "x"},
		"memory, data":                  {args: []string{"-memory", "-data", "x"}, refuse: "-memory: cannot go together with -data,"},
		"data, memory":                  {args: []string{"-data", "x", "-memory"}, refuse: "-memory: cannot go together with -data,"},
		"memory, empty data":            {args: []string{"-memory", "-data", ""}, refuse: "-memory: cannot go together with -data,"},
		"memory, data as it is anyway":  {args: []string{"-memory", "-data", "./mortise-data"}, refuse: "-memory: cannot go together with -data,"},
		"memory, data in environment":   {args: []string{"-memory"}, env: []string{"MORTISE_DATA=x"}, refuse: "-memory: cannot go together with MORTISE_DATA,"},
		"memory, PostgreSQL there":      {args: []string{"-memory"}, env: []string{"MORTISE_POSTGRES=x"}, refuse: "-memory: cannot go together with MORTISE_POSTGRES,"},
		"memory, NATS there":            {args: []string{"-memory"}, env: []string{"MORTISE_NATS=x"}, refuse: "-memory: cannot go together with MORTISE_NATS,"},
		"memory, PostgreSQL":            {args: []string{"-memory", "-postgres", "x"}, refuse: "-postgres: not available yet"},
		"memory, NATS":                  {args: []string{"-nats", "x", "-memory"}, refuse: "-nats: not available yet"},
		"NATS in the environment alone": {env: []string{"MORTISE_NATS=x"}, data: "./mortise-data"},
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

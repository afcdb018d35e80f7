package e2e

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// numbers calls f with each setting of a struct that is a number, and of the structs in
// it.
func numbers(v reflect.Value, path string, f func(name string, v reflect.Value)) {
	for i := range v.NumField() {
		name := path + v.Type().Field(i).Name
		switch field := v.Field(i); field.Kind() {
		case reflect.Int, reflect.Int64:
			f(name, field)
		case reflect.Struct:
			if v.Type().Field(i).IsExported() && field.Type().PkgPath() != "" && field.Type().Name() != "InvitationKey" {
				numbers(field, name+".", f)
			}
		}
	}
}

// Every number of every Options is either refused below 0, by its name, or is none there,
// and says so.
func TestSettingsBelowZero(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	root, err := localkeys.NewRoot([]byte("a key for tests, nothing besides"))
	require.NoError(t, err)
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(t, err)
	triggers, err := trigger.New(db.Trigger(), nil)
	require.NoError(t, err)
	sounds, err := audiosearch.New(db.AudioSearch(), nil)
	require.NoError(t, err)
	processor := func(context.Context, trigger.Event) (trigger.Outcome, error) { return trigger.Outcome{}, nil }

	for _, c := range []struct {
		of   string
		zero any // a pointer to the struct
		make func(o any) error
		none []string
	}{
		{"trigger: Options", new(trigger.Options), func(o any) error {
			_, err := trigger.New(db.Trigger(), o.(*trigger.Options))
			return err
		}, nil},
		{"trigger: WorkerOptions", new(trigger.WorkerOptions), func(o any) error {
			_, err := trigger.NewWorker(triggers, processor, o.(*trigger.WorkerOptions))
			return err
		}, []string{"Drain", "Grace"}},
		{"trigger: SweeperOptions", new(trigger.SweeperOptions), func(o any) error {
			_, err := trigger.NewSweeper(triggers, o.(*trigger.SweeperOptions))
			return err
		}, nil},
		{"vault: Options", new(vault.Options), func(o any) error {
			_, err := vault.New(db.Vault(), keyring, o.(*vault.Options))
			return err
		}, nil},
		{"authmgmt: Options", new(authmgmt.Options), func(o any) error {
			_, err := authmgmt.New(db.AuthMgmt(), o.(*authmgmt.Options))
			return err
		}, []string{"SecretOverlap"}},
		{"audiosearch: Options", new(audiosearch.Options), func(o any) error {
			_, err := audiosearch.New(db.AudioSearch(), o.(*audiosearch.Options))
			return err
		}, []string{"Grace"}},
		{"audiosearch: WorkerOptions", new(audiosearch.WorkerOptions), func(o any) error {
			_, err := audiosearch.NewWorker(sounds, o.(*audiosearch.WorkerOptions))
			return err
		}, []string{"Drain"}},
		{"audiosearch: SweeperOptions", new(audiosearch.SweeperOptions), func(o any) error {
			_, err := audiosearch.NewSweeper(sounds, o.(*audiosearch.SweeperOptions))
			return err
		}, nil},
	} {
		require.NoError(t, c.make(c.zero), c.of)
		found := 0
		numbers(reflect.ValueOf(c.zero).Elem(), "", func(name string, v reflect.Value) {
			found++
			v.SetInt(int64(-time.Second))
			err := c.make(c.zero)
			v.SetInt(0)
			if slices.Contains(c.none, name) {
				require.NoError(t, err, "%s.%s", c.of, name)
				return
			}
			require.Error(t, err, "%s.%s", c.of, name)
			require.Contains(t, err.Error(), name[strings.LastIndex(name, ".")+1:], c.of)
		})
		require.NotZero(t, found, c.of)
	}
}

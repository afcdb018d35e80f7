package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// rotationFile is the environment variable that makes TestRotationProcess do something.
const rotationFile = "MORTISE_TEST_ROTATION_FILE"

// rotationOrder is what a process is told to do, on a line of its standard input.
type rotationOrder struct {
	Do      string // "keys", "work", "calls", "end", "backfill", "rewrap", "retire"
	Keys    []int  // of "keys": the versions, the primary one first
	Version int    // of "backfill" and "retire"
	Purpose keyring.Purpose
	Base    int           // of "work": the number of the first value
	Lagging bool          // of "work": the process may lack a key that others require, and then stores nothing
	Pause   time.Duration // after each report of progress
}

// rotationReport is what the process has done of an order, on a line of its file 3.
type rotationReport struct {
	Over     bool // the order was carried out, or failed
	Error    string
	Progress vault.Progress
	Calls    int               // that were answered
	Tokens   map[string]string // of "end": all that it was told, by value
}

// rotationKey is a version of the keys.
func rotationKey(version int) (localkeys.Key, error) {
	var bytes [localkeys.RootSize]byte
	bytes[0], bytes[31] = byte(version), 1
	key, err := localkeys.NewRoot(bytes[:])
	return localkeys.Key{Version: version, Root: key}, err
}

// rotationService is a vault with these versions of the keys, the primary one first.
func rotationService(store vault.Store, versions []int) (*vault.Service, error) {
	var keys []localkeys.Key
	for _, version := range versions {
		key, err := rotationKey(version)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	keyring, err := localkeys.New(keys[0], keys[1:]...)
	if err != nil {
		return nil, err
	}
	return vault.New(vault.Backend{Store: store}, keyring, nil)
}

// rotationItems are values of the vault that newRotationFile makes.
func rotationItems(values []string) []vault.Item {
	items := make([]vault.Item, len(values))
	for i, value := range values {
		items[i] = vault.Item{Place: vault.InColumn("persons", "name"), Value: vault.NewValue(value)}
	}
	return items
}

// TestRotationProcess is no test of its own. It is the process that other tests start,
// several of them on one file.
func TestRotationProcess(t *testing.T) {
	file := os.Getenv(rotationFile)
	if file == "" {
		t.Skip("other tests run it, in processes of their own")
	}
	db, err := sqlite.Open(t.Context(), file, &sqlite.Options{BusyTimeout: patience})
	require.NoError(t, err)
	defer db.Close()
	p := &rotationWorker{store: db.Vault().Store, tokens: make(map[string]string)}
	orders, reports := json.NewDecoder(os.Stdin), json.NewEncoder(os.NewFile(3, "reports"))
	for {
		var order rotationOrder
		if orders.Decode(&order) != nil {
			return // the test has ended
		}
		report := p.obey(t.Context(), order, func(progress vault.Progress) {
			require.NoError(t, reports.Encode(rotationReport{Progress: progress}))
			time.Sleep(order.Pause)
		})
		report.Over = true
		require.NoError(t, reports.Encode(report))
	}
}

// rotationWorker inserts values and asks for their tokens, or rotates keys.
type rotationWorker struct {
	store   vault.Store
	running sync.WaitGroup
	end     context.CancelFunc // of the work
	lagging bool

	keys    sync.RWMutex // held by calls; whoever holds it alone may change the service
	service *vault.Service

	mu     sync.Mutex
	tokens map[string]string
	calls  int
	failed error // the first failure
}

func (p *rotationWorker) obey(ctx context.Context, order rotationOrder, progress func(vault.Progress)) (report rotationReport) {
	var err error
	switch order.Do {
	case "keys":
		var service *vault.Service
		if service, err = rotationService(p.store, order.Keys); err == nil {
			p.keys.Lock()
			p.service = service
			p.keys.Unlock()
		}
	case "work":
		p.stop()
		p.lagging = order.Lagging
		ctx, p.end = context.WithCancel(ctx)
		p.running.Go(func() { p.insert(ctx, order.Base) })
		p.running.Go(func() { p.lookUp(ctx) })
	case "end":
		p.stop()
		report.Tokens = maps.Clone(p.tokens)
	case "backfill":
		err = p.service.Backfill(ctx, order.Version, progress)
	case "rewrap":
		err = p.service.Rewrap(ctx, progress)
	case "retire":
		err = p.service.Retire(ctx, order.Purpose, order.Version, progress)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	report.Calls = p.calls
	if err = errors.Join(err, p.failed); err != nil {
		report.Error = err.Error()
	}
	return report
}

// stop ends the work, after the calls that it is at.
func (p *rotationWorker) stop() {
	if p.end != nil {
		p.end()
	}
	p.running.Wait()
}

// insert inserts one batch after the other. The batches overlap.
func (p *rotationWorker) insert(ctx context.Context, base int) {
	for ctx.Err() == nil {
		var values []string
		for i := range 10 {
			values = append(values, fmt.Sprintf("value %d", base+i))
		}
		tokens, err := p.call(func(s *vault.Service) ([]string, error) {
			return s.Insert(context.WithoutCancel(ctx), "acme", "ops", "v1", rotationItems(values))
		})
		if p.lagging && errors.Is(err, keyring.ErrUnknownKey) {
			err = nil // and stays where it is, until it has the key
		} else {
			base += 7
		}
		p.note(values, tokens, err)
	}
}

// lookUp asks for the tokens of values that have one.
func (p *rotationWorker) lookUp(ctx context.Context) {
	for ctx.Err() == nil {
		var values []string
		p.mu.Lock()
		for value := range p.tokens { // in no order
			if values = append(values, value); len(values) > rand.IntN(50) {
				break
			}
		}
		p.mu.Unlock()
		if len(values) == 0 {
			time.Sleep(time.Millisecond)
			continue
		}
		tokens, err := p.call(func(s *vault.Service) ([]string, error) {
			return s.Tokenize(context.WithoutCancel(ctx), "acme", "v1", rotationItems(values))
		})
		p.note(values, tokens, err)
	}
}

func (p *rotationWorker) call(do func(*vault.Service) ([]string, error)) ([]string, error) {
	p.keys.RLock()
	defer p.keys.RUnlock()
	return do(p.service)
}

// note compares tokens with what the process was told before.
func (p *rotationWorker) note(values, tokens []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && p.failed == nil {
		p.failed = err
	}
	p.calls++
	for i, token := range tokens {
		if was, ok := p.tokens[values[i]]; ok && was != token && p.failed == nil {
			p.failed = fmt.Errorf("%s had the token %s, and has %s now", values[i], was, token)
		}
		p.tokens[values[i]] = token
	}
}

// rotationProcess is such a process, as the test sees it.
type rotationProcess struct {
	t       testing.TB
	cmd     *exec.Cmd
	orders  *json.Encoder
	reports *json.Decoder
}

// startRotation starts a process on a file.
func startRotation(t *testing.T, file string) *rotationProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRotationProcess$", "-test.count=1")
	cmd.Env = environment(rotationFile + "=" + file)
	var output processOutput
	cmd.Stdout, cmd.Stderr = &output, &output
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	reports, theirs, err := os.Pipe()
	require.NoError(t, err)
	cmd.ExtraFiles = []*os.File{theirs}
	require.NoError(t, cmd.Start())
	require.NoError(t, theirs.Close())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // a process that was killed has been waited for
		_ = reports.Close()
		if t.Failed() {
			t.Logf("a process said: %s", &output)
		}
	})
	return &rotationProcess{t, cmd, json.NewEncoder(stdin), json.NewDecoder(reports)}
}

// tell gives an order, and returns the report of its end.
func (p *rotationProcess) tell(order rotationOrder) rotationReport {
	p.t.Helper()
	require.NoError(p.t, p.orders.Encode(order))
	for {
		if report := p.next(); report.Over {
			return report
		}
	}
}

// next returns the next report on an order.
func (p *rotationProcess) next() (report rotationReport) {
	p.t.Helper()
	require.NoError(p.t, p.reports.Decode(&report), "the process has ended")
	require.Empty(p.t, report.Error)
	return report
}

// load gives the process these versions of the keys, the primary one first.
func (p *rotationProcess) load(versions ...int) {
	p.t.Helper()
	p.tell(rotationOrder{Do: "keys", Keys: versions})
}

// kill ends the process as a crash would.
func (p *rotationProcess) kill() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Kill())
	_ = p.cmd.Wait() // says that it was killed
}

// newRotationFile makes a database with a vault, under the first version of the keys.
func newRotationFile(t *testing.T, file string, values []string) (tokens []string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), file, nil)
	require.NoError(t, err)
	defer db.Close()
	service, err := rotationService(db.Vault().Store, []int{1})
	require.NoError(t, err)
	_, err = service.CreateVault(t.Context(), "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "name", Tokenization: vault.Deterministic},
	}}}})
	require.NoError(t, err)
	for batch := range batchesOf(values) {
		given, err := service.Insert(t.Context(), "acme", "ops", "v1", rotationItems(batch))
		require.NoError(t, err)
		tokens = append(tokens, given...)
	}
	return tokens
}

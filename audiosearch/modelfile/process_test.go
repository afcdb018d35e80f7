package modelfile

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clientOf trusts one certificate.
func clientOf(file string) *http.Client {
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(data)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

// certificate writes the site's certificate into a file.
func (s *site) certificate(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "cert.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	require.NoError(t, os.WriteFile(path, block, 0o644))
	return path
}

// child is a process that will fetch. What is not in env it does not have.
func child(t testing.TB, dir, url string, env ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append([]string{envURL + "=" + url, envDir + "=" + dir}, env...)
	cmd.Stderr = os.Stderr
	return cmd
}

func result(t testing.TB, out []byte) (o outcome) {
	t.Helper()
	require.NoError(t, json.Unmarshal(out, &o), "%s", out)
	return o
}

// A process that is killed while it downloads leaves what the next one goes on from.
func TestKilled(t *testing.T) {
	s := newSite(t, randomModel(1, 40<<20))
	const before = 36 << 20
	reached := make(chan struct{})
	s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n > 0 {
			return false
		}
		s.whole(&gate{written{w, s}, before, func() { close(reached); <-r.Context().Done() }}, r)
		return true
	}
	dir := t.TempDir()
	cmd := child(t, dir, s.URL+"/model.onnx", envCert+"="+s.certificate(t), envStall+"=1h")
	require.NoError(t, cmd.Start())
	<-reached
	// The process may still have to write the last bytes that were sent. It notes its offset
	// once a second, and at the latest when it has written saveBytes since the last note.
	require.Eventually(t, func() bool {
		found := names(t, dir, ".resume")
		if len(found) != 1 {
			return false
		}
		r, ok := readResume(t.Context(), filepath.Join(dir, strings.TrimSuffix(found[0], ".resume")))
		return ok && r.Offset > before-saveBytes
	}, time.Minute, time.Millisecond, "the process notes nothing")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Empty(t, names(t, dir, ".onnx", ".fetch"), "a part is taken for a file")

	out, err := child(t, dir, s.URL+"/model.onnx", envCert+"="+s.certificate(t)).Output()
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(s.data)), result(t, out).Digest)
	require.Len(t, s.asked(), 2)
	var from int
	_, err = fmt.Sscanf(s.asked()[1], "bytes=%d-", &from)
	require.NoError(t, err)
	require.Greater(t, from, before-saveBytes)
}

// gate calls a function when so many bytes were sent.
type gate struct {
	written
	left int
	then func()
}

func (g *gate) Write(b []byte) (int, error) {
	n, err := g.written.Write(b[:min(len(b), g.left)])
	if g.left -= n; g.left == 0 {
		_ = http.NewResponseController(g.ResponseWriter).Flush()
		g.then()
		return n, io.ErrClosedPipe
	}
	return n, err
}

// Processes and goroutines that begin at one time download once.
func TestManyAtOnce(t *testing.T) {
	s := newSite(t, randomModel(2, 3<<20))
	dir, url, cert := t.TempDir(), s.URL+"/model.onnx", s.certificate(t)
	begin := make(chan struct{})
	s.serve = func(int, http.ResponseWriter, *http.Request) bool { <-begin; return false }
	var wg sync.WaitGroup
	var started sync.WaitGroup
	for range 3 {
		cmd := child(t, dir, url, envCert+"="+cert)
		started.Add(1)
		wg.Go(func() {
			var out bytes.Buffer
			cmd.Stdout = &out
			err := cmd.Start()
			started.Done()
			if err == nil {
				err = cmd.Wait()
			}
			if err != nil || !strings.Contains(out.String(), fmt.Sprintf("%x", sha256.Sum256(s.data))) {
				t.Errorf("%v: %s", err, &out)
			}
		})
	}
	for range 4 {
		wg.Go(func() {
			file, err := Fetch(t.Context(), dir, url, s.options())
			if err != nil || file.Digest != sha256.Sum256(s.data) {
				t.Errorf("%v", err)
			}
		})
	}
	started.Wait()
	close(begin)
	wg.Wait()
	require.Equal(t, 1, s.requests())
	require.Equal(t, len(s.data), s.total())
	require.Empty(t, names(t, dir, ".part", ".resume", ".new"))
}

// connectProxy is a proxy that leads every host to one address.
type connectProxy struct {
	to     string
	status atomic.Int32 // 0: connect
	mu     sync.Mutex
	asked  []string
	auth   []string
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host)
	p.auth = append(p.auth, r.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if status := p.status.Load(); status != 0 {
		http.Error(w, "no", int(status))
		return
	}
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = server.Close() }()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	_, _ = client.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	go func() { _, _ = io.Copy(server, buffered) }()
	_, _ = io.Copy(client, server)
}

// log is what the proxy was asked, and with which credentials.
func (p *connectProxy) log() (asked, auth []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked), slices.Clone(p.auth)
}

// Without a client of the caller the proxy and the certificates are those of the
// environment.
func TestProxyAndCertificates(t *testing.T) {
	s := newSite(t, randomModel(3, 1<<20))
	proxy := &connectProxy{to: s.Listener.Addr().String()}
	front := &http.Server{Handler: proxy}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = front.Serve(listener) }()
	t.Cleanup(func() { _ = front.Close() })
	env := []string{
		"HTTPS_PROXY=http://user:hunter2@" + listener.Addr().String(),
		"SSL_CERT_FILE=" + s.certificate(t), "SSL_CERT_DIR=" + t.TempDir(),
	}
	dir := t.TempDir()
	out, err := child(t, dir, "https://example.com/model.onnx", env...).Output()
	require.NoError(t, err)
	got := result(t, out)
	require.Empty(t, got.Error)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(s.data)), got.Digest)
	asked, auth := proxy.log()
	require.Equal(t, []string{"CONNECT example.com:443"}, asked)
	require.Equal(t, []string{"Basic dXNlcjpodW50ZXIy"}, auth)

	t.Run("a proxy that refuses", func(t *testing.T) {
		proxy.status.Store(http.StatusProxyAuthRequired)
		out, err := child(t, t.TempDir(), "https://example.com/model.onnx?"+secretQuery, env...).Output()
		require.NoError(t, err)
		got := result(t, out)
		require.Contains(t, got.Error, "the proxy answers 407: check HTTPS_PROXY")
		asked, _ := proxy.log()
		require.Len(t, asked, 2, "it is asked again")
		require.NotContains(t, got.Error, "hunter2")
		require.NotContains(t, got.Error, "s3cr3t")
	})
	t.Run("a proxy whose address is nonsense", func(t *testing.T) {
		out, err := child(t, t.TempDir(), "https://example.com/model.onnx?"+secretQuery, "HTTPS_PROXY=http://user:hunter2@a b").Output()
		require.NoError(t, err)
		got := result(t, out)
		require.NotEmpty(t, got.Error)
		require.NotContains(t, got.Error, "hunter2")
		require.NotContains(t, got.Error, "s3cr3t")
	})
	t.Run("a certificate that nobody knows", func(t *testing.T) {
		proxy.status.Store(0)
		out, err := child(t, t.TempDir(), "https://example.com/model.onnx", env[0], "SSL_CERT_FILE=/dev/null", env[2]).Output()
		require.NoError(t, err)
		require.Contains(t, result(t, out).Error, "certificate is not trusted")
		require.Contains(t, result(t, out).Error, "SSL_CERT_FILE")
	})
}

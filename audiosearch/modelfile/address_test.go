package modelfile

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var goodDigest = strings.Repeat("0aF9", 16)

func TestRefusedAddresses(t *testing.T) {
	s := newSite(t, randomModel(70, 1000))
	host := strings.TrimPrefix(s.URL, "https://")
	for raw, want := range map[string]error{
		"http://" + host + "/m.onnx?" + secretQuery:            errNotHTTPS,
		"HTTP://" + host + "/m.onnx":                           errNotHTTPS,
		"https://u:hunter2@" + host + "/m.onnx?" + secretQuery: errUserinfo,
		"https://hunter2@" + host + "/m.onnx":                  errUserinfo,
		"ftp://" + host + "/m.onnx?" + secretQuery:             errMalformed,
		"model.onnx":                                              errMalformed,
		"":                                                        errMalformed,
		"https:model.onnx":                                        errMalformed,
		"https:///model.onnx":                                     errMalformed,
		"https://:443/model.onnx":                                 errMalformed,
		"https://%zz/?" + secretQuery:                             errMalformed,
		s.URL + "/m.onnx\n?" + secretQuery:                        errMalformed,
		s.URL + "/m.onnx?" + secretQuery + "#":                    errFragment,
		s.URL + "/m.onnx#main":                                    errFragment,
		s.URL + "/m.onnx#sha256=":                                 errFragment,
		s.URL + "/m.onnx#sha256=" + goodDigest[1:]:                errFragment,
		s.URL + "/m.onnx#sha256=" + goodDigest + "0":              errFragment,
		s.URL + "/m.onnx#sha256=" + goodDigest[1:] + "g":          errFragment,
		s.URL + "/m.onnx#sha512=" + goodDigest:                    errFragment,
		s.URL + "/m.onnx#SHA256=" + goodDigest:                    errFragment,
		s.URL + "/m.onnx#sha256=" + goodDigest + "#" + goodDigest: errFragment,
		s.URL + "/" + strings.Repeat("x", maxURLBytes):            errLong,
	} {
		dir := filepath.Join(t.TempDir(), "models")
		refused(t, dir, raw, s.options(), want.Error())
		require.NoDirExists(t, dir)
	}
	require.Zero(t, s.requests())
}

// No two URLs share a file.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, raw := range []string{
		"https://a/m.onnx", "https://b/m.onnx", "https://a:444/m.onnx", "https://a/x/m.onnx", "https://a/m.onnx?x", "https://a/m.onnx?y",
		"https://a/M.onnx", "https://a/m%2Eonnx", "https://a/m.onnx/", "https://a/", "https://a", "https://a/..", "https://a/%2e%2e%2fm.onnx",
	} {
		to, err := parseAddress(raw)
		require.NoError(t, err)
		require.Empty(t, seen[to.name], raw)
		seen[to.name] = raw
	}
	small, err := parseAddress("https://a/m.onnx")
	require.NoError(t, err)
	large, err := parseAddress("HTTPS://A/m.onnx")
	require.NoError(t, err)
	require.Equal(t, small.name, large.name)
	for raw, base := range map[string]string{
		"https://a/m.onnx": "m.onnx", "https://a/": "model", "https://a": "model", "https://a/x/..": "model", "https://a/..%2f..%2fpasswd": "passwd",
		"https://a/a%5C..%5Cb": "a_.._b", "https://a/%00%C3%A4.onnx": "__.onnx", "https://a/x.": "x",
		"https://a/" + strings.Repeat("y", 200) + ".onnx": strings.Repeat("y", 75) + ".onnx",
	} {
		to, err := parseAddress(raw)
		require.NoError(t, err)
		require.Equal(t, base, to.name[33:], raw)
	}
}

var safeName = regexp.MustCompile(`^[0-9a-f]{32}-[A-Za-z0-9._-]{1,80}$`)

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"https://a/m.onnx#sha256=" + goodDigest, "https://a/m.onnx?q=1", "https://a/..%2f..#x", "https://[::1]:1/\\..", "https://u@h/", "http://a", "//a/b", "https://a/%",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		to, err := parseAddress(raw)
		if err != nil {
			for _, fixed := range []error{errMalformed, errLong, errNotHTTPS, errUserinfo, errFragment} {
				if err == fixed {
					return
				}
			}
			t.Fatalf("%v could repeat the URL", err)
		}
		if !safeName.MatchString(to.name) || !filepath.IsLocal(to.name) || strings.HasSuffix(to.name, ".") {
			t.Fatalf("the name %q", to.name)
		}
		if to.url.Scheme != "https" || to.url.User != nil || to.url.Fragment != "" || to.url.Hostname() == "" {
			t.Fatalf("the URL %q", to.url)
		}
		_, fragment, has := strings.Cut(raw, "#")
		if has != (to.want != nil) || has && len(fragment) != 71 {
			t.Fatalf("the fragment %q gives %v", fragment, to.want)
		}
		if said := shown(to.url); strings.ContainsAny(said, "?#@") && !strings.ContainsAny(to.url.EscapedPath(), "@") || len(said) > 310 && len(to.url.Host) < 100 {
			t.Fatalf("it is shown as %q", said)
		}
		again, err := parseAddress(to.url.String())
		if err != nil || again.name != to.name {
			t.Fatalf("%q is %q and %q: %v", to.url, to.name, again.name, err)
		}
		if next, err := next(&url.URL{Scheme: "https", Host: "a"}, raw); err == nil && (next.Scheme != "https" || next.User != nil) {
			t.Fatalf("a redirect leads to %q", next)
		}
	})
}

func FuzzContentRange(f *testing.F) {
	for _, seed := range []string{"bytes 0-1/2", "bytes 5-9/10", "bytes 5-9/*", "bytes */10", "bytes 9-5/10", "bytes -1--1/9", "items 0-1/2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		first, total, ok := contentRange(header)
		if ok && (first < 0 || total <= first) || !ok && (first != 0 || total != 0) {
			t.Fatalf("%q: %d of %d", header, first, total)
		}
	})
}

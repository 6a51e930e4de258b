package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// progressInterval is how often a running compilation says that it is alive.
const progressInterval = 15 * time.Second

// Cache builds parts and finds built ones.
type Cache struct {
	// Root is the cache directory, outside every clone.
	Root string
	// Sources is hack/cluster of the clone.
	Sources string
	// Progress receives one line per event.
	Progress io.Writer
}

// CacheRoot follows the user's wish, then the XDG convention.
func CacheRoot(getenv func(string) string) (string, error) {
	if root := getenv("MONGOTUNING_CACHE"); root != "" {
		return filepath.Abs(root)
	}
	if base := getenv("XDG_CACHE_HOME"); base != "" {
		return filepath.Join(base, "mongotuning"), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("cannot find a cache directory: set MONGOTUNING_CACHE or HOME")
	}
	return filepath.Join(home, ".cache", "mongotuning"), nil
}

// Path is where the part's program is or will be.
func (c Cache) Path(part Part) (string, error) {
	directory, err := part.directory(c.Sources)
	if err != nil {
		return "", err
	}
	return filepath.Join(c.Root, directory, part.Name), nil
}

// Ensure builds what is missing and returns the programs by name.
func (c Cache) Ensure(ctx context.Context, parts []Part) (map[string]string, error) {
	programs := map[string]string{}
	for _, part := range parts {
		path, err := c.Path(part)
		if err != nil {
			return nil, err
		}
		programs[part.Name] = path
	}
	if len(missing(parts, programs)) == 0 {
		return programs, nil
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()

	todo := missing(parts, programs) // another run may have built them meanwhile
	begin := time.Now()
	for i, part := range todo {
		label := fmt.Sprintf("[%d/%d] %s %s", i+1, len(todo), part.Name, part.Version)
		if err := c.build(ctx, part, programs[part.Name], label, begin); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

func missing(parts []Part, programs map[string]string) []Part {
	var absent []Part
	for _, part := range parts {
		if info, err := os.Stat(programs[part.Name]); err != nil || !info.Mode().IsRegular() {
			absent = append(absent, part)
		}
	}
	return absent
}

// lock keeps two runs from compiling the same things on the same processors.
// The kernel drops it when its holder dies, however that happens.
func (c Cache) lock(ctx context.Context) (func(), error) {
	if err := os.MkdirAll(c.Root, 0o755); err != nil {
		return nil, fmt.Errorf("make cache directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(c.Root, "build.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open build lock: %w", err)
	}
	said := false
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !said {
			fmt.Fprintf(c.Progress, "waiting for another run that is building into %s\n", c.Root)
			said = true
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("wait for build lock %s: %w", file.Name(), ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// build compiles to a temporary name and renames: a name in the cache is always
// a whole program, whenever the build was killed.
func (c Cache) build(ctx context.Context, part Part, target, label string, begin time.Time) error {
	directory := filepath.Dir(target)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("make cache directory: %w", err)
	}
	leftovers, _ := filepath.Glob(filepath.Join(directory, ".building-*"))
	for _, leftover := range leftovers {
		os.Remove(leftover) // of a killed run; the lock says nobody else is building
	}
	temporary := filepath.Join(directory, fmt.Sprintf(".building-%d", os.Getpid()))
	defer os.Remove(temporary)

	fmt.Fprintf(c.Progress, "%s: building, %s elapsed\n", label, since(begin))
	output, err := c.compile(ctx, part, temporary, func() {
		fmt.Fprintf(c.Progress, "%s: still building, %s elapsed\n", label, since(begin))
	})
	if err != nil {
		return fmt.Errorf("build %s %s: %w\n%s", part.Name, part.Version, err, lastLines(output, 20))
	}
	if err := os.Rename(temporary, target); err != nil {
		return fmt.Errorf("put %s into the cache: %w", part.Name, err)
	}
	fmt.Fprintf(c.Progress, "%s: done, %s elapsed\n", label, since(begin))
	return nil
}

// compile runs the Go tool. It must die with this process, or the next run
// would compile beside it; the kernel watches the thread that started it,
// which is why that thread is held until the end.
func (c Cache) compile(ctx context.Context, part Part, output string, alive func()) (string, error) {
	args := []string{"build", "-buildvcs=false", "-ldflags", strings.TrimSpace("-s -w " + part.LDFlags), "-tags", part.Tags, "-o", output, part.Package}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(c.Sources, part.Module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said

	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		ended <- cmd.Run()
	}()
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return said.String(), err
		case <-ticker.C:
			alive()
		}
	}
}

// EnvtestDirectory returns a directory that holds the asset programs under the
// names envtest expects; it only has links, so that nothing is stored twice.
func (c Cache) EnvtestDirectory(programs map[string]string) (string, error) {
	directory := filepath.Join(c.Root, "bin", "envtest", KubernetesVersion+"-etcd-"+EtcdVersion)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", fmt.Errorf("make assets directory: %w", err)
	}
	for _, part := range AssetParts() {
		link := filepath.Join(directory, part.Name)
		if current, err := os.Readlink(link); err == nil && current == programs[part.Name] {
			continue
		}
		temporary := fmt.Sprintf("%s.%d", link, os.Getpid())
		if err := os.Symlink(programs[part.Name], temporary); err != nil {
			return "", fmt.Errorf("link %s: %w", part.Name, err)
		}
		if err := os.Rename(temporary, link); err != nil {
			return "", fmt.Errorf("link %s: %w", part.Name, err)
		}
	}
	return directory, nil
}

func since(begin time.Time) time.Duration { return time.Since(begin).Round(time.Second) }

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > count {
		lines = lines[len(lines)-count:]
	}
	return strings.Join(lines, "\n")
}

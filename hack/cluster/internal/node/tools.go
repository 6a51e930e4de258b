package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Tools are the programs that come from the distribution.
type Tools struct {
	Runc       string
	Nsenter    string
	CNIPlugins string
}

// cniDirectories are where distributions put the CNI plugins.
var cniDirectories = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// needed maps a command to the Debian package that has it.
var needed = []struct{ command, pkg string }{
	{"runc", "runc"},
	{"nft", "nftables"},
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
	{"unshare", "util-linux"},
	{"mount", "mount"},
}

// EnsureTools finds what the cluster needs from the distribution and installs
// what is missing where it can.
func EnsureTools(ctx context.Context, progress io.Writer) (Tools, error) {
	if missing := missingPackages(); len(missing) > 0 {
		if err := install(ctx, progress, missing); err != nil {
			return Tools{}, err
		}
		if missing := missingPackages(); len(missing) > 0 {
			return Tools{}, fmt.Errorf("still missing after the installation: %s", strings.Join(missing, ", "))
		}
	}
	runc, err := find("runc")
	if err != nil {
		return Tools{}, err
	}
	nsenter, err := find("nsenter")
	if err != nil {
		return Tools{}, err
	}
	return Tools{Runc: runc, Nsenter: nsenter, CNIPlugins: cniDirectory()}, nil
}

func missingPackages() []string {
	var missing []string
	for _, tool := range needed {
		if _, err := find(tool.command); err != nil && !slices.Contains(missing, tool.pkg) {
			missing = append(missing, tool.pkg)
		}
	}
	if cniDirectory() == "" {
		missing = append(missing, "containernetworking-plugins")
	}
	return missing
}

// find also looks where a plain user's PATH does not lead.
func find(command string) (string, error) {
	if path, err := exec.LookPath(command); err == nil {
		return filepath.Abs(path)
	}
	for _, directory := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		path := filepath.Join(directory, command)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s: not in PATH", command)
}

func cniDirectory() string {
	for _, directory := range cniDirectories {
		_, ptp := os.Stat(filepath.Join(directory, "ptp"))
		_, hostLocal := os.Stat(filepath.Join(directory, "host-local"))
		if ptp == nil && hostLocal == nil {
			return directory
		}
	}
	return ""
}

func install(ctx context.Context, progress io.Writer, packages []string) error {
	advice := fmt.Errorf("missing: %s (the names of Debian's packages)", strings.Join(packages, ", "))
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return fmt.Errorf("%w; no apt-get here, install them by the system's own means", advice)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w; install them as root: apt-get install %s", advice, strings.Join(packages, " "))
	}
	fmt.Fprintf(progress, "installing %s\n", strings.Join(packages, ", "))
	// Somebody else may be installing at the same moment.
	wait := []string{"-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"}
	for _, args := range [][]string{
		append(slices.Clone(wait), "update"),
		append(append(slices.Clone(wait), "install", "-y", "--no-install-recommends"), packages...),
	} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, output)
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// slowNVMeFixed is the first kernel of Red Hat Enterprise Linux 7 that writes to NVMe at full speed: in a
// field report releases before it wrote 500 MB/s where the drives do 2 GB/s.
const slowNVMeFixed = "3.10.0-957.27.2.el7"

// ReleaseProblem says what is known to be wrong with a kernel release, "" when nothing is.
func ReleaseProblem(release string) string {
	if !strings.Contains(release, ".el7") {
		return ""
	}
	if CompareReleases(release, slowNVMeFixed) >= 0 {
		return ""
	}
	return fmt.Sprintf("before %s NVMe drives write at a fraction of their speed; update the kernel", slowNVMeFixed)
}

var releaseFields = regexp.MustCompile(`[0-9]+`)

// CompareReleases compares kernel releases field by field, as numbers, up to the distribution's mark
// (".el7"). Compared as text 957.5.1 would come after 957.27.2.
func CompareReleases(a, b string) int {
	left, right := releaseNumbers(a), releaseNumbers(b)
	for i := range max(len(left), len(right)) {
		var l, r uint64
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		if order := cmp.Compare(l, r); order != 0 {
			return order
		}
	}
	return 0
}

func releaseNumbers(release string) []uint64 {
	release, _, _ = strings.Cut(release, ".el")
	var numbers []uint64
	for _, field := range releaseFields.FindAllString(release, -1) {
		number, err := strconv.ParseUint(field, 10, 64)
		if err != nil { // longer than any release
			break
		}
		numbers = append(numbers, number)
	}
	return numbers
}

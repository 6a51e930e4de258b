// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTable(t *testing.T) {
	rows := [][]Cell{
		{Text("demo-shard-0-0"), Number("3.1"), Text("Primary").In(Good), Text("")},
		{Text("long-name-of-a-member"), Number("12.25"), Text("-").In(Faint), Text("canary")},
	}
	header := []string{"MEMBER", "DIRTY", "ROLE", "NOTE"}
	for _, row := range []struct {
		name    string
		colours bool
		want    string
	}{
		{"without colours", false, `
MEMBER                  DIRTY   ROLE      NOTE
demo-shard-0-0            3.1   Primary
long-name-of-a-member   12.25   -         canary
`},
		{"colours do not count as width", true, "\n" +
			"\x1b[1mMEMBER               \x1b[0m   \x1b[1mDIRTY\x1b[0m   \x1b[1mROLE   \x1b[0m   \x1b[1mNOTE\x1b[0m\n" +
			"demo-shard-0-0            3.1   \x1b[32mPrimary\x1b[0m\n" +
			"long-name-of-a-member   12.25   \x1b[2m-      \x1b[0m   canary\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			screen := Screen{Colours: row.colours}
			screen.Table(header, rows)
			if diff := cmp.Diff(row.want, "\n"+screen.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTableOfNothing(t *testing.T) {
	var screen Screen
	screen.Table([]string{"A"}, nil)
	if screen.String() != "" {
		t.Errorf("got %q", screen.String())
	}
}

func TestFields(t *testing.T) {
	screen := Screen{Width: 30}
	screen.Fields([2]string{"Default", "20"}, [2]string{"Left out", ""}, [2]string{"A change", "restarts every member, one after the other"})
	want := `
Default    20
A change   restarts every
           member, one after
           the other
`
	if diff := cmp.Diff(want, "\n"+screen.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWrapKeepsWordsAndWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,12}`), 0, 30).Draw(t, "words")
		width := rapid.IntRange(12, 60).Draw(t, "width")
		wrapped := Wrap(strings.Join(words, "  "), width)
		if diff := cmp.Diff(strings.Join(words, " "), strings.ReplaceAll(wrapped, "\n", " ")); diff != "" {
			t.Fatalf("other words (-want +got):\n%s", diff)
		}
		for line := range strings.SplitSeq(wrapped, "\n") {
			if utf8.RuneCountInString(line) > width {
				t.Fatalf("%q is wider than %d", line, width)
			}
		}
	})
}

func TestSpan(t *testing.T) {
	for span, want := range map[time.Duration]string{
		0: "0s", -time.Second: "0s", 45 * time.Second: "45s", 60 * time.Second: "1m", 200 * time.Second: "3m20s",
		5*time.Hour + 10*time.Minute + 3*time.Second: "5h10m", 12*24*time.Hour + 4*time.Hour: "12d4h", 1600 * time.Millisecond: "2s",
		time.Hour + 5*time.Second: "1h",
	} {
		if got := Span(span); got != want {
			t.Errorf("%v is %q, want %q", span, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	if got := []string{Count(0, "member"), Count(1, "member"), Count(2, "member")}; !cmp.Equal(got, []string{"0 members", "1 member", "2 members"}) {
		t.Errorf("got %v", got)
	}
}

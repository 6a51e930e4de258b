# Reads the output of go test -json, mixed with the lines of whatever else ran, and prints what plain go
# test would: one line for each package and everything a failed test said. Tests of end-to-end packages
# are shown as they run. At the end it writes how many tests passed, failed and were skipped to the file
# named by the variable counts; a test with subtests counts by its subtests, a package that failed
# without a failed test as one failure.
function field(name,    at, rest) {
	at = index($0, "\"" name "\":\"")
	if (!at) return ""
	rest = substr($0, at + length(name) + 4)
	match(rest, /^([^"\\]|\\.)*/)
	return substr(rest, 1, RLENGTH)
}
function plain(text) {
	gsub(/\\n/, "\n", text); gsub(/\\t/, "\t", text); gsub(/\\"/, "\"", text)
	gsub(/\\u003c/, "<", text); gsub(/\\u003e/, ">", text); gsub(/\\u0026/, "\\&", text)
	gsub(/\\\\/, "\\", text)
	return text
}
function top(test) { sub(/\/.*/, "", test); return test }
!/^\{.*"Action":"/ { print; fflush(); next }
{
	action = field("Action"); package = field("Package"); test = field("Test")
	key = package " " test
	whole = package " " top(test)
	if (action == "run") {
		for (up = test; sub(/\/[^\/]*$/, "", up); ) parent[package " " up]
	}
	else if (action == "output") {
		text = plain(field("Output"))
		if (text == "PASS\n" && test == "") next
		if (test == "" || package ~ /\/e2e/) { printf "%s", text; fflush() }
		else said[whole] = said[whole] text
	} else if (action == "build-output") {
		printf "%s", plain(field("Output"))
	} else if (test != "" && (action == "pass" || action == "fail" || action == "skip")) {
		if (!(key in parent)) count[action]++
		if (action == "fail") blamed[package]
		if (test !~ /\//) {
			if (action == "fail" && package !~ /\/e2e/) printf "%s", said[whole]
			delete said[whole]
		}
	} else if (test == "" && action == "fail" && !(package in blamed)) {
		# It does not build, or something other than a test ended it.
		count["fail"]++
	}
}
END {
	for (whole in said) printf "%s", said[whole]
	printf "%d %d %d\n", count["pass"], count["fail"], count["skip"] > counts
}

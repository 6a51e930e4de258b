#!/usr/bin/env bash
# Fails when a generated file is not what its source makes of it, when a module file is not tidy, when
# Go code is not formatted, or when a script does not parse. Everything is generated into a copy of the
# tree, so that a developer's files are never touched.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
failed=0

complain() {
	failed=1
	printf '\n%s\n' "$1"
	sed 's/^/  /'
}

# What git knows and what it does not ignore; a file that was deleted and not committed is left out.
files() { git ls-files -z --cached --others --exclude-standard --deduplicate | while IFS= read -r -d '' file; do [[ -e $file ]] && printf '%s\0' "$file"; done; }

echo "Generated files ..."
files | tar --create --null --files-from=- | tar --extract --directory="$copy"
sums() { (cd "$copy" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum); }
sums >"$copy.before"
if ! make --no-print-directory -C "$copy" BIN="$tree/bin" generate >"$copy.log" 2>&1; then
	complain "make generate fails in a copy of the tree:" <"$copy.log"
fi
sums >"$copy.after"
stale=$(LC_ALL=C diff "$copy.before" "$copy.after" | awk '/^[<>]/ {sub(/^\.\//, "", $3); print $3}' | sort -u || true)
rm -f "$copy.before" "$copy.after" "$copy.log"
[[ -z $stale ]] || complain "Stale; run 'make generate' and commit:" <<<"$stale"

echo "Module files ..."
while IFS= read -r -d '' module; do
	directory=$(dirname "$module")
	difference=$(cd "$directory" && go mod tidy -diff 2>&1) || complain "$module is not tidy; run 'go mod tidy' in $directory:" <<<"$difference"
done < <(files | grep -zE '(^|/)go\.mod$')

echo "Format of Go code ..."
unformatted=$(files | grep -zE '\.go$' | xargs -0 gofmt -l)
[[ -z $unformatted ]] || complain "Not formatted; run gofmt -w:" <<<"$unformatted"

echo "Scripts ..."
while IFS= read -r -d '' script; do
	head -c 32 "$script" | head -n 1 | grep -aq '^#!.*bash' || continue
	problem=$(bash -n "$script" 2>&1) || complain "$script does not parse:" <<<"$problem"
	[[ $script == */env.sh || -x $script ]] || complain "Not executable; run chmod +x:" <<<"$script"
	if command -v shellcheck >/dev/null; then
		# What is sourced is checked by itself; its functions and variables are unknown elsewhere.
		problem=$(shellcheck --exclude=SC1091,SC2154 "$script" 2>&1) || complain "shellcheck $script:" <<<"$problem"
	fi
done < <(files | grep -zE '(\.sh|^\.ci/run)$')
command -v shellcheck >/dev/null || echo "  (shellcheck is not installed; parsed only)"

((failed)) && exit 1
printf '\nVerified: generated files, module files, format and scripts.\n'

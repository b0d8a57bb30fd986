#!/usr/bin/env bash
# Installs the Debian packages that are missing, and checks for Rust. Does nothing when all is there.
set -euo pipefail

packages=(
    gcc libc6-dev pkg-config ca-certificates # to build
    libclang-dev libpcap-dev                 # PostgreSQL's parser, live capture
    postgresql pgpool2                       # the PostgreSQL pair and its router
    # The MariaDB pair. These hold the programs; mariadb-server would add a service of its own on port 3306.
    mariadb-server-core mariadb-client-core
    sysbench percona-toolkit                 # a second workload for it, and a reader of its slow log
    tcpdump tshark pgreplay                  # the recorder, and tools to compare with
    chromium python3-venv                    # to look at the report and to open a trace with other tools
)

if command -v dpkg-query >/dev/null; then
    missing=()
    for package in "${packages[@]}"; do
        status=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
        [[ $status == ii* ]] || missing+=("$package")
    done
    if ((${#missing[@]})); then
        root=()
        if ((EUID != 0)); then
            command -v sudo >/dev/null || {
                echo "these packages are missing, and there is neither root nor sudo to install them: ${missing[*]}" >&2
                exit 1
            }
            root=(sudo)
        fi
        echo "installing: ${missing[*]}"
        # Debian would make and start a cluster of its own. While this file is there, it does not.
        no_cluster=/etc/postgresql-common/createcluster.d/splitproof.conf
        "${root[@]}" mkdir -p "${no_cluster%/*}"
        echo 'create_main_cluster = false' | "${root[@]}" tee "$no_cluster" >/dev/null
        trap '"${root[@]}" rm -f "$no_cluster"' EXIT
        "${root[@]}" apt-get update -q
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
    fi
else
    echo "this is not Debian: what is needed are the equivalents of ${packages[*]}" >&2
fi

needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")
found=$("${CARGO:-cargo}" --version 2>/dev/null | cut -d' ' -f2 || true)
if [[ -z $found || $(printf '%s\n' "$needed" "$found" | sort -V | head -n1) != "$needed" ]]; then
    echo "Rust $needed or newer is needed; found: ${found:-none}." >&2
    echo "Install it with rustup (https://rustup.rs), then open a new shell:" >&2
    echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh" >&2
    exit 1
fi

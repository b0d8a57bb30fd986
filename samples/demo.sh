#!/usr/bin/env bash
# The whole job on real parts: a primary with a replica, a router in front, a recorded window of the sample shop, three
# replays, two comparisons. Prints every command that it runs.
#
# ENGINE=postgresql (the default) takes a streaming standby and pgpool-II, ENGINE=mysql a MariaDB replica and the sample
# router. Everything goes to $SPLITPROOF_DEMO (default /tmp/splitproof-demo). Exit code 0: the tool judged as it should.
set -euo pipefail

engine=${ENGINE:-postgresql}
case $engine in
postgresql) pair="PostgreSQL with a streaming standby" router=pgpool ;;
mysql) pair="MariaDB with a replica that follows by GTID" router="the sample router" ;;
*)
    echo "ENGINE=$engine: not known; give one of: postgresql, mysql" >&2
    exit 2
    ;;
esac

bin=${CARGO_TARGET_DIR:-$(dirname "$0")/../target}/release
samples=$(cd "$(dirname "$0")" && pwd)
work=${SPLITPROOF_DEMO:-/tmp/splitproof-demo}
bin=$(cd "$bin" && pwd)
export PATH="$bin:$PATH" SPLITPROOF_SANDBOX="$work/pair"

say() { printf '\n== %s\n' "$*"; }
# Shows a command, without the long path of the work directory, and runs it there.
run() {
    printf '$ %s\n' "${*//$work\//}"
    "$@"
}

if [[ -f $work/pair/sandbox.json ]]; then
    splitproof-sandbox destroy
fi
rm -rf "$work"
mkdir -p "$work"
cd "$work"
trap 'splitproof-sandbox down || true' EXIT

say "$pair, and the shop's data"
run splitproof-sandbox create --engine "$engine"
run splitproof-sandbox up
run splitproof-sandbox load
run splitproof-sandbox snapshot
run splitproof-sandbox pair-toml -o pair.toml

say "A window of traffic, recorded as packets at the primary: production before there is a router"
if run splitproof-sandbox record -o window; then
    # The pair that is replayed into is the recorded server, restored.
    replay=(--allow-recorded-server)
else
    echo "no right to capture packets here; the shipped recording takes its place"
    rm -rf window
    run splitproof-capture packets -o window "$samples/shop-$engine.pcap"
    replay=()
fi
run splitproof-capture show window --shapes 5

# Every run starts from the same bytes.
for configuration in today today-again candidate; do
    say "Replay through $router, configured as ${configuration%-again}"
    run splitproof-sandbox restore
    run splitproof-sandbox router "${configuration%-again}"
    code=0
    run splitproof-replay window --pair pair.toml -o "$configuration" "${replay[@]}" || code=$?
    # 1 is a finished replay with a doubt, which its summary names: a busy machine sends late.
    ((code <= 1)) || exit $code
done

verdict() {
    local code=0
    run "$@" || code=$?
    echo "exit code $code"
    return $code
}

say "Today against itself: what differs here is noise, or a fault that is there today"
code=0
verdict splitproof-analyze compare today today-again --gate "$samples/gate.yaml" --html again.html || code=$?
# 2 is a comparison that cannot judge: where the replayer itself was late too often, latencies are not measured.
((code <= 2)) || exit $code

say "Today against the candidate"
code=0
verdict splitproof-analyze compare today candidate --gate "$samples/gate.yaml" \
    --html report.html --json report.json --junit report.xml || code=$?

say "Done in $SECONDS s"
echo "the report: $work/report.html"
if ((code != 1)); then
    echo "the candidate has three mistakes, but the comparison ended with exit code $code instead of 1" >&2
    exit 1
fi

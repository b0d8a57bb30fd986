#!/bin/bash
# Builds the fuzz targets with the stable compiler and runs them one after another, nicely. README.md says what it needs.
#   run.sh [TARGET...]      TARGETs: all of targets/ that Cargo.toml names, by default
# SECONDS_EACH (600): how long each runs; 0 only builds them and makes the inputs. SEEDS: directories to make inputs from. REPORT: a file that gets a line for each target.
# CARGO (cargo), CARGO_TARGET_DIR (target), WORK (artifacts): where inputs and findings go.
set -euo pipefail
cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')
each=${SECONDS_EACH:-600}
work=$(realpath -m "${WORK:-artifacts}")
report=$(realpath -m "${REPORT:-$work/report.txt}")
seeds=${SEEDS:-../../samples}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}
binaries=$CARGO_TARGET_DIR/$host/release

# What cargo-fuzz passes, as far as stable rustc takes it. With --target build scripts and macros stay as they are.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
RUSTFLAGS="${coverage//$'\n'/ } -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks --cfg fuzzing" \
    ${CARGO:-cargo} build --locked --release --target "$host" --bins --example seeds

targets=("$@")
[ $# -gt 0 ] || readarray -t targets < <(sed -n '/^\[\[bin\]\]/,/^name/s/^name = "\(.*\)"/\1/p' Cargo.toml)
mkdir -p "$work"
# shellcheck disable=SC2086 # several directories
"$binaries/examples/seeds" "$work/seeds" $seeds

[ "$each" -gt 0 ] || exit 0
for target in "${targets[@]}"; do
    mkdir -p "$work/corpus/$target" "$work/found/$target" "$work/seeds/$target"
    log=$work/$target.log
    : > "$log"
    began=$(date +%s) left=$each executed=0 crashes=0
    TIMEFORMAT='%U %S'
    # A finding ends the fuzzer; it begins anew with what is left of the time, as long as there are not too many.
    while [ "$left" -gt 0 ] && [ "$crashes" -lt 20 ]; do
        status=0
        { time nice -n 19 "$binaries/$target" "$work/corpus/$target" "$work/seeds/$target" -max_total_time="$left" \
            -rss_limit_mb=1500 -timeout=20 -max_len=16384 -print_final_stats=1 -artifact_prefix="$work/found/$target/" \
            > "$work/part.log" 2>&1 || status=$?; } 2>> "$work/$target.cpu"
        cat "$work/part.log" >> "$log"
        executed=$((executed + $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/part.log" | tail -1 | grep . || echo 0)))
        [ "$status" -eq 0 ] || crashes=$((crashes + 1))
        left=$((began + each - $(date +%s)))
    done
    cover=$(grep -o 'cov: [0-9]* ft: [0-9]*' "$log" | tail -1 || true)
    cpu=$(awk '{ sum += $1 + $2 } END { printf "%.0f", sum }' "$work/$target.cpu")
    rm "$work/$target.cpu"
    echo "$target executions=$executed ${cover//: /=} crashes=$crashes wall_s=$(($(date +%s) - began)) cpu_s=$cpu" | tee -a "$report"
done

#!/bin/bash
# The tests that need GPUs, on a machine that has one or several and no network: configures without Clang, builds the
# program and the GPU tests in a temporary folder, then runs the matrix, launches of many kernels in turn, both
# examples, bare headers compiled by nvcc, a search for the fastest, the measurements and, where compute-sanitizer is
# installed, memcheck and racecheck on one kernel of each variant.
#
#   tests/gpu.sh OUT_DIR [STEP…]     all steps unless some are named: tables examples processes groups adopted heap
#                                    tensors sass matrix stress bare tune bench collectives fused memcheck racecheck
#
# `collectives` measures all collectives against NCCL, on plain memory and in symmetric windows; `fused` measures fused
# kernels beside their product and their links. If PEERS names a program for torchrun that measures others' kernels, with
# the argument `coll,symm` or `fused`, and writes JSON into the folder $OUTF, it runs right after, on the same GPUs.
# collectives.md and fused.md have all of them side by side, collectives.svg draws ours and NCCL's.
#
# Logs and summary.txt go to OUT_DIR. GTEST_FILTER in the environment picks cases of the matrix. Exit status: 0 if every
# step passed, 1 if one failed, 2 for wrong usage.
set -uo pipefail
[ $# -ge 1 ] || { echo "usage: tests/gpu.sh OUT_DIR [STEP…]" >&2; exit 2; }
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)
shift
wanted_steps=" ${*:-tables examples processes groups adopted heap tensors sass matrix stress bare tune bench collectives fused memcheck racecheck} "
[ -z "${PEERS:-}" ] || PEERS=$(realpath "$PEERS") || exit 2
cd "$(dirname "$0")/.." || exit 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
export TMPDIR="$work/tmp" XDG_CACHE_HOME="$work/cache" IRISGEN_TUNING="$work/tuning.json"
export CUDA_CACHE_PATH="$work/cache/cuda" TRITON_CACHE_DIR="$work/cache/triton"
# Ranks that share a GPU wait for one another inside their kernels, so each needs a hardware queue of its own.
export CUDA_DEVICE_MAX_CONNECTIONS=32 GPU_MAX_HW_QUEUES=16

failed=0
: >"$out/summary.txt"
say() { echo "$*" | tee -a "$out/summary.txt"; }

# step NAME SECONDS COMMAND…: runs it with a time limit, if it is wanted; output to NAME.log, one line to the summary.
step() {
  local name=$1 limit=$2 start=$SECONDS status
  shift 2
  [ "$name" = build ] || [[ $wanted_steps == *" $name "* ]] || return 0
  timeout --kill-after=10 "$limit" "$@" >>"$out/$name.log" 2>&1
  status=$?
  if [ "$status" -eq 0 ]; then
    say "ok      $name ($((SECONDS - start)) s)"
  else
    failed=1
    local why="exit status $status"
    [ "$status" -eq 124 ] && why="stopped after $limit s"
    say "FAILED  $name: $why ($((SECONDS - start)) s)"
    tail -n 40 "$out/$name.log" | sed "s/^/        /"
  fi
  return "$status"
}

# kernels WORLD DTYPE COLLECTIVE_SHAPE MATMUL_SHAPE: a specification of one kernel of each variant.
kernels() {
  echo "irisgen: 1"
  echo "defaults: {world: $1, dtype: $2}"
  echo "kernels:"
  local pattern variant
  while read -r pattern variant; do
    local shape=$3 dtype=$2
    [[ $pattern == *matmul* ]] && shape=$4
    # It cuts n, known and a multiple of the world.
    [ "$variant" = reduce_scatter_all_gather ] && shape="n: $((8191 * $1))"
    [ "$variant" = atomic ] && dtype=f32  # it adds in the output
    echo "  - {name: ${pattern}_$variant, pattern: $pattern, variant: $variant, dtype: $dtype, shape: {$shape}}"
  done < <("$irisgen" list --json | python3 -c '
import json, sys
for pattern in json.load(sys.stdin)["patterns"]:
    for variant in pattern["variants"]:
        print(pattern["name"], variant["name"])')
  echo "  - {name: all_gather_columns, pattern: all_gather, shard: n, shape: {$3}}"
  echo "  - {name: matmul_all_gather_columns, pattern: matmul_all_gather, shard: n, shape: {$4}}"
}

names_of() { sed -n 's/.*{name: \([a-z_]*\),.*/\1/p' "$1"; }

configure_and_build() {
  local host=OFF generator=()
  compgen -G "/usr/lib/*/libboost_context.so" >/dev/null && host=ON
  command -v ninja >/dev/null && generator=(-G Ninja)
  cmake -S . -B "$work/build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
    -DIRISGEN_WERROR=OFF -DIRISGEN_CLANG=OFF -DIRISGEN_HOST="$host" -DIRISGEN_TESTS=ON &&
    cmake --build "$work/build" --parallel "$(nproc)" --target irisgen gpu_adopted_test gpu_fill_test gpu_heap_test \
      gpu_matrix_test gpu_stress_test group_matrix_test vendor_api_tests
}

# The Plan gives each rank a GPU. Eight ranks on fewer must share, and only so many blocks run together.
run_examples() {
  sed '$a\    config: {blocks: 24, comm_blocks: 8}' examples/02_layer/spec.yaml >"$work/layer.yaml"
  "$irisgen" run examples/01_gradient_sum/spec.yaml --target "$target" \
    --input 'input=examples/data/gradient_rank{rank}.npy' &&
    "$irisgen" run "$work/layer.yaml" --target "$target" \
      --input 'a=examples/data/activation_rank{rank}.npy' --input 'b=examples/data/weight_rank{rank}.npy'
}

# Every variant with a process for each rank. On one GPU two of them share it, and their kernels take turns.
processes() {
  local spec
  for spec in "$work/processes.yaml" "$work/processes_products.yaml"; do
    "$irisgen" run "$spec" --target "$target" --processes --repeat "$((gpus > 1 ? 20 : 5))" || return 1
  done
}

# What the products of 32 bits and less multiply by, in SASS: instructions of matrix units, and none that reach local memory.
# Where ptxas lets products wait for one another it says so, as C7510 and the like, but only nvcc passes that on.
sass() {
  command -v cuobjdump >/dev/null || { echo "skipped: needs cuobjdump"; return 0; }
  [ "$target" = sm_90a ] || { echo "skipped: $target has no SASS"; return 0; }
  "$irisgen" compile "$work/types.yaml" --target sm_90a -o "$work/sass" || return 1
  local code listing wanted other=0
  for code in "$work"/sass/*.cubin; do
    case $code in
      *.barrier.cubin | *.all_gather.cubin | *.reduce_scatter.cubin | *.all_reduce.cubin) continue ;;  # beside products
    esac
    listing=$(cuobjdump -sass "$code")
    wanted=HGMMA
    [[ $code == *e4m3* ]] && wanted=QGMMA
    [[ $code == *odd_rows* ]] && wanted=HMMA  # of all types: those of 8 bits are widened
    count() { grep -cE "[[:space:]]$1" <<<"$listing"; }
    # What multiplies waits for nothing but shared memory, and who tells other ranks for the whole system.
    echo "$(basename "$code"): $(count $wanted) $wanted, $(count 'LDL|STL') of local memory," \
      "$(count 'MEMBAR[.A-Z]*[.]GPU') waits for the whole GPU"
    [ "$(count $wanted)" -gt 0 ] && [ "$(count '(LDL|STL|MEMBAR[.A-Z]*[.]GPU)')" -eq 0 ] || other=1
  done
  [ -x "$nvcc" ] || { echo "not looked for waits between products: needs nvcc"; return $other; }
  "$irisgen" generate "$work/types.yaml" --target sm_90a --self-contained -o "$work/serial" || return 1
  # Side by side: each takes seconds.
  find "$work/serial" -name '*.hip' ! -name '*.barrier.hip' -print0 |
    xargs -0 -P "$(nproc)" -I {} sh -c '"$nvcc" -std=c++20 -x cu -gencode arch=compute_90a,code=sm_90a -Xptxas -v \
      --fmad=false -cubin -o "$1.cubin" "$1" >"$1.log" 2>&1 || { cat "$1.log"; exit 1; }' sh {} || return 1
  ! grep -E 'C75[0-9]{2}' "$work"/serial/*.log || other=1
  return $other
}

# Bare headers, without the runtime: two programs on two GPUs.
bare() {
  local compile=("$nvcc" -std=c++20 -O2 -gencode arch=compute_90a,code=sm_90a "-I$work/bare" -x cu)
  { [ -x "$nvcc" ] && [ "$gpus" -gt 1 ]; } || { echo "skipped: needs nvcc and two GPUs"; return 0; }
  local spec
  for spec in examples/09_bare/spec.yaml tests/bare.yaml; do
    "$irisgen" generate "$spec" -o "$work/bare" --target sm_90a --bare || return 1
  done
  "${compile[@]}" examples/09_bare/all_reduce.cpp -o "$work/bare/all_reduce" && "$work/bare/all_reduce" examples/data &&
    "${compile[@]}" tests/bare.cu -o "$work/bare/bare" && "$work/bare/bare" threads && "$work/bare/bare"
}

# Groups of four ranks, on however many GPUs. Those whose ranks are processes in a program of its own: what fork() makes
# of a program that has used a GPU cannot use one.
groups() {
  "$group_matrix" --gtest_filter='*/gpu' && "$group_matrix" --gtest_filter='GroupsOfProcesses.*'
}

# Most of the time goes into compiling, on one thread of the host. Processes take turns on a GPU, and each copy between
# ranks that share it costs one, so those of the copy engine come last, by themselves.
matrix() {
  local shard shards=$(($(nproc) < 16 ? 4 : 8)) status=0 running=()
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_FILTER=${GTEST_FILTER:--*copy_engine*} GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard \
      "$gpu_matrix" --gtest_brief=1 &
    running+=($!)
  done
  for shard in "${running[@]}"; do wait "$shard" || status=1; done
  [ -n "${GTEST_FILTER:-}" ] || GTEST_FILTER='*copy_engine*' "$gpu_matrix" --gtest_brief=1 || status=1
  return "$status"
}

# check TOOL SPEC…: compute-sanitizer on each kernel, four at a time: it starts, and compiles, on one thread of the host.
check() {
  local tool=$1 spec name
  shift
  for spec in "$@"; do
    for name in $(names_of "$spec"); do printf '%s\0' "$tool" "$spec" "$name"; done
  done | xargs -0 -P 4 -n 3 bash -c 'check_kernel "$@"' check
}

# check_kernel TOOL SPEC NAME: what the tool prints comes in one piece.
check_kernel() {
  local said status=0
  echo "begins: $3"
  said=$(compute-sanitizer --tool "$1" --error-exitcode 9 "$irisgen" run "$2" --kernel "$3" --target "$target" 2>&1) ||
    status=1
  printf '== %s\n%s\n' "$3" "$said"
  [ $status = 0 ] || echo "$1 failed: $3"
  return $status
}

# fused_kernels WORLD: layers of a model of 70B parameters, in parts for 8 ranks.
fused_kernels() {
  echo "irisgen: 1"
  echo "defaults: {world: $1, dtype: bf16}"
  echo "kernels:"
  local m n k
  for m in 1024 4096 8192 16384; do
    m=$(((m + $1 - 1) / $1 * $1))
    for n in 7168 1280; do
      echo "  - {name: all_gather_matmul_${m}_$n, pattern: all_gather_matmul, shape: {m: $m, n: $n, k: 8192}}"
    done
    for k in 3584 1024; do
      echo "  - {name: matmul_reduce_scatter_${m}_$k, pattern: matmul_reduce_scatter, shape: {m: $m, n: 8192, k: $k}}"
      echo "  - {name: matmul_all_reduce_${m}_$k, pattern: matmul_all_reduce, shape: {m: $m, n: 8192, k: $k}}"
    done
  done
}

# dynamic_kernels WORLD PATTERN…: collectives of bf16 of any size.
dynamic_kernels() {
  echo "irisgen: 1"
  echo "defaults: {world: $1, dtype: bf16}"
  echo "kernels:"
  shift
  local pattern
  for pattern in "$@"; do echo "  - {name: $pattern, pattern: $pattern, shape: {n: dynamic}}"; done
}

# Measures a few sizes, and then must find all of them in the table, and `auto` what the table says. Ranks that share a
# GPU cannot be tuned: one GPU is a world of one.
tune() {
  "$irisgen" tune "$work/tune.yaml" --sizes 16K:1M:8 --target "$target" --table "$work/tuned.json" || return 1
  "$irisgen" tune "$work/tune.yaml" --sizes 16K:1M:8 --target "$target" --table "$work/tuned.json" --json >"$out/tune.json"
  "$irisgen" explain "$work/tune.yaml" --target "$target" --tuning "$work/tuned.json" || return 1
  python3 - "$out/tune.json" <<'END'
import json, sys
problems = [problem for report in json.load(open(sys.argv[1])) for problem in report["problems"]]
again = [problem for problem in problems if not problem["known"]]
sys.exit(f"{len(again)} of {len(problems)} problems were measured again" if again or not problems else 0)
END
}

# beside_peers NAME WHAT: others' kernels, if there is a program for them, and a table of those and ours in NAME.json.
beside_peers() {
  rm -rf "$out/peers_$1" && mkdir "$out/peers_$1" || return 1
  [ -z "${PEERS:-}" ] || OUTF="$out/peers_$1" torchrun --standalone --nproc-per-node "$gpus" "$PEERS" "$2" || return 1
  local figures
  mapfile -t figures < <(compgen -G "$out/peers_$1/*.json")
  python3 "tests/$1_table.py" "$out/$1.json" "${figures[@]}" | tee "$out/$1.md"
  return "${PIPESTATUS[0]}"
}

collectives() {
  [ "$gpus" -gt 1 ] || { echo "one GPU has no links"; return 0; }
  "$irisgen" bench "$work/collectives.yaml" --sizes 1K:1G --batches 7 --against nccl --target "$target" \
    --svg "$out/collectives.svg" --json >"$out/collectives.json" || return 1
  beside_peers collectives coll,symm
}

fused() {
  "$irisgen" bench "$work/fused.yaml" --batches 5 --target "$target" --json >"$out/fused.json" || return 1
  beside_peers fused fused
}

export -f configure_and_build run_examples processes groups sass matrix bare check check_kernel tune beside_peers collectives fused names_of
export work out nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc

command -v nvidia-smi >/dev/null && nvidia-smi -L | tee "$out/summary.txt"
step build 300 bash -c configure_and_build || exit 1
export irisgen="$work/build/bin/irisgen"
export gpu_matrix
gpu_matrix=$(find "$work/build" -name gpu_matrix_test -type f)
group_matrix=$(find "$work/build" -name group_matrix_test -type f)
export group_matrix
gpu_adopted=$(find "$work/build" -name gpu_adopted_test -type f)
gpu_heap=$(find "$work/build" -name gpu_heap_test -type f)
gpu_fill=$(find "$work/build" -name gpu_fill_test -type f)
gpu_stress=$(find "$work/build" -name gpu_stress_test -type f)
vendor_api=$(find "$work/build" -name vendor_api_tests -type f)

"$irisgen" doctor >"$out/doctor.log" 2>&1
read -r gpus target < <("$irisgen" doctor --json | python3 -c '
import json, sys
gpus = json.load(sys.stdin)["gpus"]
print(len(gpus), gpus[0]["target"] if gpus else "none")')
export target gpus
[ "${gpus:-0}" -ge 1 ] || { say "FAILED  no GPU: see doctor.log"; cat "$out/doctor.log"; exit 1; }
say "        $gpus GPUs of target $target"
kernels "$gpus" bf16 "n: 8191" "m: $((37 * gpus)), n: $((45 * gpus)), k: 53" >"$work/spec.yaml"  # small enough for memcheck
grep -v matmul "$work/spec.yaml" >"$work/small_collectives.yaml"
ranks=$((gpus > 1 ? gpus : 2))
kernels "$ranks" bf16 "n: 8191" "m: $((37 * ranks)), n: $((45 * ranks)), k: 53" >"$work/processes.yaml"
# bench sweeps the sizes of collectives and takes matmuls at their shape.
kernels "$gpus" bf16 "n: dynamic" "m: 4096, n: 1024, k: 1024" | grep -v reduce_scatter_all_gather >"$work/bench.yaml"
fused_kernels "$gpus" >"$work/fused.yaml"
dynamic_kernels "$gpus" all_reduce all_gather >"$work/tune.yaml"
dynamic_kernels "$gpus" all_reduce all_gather reduce_scatter all_to_all broadcast >"$work/collectives.yaml"
# What matrix units take, in several tiles.
products() { kernels "$1" bf16 "n: 1" "m: $((150 * $1)), n: $((264 * $1)), k: 328" | grep -E '^[a-z]|matmul'; }
products "$gpus" >"$work/products.yaml"
# Blocks that wait for one another, of all ranks that share a GPU, must fit on it.
products "$ranks" | sed 's/variant: split_k,/& config: {blocks: 64},/' >"$work/processes_products.yaml"
cat >>"$work/products.yaml" <<'END'
  - {name: matmul_columns_of_b, pattern: matmul, layout: {b: nk}, shape: {m: 300, n: 99, k: 328}}
  - {name: matmul_of_bytes, pattern: matmul, dtype: e4m3, layout: {b: nk}, shape: {m: 300, n: 99, k: 336}}
  - {name: matmul_of_wide_bytes, pattern: matmul, variant: tiled, dtype: e4m3, layout: {b: nk}, shape: {m: 300, n: 400, k: 336}, config: {tile_n: 192}}
  - {name: matmul_of_singles, pattern: matmul, variant: tiled, dtype: f32, shape: {m: 300, n: 200, k: 131}, config: {tile_m: 256}}
  - {name: matmul_stages_in_turn, pattern: matmul, variant: tiled, layout: {b: nk}, shape: {m: 40, n: 300, k: 1032}, config: {tile_n: 64}}
  - {name: matmul_of_low_tiles, pattern: matmul, variant: tiled, shape: {m: 150, n: 200, k: 328}, config: {tile_m: 64, blocks: 2}}
  - {name: matmul_of_few_rows, pattern: matmul, variant: split_k, dtype: f32, layout: {b: nk}, shape: {m: 5, n: 600, k: 331}}
  - {name: matmul_of_tf32, pattern: matmul, dtype: tf32, layout: {b: nk}, shape: {m: 300, n: 99, k: 332}}
  - {name: matmul_of_f64, pattern: matmul, dtype: f64, shape: {m: 300, n: 99, k: 331}}
  - {name: matmul_of_odd_rows, pattern: matmul, shape: {m: 300, n: 99, k: 331}}
  - {name: matmul_of_odd_bytes, pattern: matmul, dtype: e4m3, layout: {b: nk}, shape: {m: 300, n: 99, k: 331}}
  # Of 15 tiles the blocks make 12 whole and 3 in parts.
  - {name: matmul_tiles_left, pattern: matmul, variant: split_k, shape: {m: 600, n: 520, k: 328}, config: {blocks: 12, tile_n: 256, parts: 4}}
END
{
  echo "irisgen: 1"
  echo "defaults: {world: 2, layout: {b: nk}, dtype: [f16, bf16, tf32, e4m3], shape: {m: 4096, n: 4096, k: 4096}}"
  echo "kernels:"
  for pattern in matmul all_gather_matmul matmul_reduce_scatter matmul_all_reduce matmul_all_gather; do
    echo "  - {name: $pattern, pattern: $pattern}"
  done
  echo "  - {name: odd_rows, pattern: matmul, variant: tiled, dtype: [f16, bf16, e4m3], shape: {m: 4096, n: 4096, k: 4097}}"
} >"$work/types.yaml"
echo "  - {name: all_reduce_by_size, pattern: all_reduce, shape: {n: dynamic}}" >>"$work/bench.yaml"

step tables 60 env -u GTEST_FILTER "$vendor_api"
step examples 40 bash -c run_examples
step processes $((60 + 30 * gpus)) bash -c processes  # each opens every GPU
step groups 120 bash -c groups
step adopted 240 env -u GTEST_FILTER "$gpu_adopted" --gtest_brief=1
step heap 240 env -u GTEST_FILTER "$gpu_heap" --gtest_brief=1
step tensors 240 env -u GTEST_FILTER "$gpu_fill" --gtest_brief=1
step sass 120 bash -c sass
step matrix 600 bash -c matrix
[ -e "$out/matrix.log" ] &&
  grep -E '^\[ +(PASSED|SKIPPED|FAILED) +\] [0-9]+ tests' "$out/matrix.log" | sed 's/^/        /' | tee -a "$out/summary.txt"
step stress 240 env -u GTEST_FILTER "$gpu_stress" --gtest_brief=1
step bare 120 bash -c bare
step tune 120 bash -c tune
step bench 120 "$irisgen" bench "$work/bench.yaml" --target "$target"
step collectives 240 bash -c collectives
step fused 240 bash -c fused
if command -v compute-sanitizer >/dev/null; then
  step memcheck 360 bash -c 'check memcheck "$work/spec.yaml" "$work/products.yaml"'
  step racecheck 300 bash -c 'check racecheck "$work/small_collectives.yaml" "$work/products.yaml"'
else
  say "skipped memcheck and racecheck: compute-sanitizer is not installed"
fi
say "$([ $failed -eq 0 ] && echo 'all steps passed' || echo 'some steps failed') in $SECONDS s"
exit $failed

# Functions that compare.sh and scale.sh share: install the peers' libraries, build both programs,
# choose the engines, run them, and write down what the page says about the machine.
#
# They run in the folder of the package, and use these variables:
#   installs   1: what is missing may be installed by apt-get
#   latewood   LatewoodBenchmark, if it is already built
#   limit      seconds after which a run is stopped
#   data       the folder of the databases
#   figures    the file of the figures
#   scale      a factor on the number of operations
#   seconds    the length of reading while writing

peers=(--package-path Benchmarks/Peers --scratch-path .build-peers/swift --manifest-cache none)
# Otherwise SwiftPM would not look again for libraries that have come or gone.
fresh=(-c release "${peers[@]}" --disable-build-manifest-caching)

# The packages that Benchmarks/Peers/Package.swift names, those of Debian: of all peers, or of the
# named engines.
packages() { # [ENGINE…]
  swift package "${peers[@]}" dump-package | python3 -c '
import json, sys
engines = sys.argv[1:]
for target in json.load(sys.stdin)["targets"]:
    library = target["name"].lower()[1:]
    if engines and not any(engine.startswith(library) for engine in engines):
        continue
    for provider in target.get("providers") or []:
        for group in provider.get("apt", []):
            print(*group, sep="\n")' "$@"
}

version() { dpkg-query -W -f '${Version}' "$1" 2> /dev/null; }

install_packages() { # [ENGINE…]
  command -v dpkg-query > /dev/null || return 0
  local package missing=() root=()
  for package in $(packages "$@"); do version "$package" > /dev/null || missing+=("$package"); done
  if [ ${#missing[@]} -gt 0 ] && [ "$installs" = 1 ]; then
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -q &&
      "${root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" ||
      echo "apt-get has failed; peers that are not installed are left out" >&2
  fi
  for package in "${missing[@]}"; do
    version "$package" > /dev/null || echo "$package is not installed: its engine is left out" >&2
  done
}

# Sets `latewood` and `driver`, and checks both programs by the test vectors.
build_programs() {
  if [ -z "$latewood" ]; then
    export LATEWOOD_PROGRAMS=1
    swift build -c release --product LatewoodBenchmark
    latewood=$(swift build -c release --show-bin-path)/LatewoodBenchmark
  fi
  swift build "${fresh[@]}"
  driver=$(swift build "${fresh[@]}" --show-bin-path)/PeerBenchmark
  "$latewood" --group vectors
  "$driver" --group vectors
}

# Sets `chosen` to Latewood and those engines that are in the build; all of it if none is named.
choose_engines() { # [ENGINE…]
  local engine built
  built=$("$driver" --engines | cut -d ' ' -f 1)
  chosen="latewood"
  for engine in ${*:-$built}; do
    case $engine in
      latewood) ;;
      null | sorted) chosen+=" $engine" ;;
      *)
        if grep -qx -- "$engine" <<< "$built"; then
          chosen+=" $engine"
        else
          echo "there is no engine $engine in this build: it is left out" >&2
        fi
        ;;
    esac
  done
}

# The chosen engines in the order of a round: every second one takes them in reverse.
order_of() { # ROUND
  local engine order=$chosen
  if [ $(($1 % 2)) = 0 ]; then
    order=""
    for engine in $chosen; do order="$engine $order"; done
  fi
  echo "$order"
}

program_of() { # ENGINE
  case $1 in
    latewood | null | sorted) echo "$latewood" ;;
    *) echo "$driver" ;;
  esac
}

limited() { # COMMAND…
  if command -v timeout > /dev/null; then timeout "$limit" "$@"; else "$@"; fi
}

# Appends the figures of one run. SIZE, unless it is empty, is added to the names of workloads.
run() { # ENGINE GROUP ROUND SIZE [OPTION…]
  local engine=$1 group=$2 round=$3 size=${4:+@$4} status=0 start=$SECONDS limiting=limited
  shift 4
  if [ "$group" = limited ]; then limiting=with_little_memory; fi
  # Pending writes of earlier engines must not slow this one.
  sync
  $limiting "$(program_of "$engine")" --engine "$engine" --group "$group" --round "$round" \
    --dir "$data/$engine" --scale "$scale" --rww "$seconds" "$@" |
    sed "s/^\([^,]*,[^,]*,[^,]*,[^,]*\),/\1$size,/" >> "$figures" || status=$?
  rm -rf "${data:?}/$engine"
  echo "$(date +%T) round $round, $group$size, $engine: status $status, $((SECONDS - start)) s" >&2
  if [ $status != 0 ]; then echo "$round,$engine,0,$group$size,FAILED,$status" >> "$figures"; fi
}

# Whether the disk has room for so many records: 600 bytes for each.
has_room() { # RECORDS
  [ $(($1 * 600)) -lt $(($(df -Pk "$data" | awk 'NR == 2 { print $4 }') * 1024)) ]
}

processor() {
  if [ -r /proc/cpuinfo ]; then
    sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1
  else
    sysctl -n machdep.cpu.brand_string
  fi
}

load() { if [ -r /proc/loadavg ]; then cut -d ' ' -f 1-3 /proc/loadavg; else uptime | sed 's/.*: //'; fi; }

# What the page says about the machine and the libraries: lines of name: value.
facts_of_machine() { # DATA [ENGINE…]
  local data=$1 package version
  shift
  echo "date: $(date -u '+%Y-%m-%d %H:%M UTC')"
  echo "commit: $(git describe --always --dirty --exclude '*' 2> /dev/null || echo unknown)"
  echo "processor: $(processor), $(getconf _NPROCESSORS_ONLN) of them"
  if [ -r /proc/meminfo ]; then
    echo "memory: $(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)"
  fi
  echo "file system: $(df -PT "$data" 2> /dev/null | awk 'NR == 2 { print $2 }')"
  echo "system: $(uname -sr)$(sed -n 's/^PRETTY_NAME="\(.*\)"/, \1/p' /etc/os-release 2> /dev/null)"
  echo "compiler: $(swift --version 2> /dev/null | sed -n 's/.*\(Swift version [^ ]*\).*/\1/p' | head -1)"
  if command -v dpkg-query > /dev/null; then
    for package in $(packages "$@"); do
      if version=$(version "$package"); then echo "$package: $version"; fi
    done
  else
    "$driver" --engines | sed 's/ /: /'
  fi
}

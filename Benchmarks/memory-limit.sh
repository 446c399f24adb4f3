# Functions that run a command with little memory: a control group of Linux. They use these
# variables:
#   memory   MiB, the page cache included
#   cgroup   an empty group, made by whoever started the script; empty: one is looked for
#   limit    seconds after which a command is stopped
#
# find_memory_limit sets `way`: group, scope, or empty where there is none.

# A group gets the limit and no swap. Groups of version 1 have other files.
set_limit() { # GROUP
  local bytes=$((memory << 20))
  if [ -f "$1/memory.max" ]; then
    echo $bytes > "$1/memory.max" || return 1
    if [ -f "$1/memory.swap.max" ]; then echo 0 > "$1/memory.swap.max" || return 1; fi
  elif [ -f "$1/memory.limit_in_bytes" ]; then
    echo $bytes > "$1/memory.limit_in_bytes" || return 1
    if [ -f "$1/memory.swappiness" ]; then echo 0 > "$1/memory.swappiness" || return 1; fi
  else
    return 1
  fi
}

# Root may make a group at the top of version 2, where the system hands out memory there.
make_group() {
  local top
  top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts 2> /dev/null)
  [ -n "$top" ] && grep -qw memory "$top/cgroup.subtree_control" 2> /dev/null || return 1
  control_group=$top/latewood-scale-$$
  mkdir "$control_group" 2> /dev/null || return 1
  if [ -f "$control_group/memory.max" ] && set_limit "$control_group"; then return 0; fi
  rmdir "$control_group"
  return 1
}

find_memory_limit() {
  way="" control_group="" scope=()
  if [ -n "$cgroup" ]; then
    if ! set_limit "$cgroup" 2> /dev/null; then
      echo "$cgroup is no group of memory that can be limited to $memory MiB" >&2
      return 1
    fi
    way=group control_group=$cgroup
  elif make_group; then
    way=group
    trap 'rmdir "$control_group" 2> /dev/null || true' EXIT
  elif command -v systemd-run > /dev/null; then
    scope=(systemd-run --scope --quiet -p "MemoryMax=${memory}M" -p MemorySwapMax=0)
    [ "$(id -u)" = 0 ] || scope+=(--user)
    if "${scope[@]}" true 2> /dev/null; then way=scope; fi
  fi
}

# What the page says about it.
memory_limit() {
  case $way in
    group) echo "$memory MiB, by the control group $control_group" ;;
    scope) echo "$memory MiB, by systemd-run --scope" ;;
    *) echo "none: skipped, since a control group can be made neither here nor by systemd-run" ;;
  esac
}

with_little_memory() { # COMMAND…
  case $way in
    group) (echo "$BASHPID" > "$control_group/cgroup.procs" && limited "$@") ;;
    scope) limited "${scope[@]}" -- "$@" ;;
  esac
}

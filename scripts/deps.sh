#!/bin/sh
# Installs what is missing through the system's package manager.
#
#   scripts/deps.sh [--check] GROUP...      build, test, corpus, lint, clang, mpi
#
# Says what it installs and asks for nothing. Nothing missing: silent, exit 0. With
# NO_INSTALL=1 it only prints the command and exits with 1 when something is missing; with
# --check it only says what is missing.
set -eu

fail() {
    echo "deps: $*" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

manager() {
    for name in apt-get dnf pacman brew; do
        if has "$name"; then
            echo "$name"
            return
        fi
    done
    echo none
}

# --- what is there ------------------------------------------------------------------

# Debian keeps each build of OpenBLAS in a folder of its own; only the OpenMP build counts.
# The pthread build's threads fight with OpenMP's for the processors, and the serial build
# has no locks: two threads that call it at once get wrong numbers.
has_openblas() {
    for file in /usr/lib/*/openblas-openmp/pkgconfig/openblas.pc \
        /opt/homebrew/opt/openblas/lib/pkgconfig/openblas.pc \
        /usr/local/opt/openblas/lib/pkgconfig/openblas.pc; do
        [ -e "$file" ] && return 0
    done
    for folder in /usr/lib/*/openblas-pthread /usr/lib/*/openblas-serial; do
        [ -e "$folder" ] && return 1
    done
    pkg-config --exists openblas 2>/dev/null
}

has_opencc_data() {
    for folder in /usr/share/opencc /usr/local/share/opencc /opt/homebrew/share/opencc \
        "$(pkg-config --variable=prefix opencc 2>/dev/null)/share/opencc"; do
        [ -e "$folder/t2s.json" ] && return 0
    done
    return 1
}

# A compiler may come without its C library's headers (gcc on a minimal Debian).
has_libc_headers() {
    echo '#include <stdio.h>' | "${CC:-cc}" -E -x c - >/dev/null 2>&1
}

has_omp() {
    for folder in /usr/lib/llvm-*/lib/clang/*/include /usr/lib*/clang/*/include \
        /usr/include /opt/homebrew/opt/libomp/include /usr/local/opt/libomp/include; do
        [ -e "$folder/omp.h" ] && return 0
    done
    return 1
}

# The compiler wrapper may come without the header (Debian's openmpi-bin alone). An mpicc of
# another library than Open MPI does not know --showme.
has_mpi_header() {
    for flag in $(mpicc --showme:compile 2>/dev/null) -I/usr/include; do
        [ "${flag#-I}" = "$flag" ] || [ ! -e "${flag#-I}/mpi.h" ] || return 0
    done
    return 1
}

has_item() {
    case $1 in
    cc) has "${CC:-cc}" || has gcc ;;
    libc) has_libc_headers ;;
    openblas) has_openblas ;;
    opencc-data) has_opencc_data ;;
    omp) has_omp ;;
    mpi.h) has_mpi_header ;;
    jansson | libutf8proc | libxxhash | opencc | cmocka) pkg-config --exists "$1" 2>/dev/null ;;
    certificates)
        [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/ssl/cert.pem ] ||
            [ -e /etc/pki/tls/certs/ca-bundle.crt ]
        ;;
    *) has "$1" ;;
    esac
}

group_items() {
    case $1 in
    build) echo cc libc make pkg-config jansson libutf8proc libxxhash opencc opencc-data openblas ;;
    test) echo cmocka ;;
    corpus) echo certificates npm ;;
    lint) echo clang-format clang-tidy cppcheck shellcheck ;;
    clang) echo clang omp ;;
    mpi) echo mpi.h mpicc mpirun ;;
    *) return 1 ;;
    esac
}

# --- what it is called --------------------------------------------------------------

package() { # MANAGER ITEM
    case $1:$2 in
    apt-get:cc) echo gcc ;;
    apt-get:libc) echo libc6-dev ;;
    apt-get:jansson) echo libjansson-dev ;;
    apt-get:libutf8proc) echo libutf8proc-dev ;;
    apt-get:libxxhash) echo libxxhash-dev ;;
    apt-get:opencc) echo libopencc-dev ;;
    apt-get:opencc-data) echo libopencc-data ;;
    apt-get:openblas) echo libopenblas-openmp-dev ;;
    apt-get:cmocka) echo libcmocka-dev ;;
    apt-get:omp) echo libomp-dev ;;
    apt-get:mpi.h) echo libopenmpi-dev ;;
    apt-get:mpicc | apt-get:mpirun) echo openmpi-bin ;;
    dnf:cc) echo gcc ;;
    dnf:libc) echo glibc-devel ;;
    dnf:pkg-config) echo pkgconf-pkg-config ;;
    dnf:jansson) echo jansson-devel ;;
    dnf:libutf8proc) echo utf8proc-devel ;;
    dnf:libxxhash) echo xxhash-devel ;;
    dnf:opencc) echo opencc-devel ;;
    dnf:opencc-data) echo opencc ;;
    dnf:openblas) echo openblas-devel ;;
    dnf:cmocka) echo libcmocka-devel ;;
    dnf:clang-format | dnf:clang-tidy) echo clang-tools-extra ;;
    dnf:shellcheck) echo ShellCheck ;;
    dnf:omp) echo libomp-devel ;;
    dnf:mpi.h | dnf:mpicc) echo openmpi-devel ;;
    dnf:mpirun) echo openmpi ;;
    pacman:cc) echo gcc ;;
    pacman:libc) echo glibc ;;
    pacman:pkg-config) echo pkgconf ;;
    pacman:libutf8proc) echo libutf8proc ;;
    pacman:libxxhash) echo xxhash ;;
    pacman:opencc-data) echo opencc ;;
    pacman:clang-format | pacman:clang-tidy) echo clang ;;
    pacman:omp) echo openmp ;;
    pacman:mpi.h | pacman:mpicc | pacman:mpirun) echo openmpi ;;
    brew:cc | brew:libc) echo gcc ;;
    brew:pkg-config) echo pkgconf ;;
    brew:libutf8proc) echo utf8proc ;;
    brew:libxxhash) echo xxhash ;;
    brew:opencc-data) echo opencc ;;
    brew:clang-tidy | brew:clang) echo llvm ;;
    brew:omp) echo libomp ;;
    brew:mpi.h | brew:mpicc | brew:mpirun) echo open-mpi ;;
    brew:npm) echo node ;;
    *:certificates) echo ca-certificates ;;
    *) echo "$2" ;;
    esac
}

install_command() { # MANAGER
    case $1 in
    apt-get) echo "apt-get install -y --no-install-recommends" ;;
    dnf) echo "dnf install -y" ;;
    pacman) echo "pacman -S --needed --noconfirm" ;;
    brew) echo "brew install" ;;
    esac
}

# --- install ------------------------------------------------------------------------

# Runs as root: directly, or through sudo. Homebrew refuses root.
as_root() {
    if [ "$manager" = brew ] || [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# apt-get knows only the packages it last read the lists of; they are read again when a
# package is unknown, or when one it knows is no longer to be had.
install_apt() {
    export DEBIAN_FRONTEND=noninteractive
    set -- env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
        -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$@"
    if ! as_root "$@" </dev/null >"$log" 2>&1; then
        echo "deps: reading the package lists" >&2
        as_root apt-get -qq update </dev/null >"$log" 2>&1 &&
            as_root "$@" </dev/null >"$log" 2>&1
    fi
}

check_only=0
if [ "${1:-}" = --check ]; then
    check_only=1
    shift
fi
[ $# -gt 0 ] || fail "expected groups: build, test, corpus, lint, clang, mpi"

missing=
for group in "$@"; do
    items=$(group_items "$group") || fail "unknown group '$group': expected build, test, corpus, lint, clang, mpi"
    for item in $items; do
        has_item "$item" || missing="$missing $item"
    done
done
[ -n "$missing" ] || exit 0

if [ $check_only -eq 1 ]; then
    fail "missing:$missing. Run scripts/deps.sh $*"
fi

manager=$(manager)
[ "$manager" != none ] ||
    fail "missing:$missing. No known package manager here (apt, dnf, pacman, brew): please install them"
packages=
for item in $missing; do
    name=$(package "$manager" "$item")
    case " $packages " in
    *" $name "*) ;;
    *) packages="$packages $name" ;;
    esac
done
packages=${packages# }
command="$(install_command "$manager") $packages"

root=
[ "$manager" = brew ] || [ "$(id -u)" -eq 0 ] || root="sudo "
if [ "${NO_INSTALL:-0}" != 0 ]; then
    fail "missing:$missing. Install with: $root$command"
fi
[ -z "$root" ] || has sudo ||
    fail "missing:$missing. As root, run: $command"

echo "deps: installing $packages" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM
if [ "$manager" = apt-get ]; then
    # shellcheck disable=SC2086 # a list of words
    install_apt $packages && done=1 || done=0
else
    # shellcheck disable=SC2086
    as_root $command </dev/null >"$log" 2>&1 && done=1 || done=0
fi
if [ "$done" -eq 0 ]; then
    tail -n 12 "$log" >&2
    fail "could not install $packages ($root$command failed)"
fi
still=
for item in $missing; do
    has_item "$item" || still="$still $item"
done
[ -z "$still" ] || fail "installed $packages, but still missing:$still"

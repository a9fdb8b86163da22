"""The folders of the project, and the two things that the scripts in dev/lib do for it: building and installing."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build/release/lib/libarenite.so"
PROGRAMS = ROOT / "build/bench/bench"


class Failure(Exception):
    """Ends the command with its text and no traceback."""


def _call(script, *arguments, failure):
    sources = 'unset LD_PRELOAD; source "$0/dev/lib/packages.sh"; source "$0/dev/lib/build.sh"; '
    command = ["bash", "-c", sources + script, str(ROOT), *arguments]
    if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        raise Failure(failure)


def need(probe, package):
    """Installs the package where the probe, a command or a pattern of a file, is missing."""
    _call('need "$@"', probe, package, failure=f"{package} is missing and could not be installed")


def build(preset, target):
    script = 'need_compiler "$1" && build "$0" "$1" "$2"'
    _call(script, preset, target, failure=f"{target} could not be built (preset {preset})")


def output_of(*command):
    """What a command prints, or nothing where it fails."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""

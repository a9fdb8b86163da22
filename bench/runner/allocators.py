"""Which allocators there are, where their libraries are, and the proof that a program really runs on them."""

import dataclasses
import glob
import os
import pathlib
import shutil

from . import measure, project


@dataclasses.dataclass
class Allocator:
    name: str
    library: str = ""  # a path or a pattern of one; empty: the system's malloc
    package: str = ""  # of Debian, that brings the library
    variables: dict = dataclasses.field(default_factory=dict)
    version: str = ""


def _system_library(name):
    return f"/usr/lib/*-linux-gnu/{name}"


def known():
    return [
        Allocator("glibc", package="libc6"),
        Allocator("arenite", str(project.LIBRARY)),
        Allocator("jemalloc", _system_library("libjemalloc.so.2"), "libjemalloc2"),
        Allocator("mimalloc", _system_library("libmimalloc.so.2.0"), "libmimalloc2.0"),
        Allocator("tcmalloc", _system_library("libtcmalloc_minimal.so.4"), "libtcmalloc-minimal4"),
    ]


def _by_name(allocators, name):
    for allocator in allocators:
        if allocator.name == name:
            return allocator
    names = ", ".join(allocator.name for allocator in allocators)
    raise project.Failure(f"no allocator is called {name}; there are {names}, and --allocator NAME=PATH adds one")


def _added(text, allocators):
    """NAME=PATH[,VARIABLE=VALUE]…, where the path may be the name of an allocator that there is."""
    name, _, rest = text.partition("=")
    path, *settings = rest.split(",")
    if not name or not path:
        raise project.Failure(f"--allocator {text}: should be NAME or NAME=PATH[,VARIABLE=VALUE]…")
    if any(allocator.name == name for allocator in allocators):
        raise project.Failure(f"--allocator {text}: there is an allocator called {name} already")
    for setting in settings:
        if "=" not in setting:
            raise project.Failure(f"--allocator {text}: {setting} should be VARIABLE=VALUE")
    variables = dict(setting.split("=", 1) for setting in settings)
    if "/" not in path:
        return dataclasses.replace(_by_name(allocators, path), name=name, variables=variables)
    if not pathlib.Path(path).is_file():
        raise project.Failure(f"--allocator {text}: there is no file {path}")
    return Allocator(name, os.path.abspath(path), variables=variables)


def chosen(texts):
    """All that are known, or those named by `texts`; and those that `texts` adds."""
    allocators = known()
    names = [text for text in texts if "=" not in text]
    for text in texts:
        if "=" in text:
            allocators.append(_added(text, allocators))
            names += [allocators[-1].name] if names else []
    if not names:
        return allocators
    return [_by_name(allocators, name) for name in dict.fromkeys(names)]


def _version(allocator):
    if allocator.library == str(project.LIBRARY):
        return project.output_of("git", "describe", "--always", "--dirty", "--abbrev=10")
    if allocator.package:
        return project.output_of("dpkg-query", "-W", "-f", "${Version}", allocator.package)
    return "unknown"


def _own_copy():
    """A build in the middle of the rounds must not change what is measured."""
    copy = project.PROGRAMS / "libarenite.so"
    fresh = copy.with_suffix(".new")
    shutil.copy(project.LIBRARY, fresh)
    fresh.replace(copy)
    return str(copy)


def prepare(allocator):
    """Builds or installs the library, and has a program say that its malloc comes from there."""
    allocator.version = _version(allocator)
    if allocator.library == str(project.LIBRARY):
        project.build("release", "arenite")
        allocator.library = _own_copy()
    elif allocator.library and allocator.package:
        project.need(allocator.library, allocator.package)
        allocator.library = sorted(glob.glob(allocator.library))[0]
        allocator.version = _version(allocator)
    if any(character in allocator.library for character in " :"):
        raise project.Failure(f"{allocator.library}: a path with a space or a colon cannot be preloaded")
    origin = measure.run_program("malloc_origin", [], allocator, 20)["library"]
    if allocator.library and os.path.realpath(origin) != os.path.realpath(allocator.library):
        raise project.Failure(f"{allocator.name}: malloc comes from {origin}, not from {allocator.library}")

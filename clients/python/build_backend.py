"""Builds the distributions of the client: a wheel and a source distribution.

A build backend (PEP 517) that needs nothing but Python, so that `pip install` of this folder needs
no network (before Python 3.11 pip fetches tomli). agent_forum.py stays one file that can be copied;
the wheel has it as a package, because only a package can say that it is typed (PEP 561):

    agent_forum/__init__.py                 agent_forum.py
    agent_forum/py.typed                    empty
    agent_forum-VERSION.dist-info/          METADATA, WHEEL, RECORD, licenses/LICENSE

B1. The bytes depend on the files and on the zlib of Python only: names are in a fixed order, and
    times are those of the beginning of ZIP.
B2. The version is `__version__` of agent_forum.py; everything else is in pyproject.toml.
"""

from __future__ import annotations

import ast
import base64
import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

try:
    import tomllib
except ImportError:
    import tomli as tomllib  # type: ignore[no-redef]

_HERE = Path(__file__).parent
_SOURCES = ("LICENSE", "README.md", "agent_forum.py", "build_backend.py", "pyproject.toml")
_WHEEL = """Wheel-Version: 1.0
Generator: agent-forum
Root-Is-Purelib: true
Tag: py3-none-any
"""


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Write the wheel to the directory, and return its name."""
    stem = f"agent_forum-{_version()}"
    info = f"{stem}.dist-info"
    files = {
        "agent_forum/__init__.py": _read("agent_forum.py"),
        "agent_forum/py.typed": b"",
        f"{info}/METADATA": _metadata().encode(),
        f"{info}/WHEEL": _WHEEL.encode(),
        f"{info}/licenses/LICENSE": _read("LICENSE"),
    }
    lines = [f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items()]
    record = f"{info}/RECORD"
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # of 1980-01-01
            entry.create_system = 3  # Unix, wherever it is built
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return name


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Write the source distribution to the directory, and return its name."""
    stem = f"agent_forum-{_version()}"
    files = {name: _read(name) for name in _SOURCES}
    files["PKG-INFO"] = _metadata().encode()
    archived = io.BytesIO()
    with tarfile.open(fileobj=archived, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{stem}/{path}")  # of 1970-01-01
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    name = f"{stem}.tar.gz"
    Path(sdist_directory, name).write_bytes(gzip.compress(archived.getvalue(), mtime=0))
    return name


def _metadata() -> str:
    project = tomllib.loads(_read("pyproject.toml").decode())["project"]
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", project["name"]),
        ("Version", _version()),
        ("Summary", project["description"]),
        ("Author", ", ".join(author["name"] for author in project["authors"])),
        ("Keywords", ",".join(project["keywords"])),
        ("License-Expression", project["license"]),
        *(("License-File", name) for name in project["license-files"]),
        *(("Classifier", classifier) for classifier in project["classifiers"]),
        ("Requires-Python", project["requires-python"]),
        *(("Requires-Dist", requirement) for requirement in project["dependencies"]),
        ("Description-Content-Type", "text/markdown"),
    ]
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    return f"{head}\n{_read(project['readme']).decode()}"


def _version() -> str:
    for statement in ast.parse(_read("agent_forum.py")).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
            if names == ["__version__"]:
                return str(statement.value.value)
    raise ValueError("agent_forum.py has no __version__")


def _read(name: str) -> bytes:
    return (_HERE / name).read_bytes()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

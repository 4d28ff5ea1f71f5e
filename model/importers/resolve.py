"""Resolve `--model`: a checkpoint, bundled or not, or a foreign model that is imported on first
use. What imports or downloads is imported when a model needs it."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from model.checkpoint.bundled import BUNDLED_NAMES, bundled_checkpoint
from model.files import reason_of
from model.importers.formats import config_of, eole_directory, unsupported_format
from model.importers.imported import SourceError, Wanted, find_archive, find_marian_models
from model.values import shown

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def resolve_checkpoint(source: Path) -> Path:
    """The checkpoint directory for `source`; a foreign model is imported into the cache once.

    A bundled checkpoint's name resolves to it, unless a file or directory has that name. A path
    that is not a foreign model is returned unchanged; the loader checks it. Raises SourceError.
    """
    try:
        is_here = source.exists()
    except OSError as error:
        raise SourceError(f"cannot read {shown(str(source))}: {reason_of(error)}") from error
    if not is_here:
        return _resolve_name(str(source))
    if is_foreign(source):
        return _cached(source, f"{source.stem}--{_fingerprint(source)}", {"source": source.name})
    return source


def _resolve_name(name: str) -> Path:
    if name in BUNDLED_NAMES:
        return bundled_checkpoint(name)
    if not is_hub_id(name):
        raise SourceError(
            f"there is no model {shown(name)}: it is no file or directory here, no bundled model "
            f"({', '.join(BUNDLED_NAMES)}) and no Hub id (owner/model)"
        )
    directory, commit = _download(name)
    origin = {"source": name, "revision": commit}
    return _cached(directory, "--".join([*Path(name).parts, commit]), origin)


def import_source(source: str, destination: Path, revision: str | None, wanted: Wanted) -> None:
    """Write a directory, fairseq archive or Hub model as the checkpoint `destination`.

    Raises SourceError and leaves no files then.
    """
    from model.importers.convert import import_model

    path = Path(source)
    if path.exists():
        if revision is not None:
            raise SourceError(f"{source} is on this machine, which has no revision {revision!r}")
        import_model(path, destination, {"source": path.name}, wanted)
    elif is_hub_id(source):
        directory, commit = _download(source, revision)
        origin = {"source": source, "revision": commit}
        import_model(directory, destination, origin, wanted)
    else:
        raise SourceError(
            f"{source} is neither a file or directory here nor a Hub id (owner/model)"
        )


def cache_directory() -> Path:
    """The directory of imported models, in the user's XDG cache directory."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dragoman"


def _cached(source: Path, key: str, origin: dict[str, str]) -> Path:
    destination = cache_directory() / key
    if not destination.exists():
        from model.importers.convert import import_model

        try:
            import_model(source, destination, origin, Wanted())
        except SourceError:
            if not destination.exists():  # another process may have imported it
                raise
    return destination


def is_foreign(source: Path) -> bool:
    """Whether it is another family's or program's model and not a checkpoint, intact or not."""
    if eole_directory(source) or unsupported_format(source):
        return True
    if (source / "config.json").is_file():
        return "model_type" in config_of(source)
    return find_archive(source) is not None or bool(find_marian_models(source))


def _fingerprint(source: Path) -> str:
    """A key from the path, names, sizes and times of the files."""
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr((source.resolve(), stats)).encode()).hexdigest()[:16]


def is_hub_id(name: str) -> bool:
    """Whether the name has the form owner/model."""
    return _HUB_ID.fullmatch(name) is not None


def _download(hub_id: str, revision: str | None = None) -> tuple[Path, str]:
    from model.importers.hub import download

    return download(hub_id, revision)

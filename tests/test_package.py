"""What `pip install` brings, and that it works without a checkout."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from model.checkpoint.bundled import BUNDLED_NAMES, bundled_checkpoint
from model.importers.resolve import resolve_checkpoint

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a copy of the sources, on a machine without a C++ compiler."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("dragoman", "model", "service", "checkpoints"):
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("LICENSE", "README.md", "pyproject.toml", "setup.py"):
        shutil.copyfile(ROOT / name, source / name)
    build = "from setuptools.build_meta import build_wheel; import sys; build_wheel(sys.argv[1])"
    result = subprocess.run(
        [sys.executable, "-c", build, str(built)],
        cwd=source,
        capture_output=True,
        text=True,
        env={**os.environ, "CC": "false", "CXX": "false"},
    )
    assert result.returncode == 0, result.stderr
    (path,) = built.iterdir()
    return path


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in an environment that has the wheel and, through a .pth file, the packages that
    the tests run with, but no path to the sources."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, with_pip=False, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    ours = [path for path in _package_directories() if path != packages]
    (packages / "dependencies.py").write_text(
        f"import sys; sys.path += {[str(path) for path in ours]!r}\n", encoding="utf-8"
    )
    (packages / "dependencies.pth").write_text("import dependencies\n", encoding="utf-8")
    return environment / "bin" / "python"


def _package_directories() -> list[Path]:
    """Where the dependencies are: directories, so that .pth files inside them are not read."""
    found = {Path(path) for path in sys.path if path and Path(path).name == "site-packages"}
    return sorted({*found, Path(sysconfig.get_path("purelib"))})


def run(
    command: Path, directory: Path, *arguments: str, text: str
) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return subprocess.run(
        [command, "-m", "dragoman", *arguments],
        cwd=directory,
        input=text,
        capture_output=True,
        text=True,
        env=environment,
    )


def test_the_wheel_has_every_module_and_the_files_of_the_pages_and_the_bundled_models(
    wheel: Path,
) -> None:
    packages = ("dragoman", "model", "service")
    modules = [path for name in packages for path in (ROOT / name).rglob("*.py")]
    expected = {path.relative_to(ROOT).as_posix() for path in modules}
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if name.endswith(".py")}
        assert found == {*expected, "dragoman_checkpoints/__init__.py"}
        assert {f"{name}/py.typed" for name in packages} <= {*archive.namelist()}
        for name in ("web", "api_reference"):
            for file in (ROOT / "service" / name).rglob("*.*"):
                assert archive.read(file.relative_to(ROOT).as_posix()) == file.read_bytes()
        for name in BUNDLED_NAMES:
            for part in ("config.json", "model.safetensors", "sentencepiece.model", "SHA256SUMS"):
                own = (ROOT / "checkpoints" / name / part).read_bytes()
                assert archive.read(f"dragoman_checkpoints/{name}/{part}") == own


def test_pytorch_comes_only_with_the_extras_that_need_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        described = email.message_from_bytes(archive.read(path))
    required = described.get_all("Requires-Dist", [])
    assert [line for line in required if line.startswith("torch")] == [
        'torch==2.13.0; extra == "torch"'
    ]
    assert 'dragoman[torch]; extra == "train"' in required


def test_the_bundled_models_translate_from_any_directory_where_the_wheel_is_installed(
    command: Path, tmp_path: Path
) -> None:
    """Also where there are directories of the same names, which are no checkpoints, and modules."""
    for name in ("model", "service"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    for name in BUNDLED_NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    options = ["--from", "zh", "--to", "en", "--device", "cpu"]
    result = run(command, tmp_path, "translate", *options, text="图书馆在哪里？\n")
    assert result.returncode == 0, result.stderr
    assert "library" in result.stdout
    where = run(command, tmp_path, "translate", *options, "--model", "nowhere", text="")
    assert where.returncode == 2
    assert str(ROOT) not in where.stderr


def test_a_bundled_model_is_found_by_its_name_unless_something_here_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_checkpoint(Path("zh-en")) == bundled_checkpoint("zh-en")
    assert (bundled_checkpoint("zh-en") / "config.json").is_file()
    (tmp_path / "zh-en").mkdir()
    assert resolve_checkpoint(Path("zh-en")) == Path("zh-en")


@pytest.mark.parametrize(
    "given", [{}, {"PORT": "0"}, {"MODEL": "zh-en", "HOST": "::", "PORT": "1"}]
)
def test_make_serves_as_the_settings_say(given: dict[str, str]) -> None:
    """A flag outranks variables, files and the directory of models: make adds what it is given."""
    asked = ["make", "--dry-run", "serve", *(f"{name}={value}" for name, value in given.items())]
    path = {"PATH": os.environ["PATH"]}
    told = subprocess.run(asked, cwd=ROOT, env=path, capture_output=True, text=True, check=True)
    flags = [word for name, value in given.items() for word in (f"--{name.lower()}", value)]
    assert told.stdout.splitlines()[-1].split() == [".venv/bin/dragoman", "serve", *flags]

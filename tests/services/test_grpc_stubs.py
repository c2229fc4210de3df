"""The committed stubs match their sources."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_committed_stubs_equal_freshly_generated_ones(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("generate_proto", ROOT / "scripts" / "generate_proto.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.generate(tmp_path)
    committed = files_below(ROOT / "src" / "shunter" / "proto")
    assert committed == files_below(tmp_path / "shunter" / "proto")
    assert any(name.endswith("_pb2_grpc.py") for name in committed)


def files_below(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*.py*") if path.suffix in (".py", ".pyi"))
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in paths}

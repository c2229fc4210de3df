"""Every format is read from a small made-up sample; a bad line is named by its number."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from shunter.lab.readers import lines
from shunter.lab.readers.detect import read_trace
from shunter.lab.readers.lines import TraceError
from shunter.lab.readers.swf import write_swf
from shunter.lab.trace import COLUMNS, Trace

SWF = """\
; Version: 2.2
; MaxProcs: 100
;
    1    100   -1   60    4 -1 -1    4  120  -1  1  7  1 -1  3 -1 -1 -1

    2    130    5   30    2 -1 -1   -1   -1 512  0 -1  1 -1 -1 -1 -1 -1
"""
OPENB = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-0,12000,16384,1,460,,LS,Running,0,500,10
pod-1,6000,1024,2,1000,T4,BE,Pending,40,,
"""
PAI = """\
a1,worker,2.0,Terminated,100.0,160.0,600.0,29.5,50.0,V100
a2,ps,,Failed,120.0,,400.0,,,
"""
PHILLY = """\
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-10-09 07:00:55,2951.0,8,23608.0,6214e9

"""
GOOGLE_JSON = """\
{"time":"1000000","type":"0","collection_id":"9","instance_index":"0","priority":"200","resource_request":{"cpus":0.5,"memory":0.25}}
{"time":"3000000","type":"3","collection_id":"9","instance_index":"0","priority":"200","resource_request":{"cpus":0.5,"memory":0.25}}
{"time":"9000000","type":"6","collection_id":"9","instance_index":"0","priority":"200"}
{"time":"2000000","type":"0","collection_id":"9","instance_index":"1","priority":"200"}
{"time":"9223372036854775807","type":"6","collection_id":"9","instance_index":"1"}
"""
GOOGLE_CSV = """\
time,type,collection_id,instance_index,priority,cpus,memory
1000000,0,9,0,200,0.5,0.25
3000000,3,9,0,200,0.5,0.25
9000000,6,9,0,200,,
2000000,0,9,1,200,,
"""


def read(folder: Path, text: str, name: str = "trace.txt") -> Trace:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if name.endswith(".gz") else text.encode())
    return read_trace(path)


def columns(trace: Trace) -> dict[str, list[float]]:
    return {name: getattr(trace, name).tolist() for name in COLUMNS}


@pytest.mark.parametrize("name", ["kth.swf", "kth.swf.gz"])
def test_swf(name: str, tmp_path: Path) -> None:
    trace = read(tmp_path, SWF, name)
    assert columns(trace) == {
        "number": [1, 2],
        "submit_s": [0, 30],
        "run_s": [60, 30],
        "estimate_s": [120, -1],
        "tasks": [4, 2],
        "cpu_milli": [4000, 2000],
        "memory_bytes": [0, 2 * 512 * 1024],
        "gpu_milli": [0, 0],
    }
    assert (trace.user, trace.queue, trace.origin_s) == (["7", ""], ["queue-3", ""], 100)
    assert (trace.source, trace.facts["MaxProcs"]) == (name, "100")
    assert trace.sha256 == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()


def test_swf_is_written_so_that_it_is_read_back_equal(tmp_path: Path) -> None:
    trace = read(tmp_path, SWF)
    again = read(tmp_path, "\n".join(write_swf(trace, trace.run_s)))
    assert columns(again) == columns(trace)
    assert (again.user, again.queue, again.facts) == (trace.user, trace.queue, trace.facts)


def test_alibaba_openb(tmp_path: Path) -> None:
    trace = read(tmp_path, OPENB, "pods.csv")
    assert trace.run_s.tolist() == [490, -1]
    assert trace.gpu_milli.tolist() == [460, 2000]
    assert trace.memory_bytes.tolist() == [16 * 2**30, 2**30]
    assert trace.queue == ["LS", "BE"]


def test_an_archive_is_read_without_being_unpacked(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "openb.tar.gz", "w:gz") as archive:
        for name, text in (("openb_node_list.csv", "sn,cpu_milli\nn,1\n"), ("openb_pod_list.csv", OPENB)):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    assert read_trace(tmp_path / "openb.tar.gz").run_s.tolist() == [490, -1]


def test_alibaba_pai(tmp_path: Path) -> None:
    trace = read(tmp_path, PAI, "pai_task_table.csv")
    assert trace.tasks.tolist() == [2, 1]
    assert trace.run_s.tolist() == [60, -1]
    assert trace.cpu_milli.tolist() == [12_000, 4000]
    assert trace.gpu_milli.tolist() == [1000, 0]
    assert trace.memory_bytes.tolist() == [59 * 2**30, 0]


def test_philly_is_sorted_by_submission(tmp_path: Path) -> None:
    trace = read(tmp_path, PHILLY, "philly.csv")
    assert trace.submit_s.tolist() == [0, 60]
    assert trace.number.tolist() == [2, 1]
    assert trace.gpu_milli.tolist() == [8000, 1000]
    assert trace.queue == ["6214e9", "11cb48"]


@pytest.mark.parametrize("text", [GOOGLE_JSON, GOOGLE_CSV])
def test_google(text: str, tmp_path: Path) -> None:
    trace = read(tmp_path, text)
    assert trace.submit_s.tolist() == [0, 1]
    assert trace.run_s.tolist() == [6, -1]
    assert trace.cpu_milli.tolist() == [500_000, 0]
    assert (trace.user, trace.queue) == (["9", "9"], ["200", "200"])


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        (SWF.replace("130", "soon"), 6, "'soon' is not a number"),
        (SWF.replace("130", "nan"), 6, "'nan' is not a number"),
        (SWF + "3 1 2\n", 7, "has 3 fields instead of 18"),
        (OPENB.replace("16384", "much"), 2, "'much' is not a number"),
        (OPENB + "pod-2,1\n", 4, "has 2 fields instead of 11"),
        (PAI.replace("600.0", "x"), 1, "'x' is not a number"),
        (PHILLY.replace("2017-10-09 07:00:55", "yesterday"), 3, "'yesterday' is not a time"),
        (GOOGLE_JSON + "{\n", 6, "is not a JSON object"),
        (GOOGLE_CSV.replace("3000000", "-3"), 3, "'-3' is not a time"),
        ("hello\n", 1, "is in no known format"),
    ],
)
def test_a_bad_line_is_named_by_its_number(text: str, line: int, fault: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=fault) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    assert f"line {line}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("none", None, "does not exist"),
        ("empty", b"", "is empty"),
        ("cut.gz", gzip.compress(SWF.encode(), mtime=0)[:40], "is not a complete archive"),
        ("binary", b"\xff\xfe\x00", "is not text in UTF-8"),
        ("header", b"; Version: 2.2\n", "has no jobs"),
        ("long", b"1" * (lines.LINE_BYTES_MAX + 1), "is longer than"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(name: str, content: bytes | None, fault: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TraceError, match=fault):
        read_trace(tmp_path / name)


def test_text_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small archive may unpack to any size."""
    monkeypatch.setattr(lines, "TEXT_BYTES_MAX", 100)
    with pytest.raises(TraceError, match="more than 100 bytes of text"):
        read(tmp_path, SWF, "bomb.gz")
    monkeypatch.setattr(lines, "FILE_BYTES_MAX", 10)
    with pytest.raises(TraceError, match="is larger than 10 bytes"):
        read(tmp_path, SWF, "bomb.gz")

"""`make security`: every corpus in full and the audit of dependencies, as one table. It fails when
anything failed."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import date
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from tests.security import dependencies
from tests.security.tally import Line, ordered

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "security.md"
BEGIN, END = "<!-- results -->", "<!-- /results -->"
DEPENDENCIES = "dependencies"


class Report(msgspec.Struct):
    """What was probed, what failed, and what could not be looked at."""

    lines: list[Line]
    packages: list[dependencies.Package]
    pytest_code: int

    @property
    def failures(self) -> int:
        return sum(line.failures for line in self.lines)

    @property
    def is_good(self) -> bool:
        return (
            self.failures == 0 and self.pytest_code == 0 and any(line.probes for line in self.lines)
        )


def probed(workers: str, *, full: bool, quiet: bool) -> tuple[list[Line], int]:
    """Run the corpora. A run that ended before it could report has no lines, and its
    code says so."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "report.json"
        environment = {
            **os.environ,
            "LAMINA_SECURITY_REPORT": str(kept),
            "LAMINA_FAULTS": "full" if full else "",
        }
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            workers,
            "--dist",
            "worksteal",
            str(HERE),
        ]
        code = subprocess.run(
            command, env=environment, stdout=sys.stderr if quiet else None, check=False
        ).returncode
        return (
            msgspec.json.decode(kept.read_bytes(), type=list[Line]) if kept.exists() else []
        ), code


def audited() -> tuple[Line, list[dependencies.Package]]:
    """The dependencies: each known weakness is a failure, and what could not be audited is missing,
    not passed."""
    began = time.monotonic()
    packages = dependencies.audited(dependencies.installed())
    missing = sum(bool(one.not_audited) for one in packages)
    found = sum(len(one.weaknesses) for one in packages)
    took = time.monotonic() - began
    return Line(DEPENDENCIES, 1, len(packages) - missing, found, missing, round(took, 1)), packages


def table(report: Report) -> Table:
    made = Table("corpus", title="Security", title_justify="left")
    for name in ("probes", "leaks, failures", "missing", "seconds"):
        made.add_column(name, justify="right")
    for line in report.lines:
        style = "red" if line.failures else "yellow" if line.skipped else None
        numbers = (
            f"{line.probes:,}",
            f"{line.failures:,}",
            f"{line.skipped:,}",
            f"{line.seconds:,.0f}",
        )
        made.add_row(line.corpus, *numbers, style=style)
    made.add_section()
    whole = (
        sum(line.probes for line in report.lines),
        report.failures,
        sum(line.skipped for line in report.lines),
    )
    made.add_row(
        "all",
        *(f"{one:,}" for one in whole),
        f"{sum(line.seconds for line in report.lines):,.0f}",
        style="bold",
    )
    return made


def shown(report: Report, console: Console) -> None:
    """The table, and in words what it cannot say."""
    console.print(table(report))
    reasons = Counter(one.not_audited for one in report.packages if one.not_audited)
    if len(reasons) == 1 and reasons.total() == len(report.packages):
        console.print(
            f"not audited: any dependency: {next(iter(reasons))}", soft_wrap=True, highlight=False
        )
    else:
        for one in report.packages:
            if one.not_audited:
                console.print(
                    f"not audited: {one.name} {one.version}: {one.not_audited}",
                    soft_wrap=True,
                    highlight=False,
                )
    for one in report.packages:
        if one.weaknesses:
            console.print(
                f"{one.name} {one.version} ({one.extra}): {', '.join(one.weaknesses)}",
                style="red",
                soft_wrap=True,
            )
        for name in one.accepted:
            reason = dependencies.ACCEPTED[one.name, name]
            console.print(
                f"known: {one.name} {one.version} ({one.extra}): {name}: {reason}",
                soft_wrap=True,
                highlight=False,
            )
    extras = Counter(one.extra for one in report.packages)
    console.print(
        f"runtime dependencies: {', '.join(f'{number} {extra}' for extra, number in extras.items())}",
        soft_wrap=True,
    )
    console.print(
        "no failure" if report.is_good else "FAILED",
        style="bold green" if report.is_good else "bold red",
    )


def written(report: Report, page: Path = PAGE) -> None:
    """Put the table into the page, with the day and the machine."""
    lines = ["| corpus | probes | leaks, failures | missing |", "|---|---:|---:|---:|"]
    lines += [
        f"| {one.corpus} | {one.probes:,} | {one.failures:,} | {one.skipped:,} |"
        for one in report.lines
    ]
    whole = (
        sum(one.probes for one in report.lines),
        report.failures,
        sum(one.skipped for one in report.lines),
    )
    lines.append(f"| **all** | **{whole[0]:,}** | **{whole[1]:,}** | **{whole[2]:,}** |")
    lines += ["", f"{date.today():%d %B %Y}, {machine()}.", ""]
    lines += [
        f"- Not audited: {one.name} {one.version}: {one.not_audited}."
        for one in report.packages
        if one.not_audited
    ]
    for one in report.packages:
        for name in (*one.weaknesses, *one.accepted):
            reason = dependencies.ACCEPTED.get((one.name, name), "not accepted")
            lines.append(f"- Known: {one.name} {one.version} ({one.extra}): {name}: {reason}.")
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    page.write_text(
        f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{rest.partition(END)[2]}", "utf-8"
    )


def machine() -> str:
    """Cores, memory and processor, and nothing else about where this ran."""
    memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    told = Path("/proc/cpuinfo")
    lines = told.read_text("utf-8").splitlines() if told.exists() else []
    processor = next(
        (line.partition(": ")[2] for line in lines if line.startswith("model name")),
        "an unknown processor",
    )
    return f"{os.cpu_count()} cores, {memory} GiB, {processor}"


def licences(packages: list[dependencies.Package], console: Console) -> None:
    for one in packages:
        console.print(
            f"{one.name} {one.version}  {one.extra}  {one.licence}", soft_wrap=True, highlight=False
        )


def main() -> int:
    reader = argparse.ArgumentParser(prog="python -m tests.security", description=__doc__)
    reader.add_argument("--json", action="store_true", help="the report as JSON on standard output")
    reader.add_argument(
        "--quick", action="store_true", help="few probes of each kind, as `make test` makes them"
    )
    reader.add_argument(
        "--workers", default="auto", help="how many processes; auto: one for each core"
    )
    reader.add_argument(
        "--licences",
        action="store_true",
        help="only list what Lamina runs on, and under which licences",
    )
    reader.add_argument("--write", action="store_true", help="put the table into docs/security.md")
    given = reader.parse_args()
    console = Console()
    if given.licences:
        licences(dependencies.installed(), console)
        return 0
    lines, code = probed(given.workers, full=not given.quick, quiet=given.json)
    audit, packages = audited()
    report = Report([*ordered(lines), audit], packages, code)
    if given.write:
        written(report)
    if given.json:
        told = {"is_good": report.is_good, **msgspec.to_builtins(report)}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(told)).decode() + "\n")
    else:
        shown(report, console)
    return 0 if report.is_good else 1


if __name__ == "__main__":
    sys.exit(main())

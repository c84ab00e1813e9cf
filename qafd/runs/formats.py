"""The table of formats in which a run is written as a file; see `qafd.export.formats`."""

from qafd.export.formats import ZIP, ExportFormat
from qafd.runs import Run
from qafd.runs.bundle import bundled
from qafd.runs.report import report

RUN_FORMATS: dict[str, ExportFormat[Run]] = {
    "report": ExportFormat(
        "Report", "Question, answer, nodes, reasons, passages and certificate as Markdown.",
        "text/markdown", "report.md", report),
    "bundle": ExportFormat(
        "Bundle", "All of it in one file that `qafd verify` checks and `qafd replay` asks again.",
        ZIP, "run.zip", bundled),
}

"""The check of an installation, a workspace, and a model endpoint: doctor."""

import argparse
import os
from dataclasses import asdict

from qafd.cli.answer import add_endpoint, endpoint_checks
from qafd.cli.common import DONE, FAILED, Commands, command, home, print_json
from qafd.reading.text.plaintext import one_line


def add(commands: Commands) -> None:
    """Add this group's command."""
    doctor = command(commands, "doctor", _doctor, "check this installation and a workspace")
    doctor.description = (
        "Check this installation (Python, packages, models, the folder of the workspaces, "
        "configuration) and the workspace of --db. Each line says ok, warn or fail, and what to "
        "do. Exits with 0 when nothing failed, else with 1.")
    doctor.add_argument("--quick", action="store_true", help="installation only")
    doctor.add_argument("--deep", action="store_true", help="recompute the graph from its log")
    doctor.add_argument("--endpoint", action="store_true",
                        help="also test the language model: its list, JSON, vectors, context")
    add_endpoint(doctor)
    doctor.add_argument("--embed-model", default=os.environ.get("QAFD_EMBED_MODEL"),
                        help="an embedding model (default: $QAFD_EMBED_MODEL)")


def _doctor(arguments: argparse.Namespace) -> int:
    from qafd.doctor import doctor
    from qafd.installation import Configuration, installation

    environment = os.environ
    checks = installation(home(), Configuration(
        environment.get("QAFD_PASSWORD"), environment.get("OPENAI_API_KEY", ""),
        environment.get("OPENAI_BASE_URL", ""), environment.get("STREAMLIT_SERVER_ADDRESS", "")))
    checks += doctor(None if arguments.quick else arguments.db, deep=arguments.deep)
    if arguments.endpoint:
        checks += endpoint_checks(arguments)
    if arguments.json:
        print_json([asdict(check) | {"state": check.state} for check in checks])
    else:
        for check in checks:
            print(f"{check.state:4} {check.name}: {one_line(check.sentence, 2000)}")
    return DONE if all(check.ok for check in checks) else FAILED

"""The check of an installation, a workspace, and a model endpoint."""

import os

from qafd.cli.command import Outcome
from qafd.cli.models import endpoint_named, key_for
from qafd.installation import Configuration, check_workspace, installation
from qafd.models.address import OPENAI
from qafd.reading.text.plaintext import one_line
from qafd.records import Check
from qafd.resources import home
from qafd.storage import Location


def doctor(db: Location | None, quick: bool, deep: bool, endpoint: bool, model: str | None,
           base_url: str | None, embed_model: str | None) -> Outcome:
    environment = os.environ
    checks = installation(home(), Configuration(
        environment.get("QAFD_PASSWORD"), environment.get("OPENAI_API_KEY", ""),
        environment.get("OPENAI_BASE_URL", "")))
    if db is not None and not quick:
        checks += check_workspace(db, deep=deep)
    if endpoint:
        checks += _probe(model, base_url, embed_model)
    found = [{"name": check.name, "ok": check.ok, "sentence": check.text,
              "warning": check.warning, "state": check.state} for check in checks]
    lines = [f"{one['state']:4} {one['name']}: {one_line(str(one['sentence']), 2000)}" for one in found]
    return Outcome(found, lines, failed=not all(check.ok for check in checks))


def _probe(model: str | None, base_url: str | None, embed_model: str | None) -> tuple[Check, ...]:
    """Test the abilities of the named endpoint."""
    from qafd.models.endpoint import probe
    from qafd.models.endpoint_embedder import EndpointEmbedder

    embedder = None
    if embed_model:
        embedder = EndpointEmbedder(embed_model, base_url or OPENAI, key_for(base_url))
    return probe(endpoint_named(model, base_url), embedder).checks

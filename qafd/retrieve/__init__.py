"""The retrieval methods; app, command line, tests and benchmarks iterate over METHODS."""

from qafd.retrieve.base import Retriever
from qafd.retrieve.qafd import FlowDiffusion

METHODS: dict[str, type[Retriever]] = {"qafd": FlowDiffusion}

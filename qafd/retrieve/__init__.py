"""The retrieval methods; app, command line, tests and benchmarks iterate over METHODS."""

from qafd.extensions import METHODS as EXTRA
from qafd.extensions import load_extensions
from qafd.retrieve.base import Retriever
from qafd.retrieve.by_score import DensePassages, FusedPassages, LexicalPassages
from qafd.retrieve.community import CommunityReports
from qafd.retrieve.ego import EgoNet
from qafd.retrieve.exact import ExactMatches
from qafd.retrieve.flow_and import AllConditions
from qafd.retrieve.flow_path import FlowPaths
from qafd.retrieve.linear import TriGraph
from qafd.retrieve.multihop import MultiHop
from qafd.retrieve.pagerank import PageRank
from qafd.retrieve.path import RelationalPaths
from qafd.retrieve.qafd import FlowDiffusion
from qafd.retrieve.tree import CollapsedTree

METHODS: dict[str, type[Retriever]] = {
    "qafd": FlowDiffusion,
    "community": CommunityReports,
    "ego": EgoNet,
    "flow_path": FlowPaths,
    "pagerank": PageRank,
    "linear": TriGraph,
    "path": RelationalPaths,
    "tree": CollapsedTree,
    "vector": DensePassages,
    "lexical": LexicalPassages,
    "fusion": FusedPassages,
    "exact": ExactMatches,
    "flow_and": AllConditions,
    "multihop": MultiHop,
}
METHODS |= load_extensions(EXTRA, METHODS)

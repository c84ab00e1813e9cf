"""The words of relations: what rules read of a sentence is what it says."""

from labelled_relations import labels, read_relations
from local_models import extractor


def test_most_relations_that_are_read_are_right():
    known, found = labels(), read_relations(extractor())
    judged = [known[one] for one in found if one in known]
    assert len(judged) >= 0.95 * len(found), "label what is read anew"
    assert len(judged) >= 150
    assert sum(judged) / len(judged) >= 0.85

"""Records that are made when they are looked at are a tuple in all else."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qafd.retrieve.base import Deferred, column


def deferred(values):
    return Deferred(len(values), lambda places: [str(values[at]) for at in places.tolist()],
                    {"value": values})


@given(st.lists(st.integers()), st.integers(-6, 6), st.integers(-6, 6), st.sampled_from([None, -2, -1, 1, 3]))
def test_a_sequence_of_deferred_records_is_like_the_tuple_of_them(values, start, stop, step):
    whole = tuple(map(str, values))
    for looked_at in (False, True):
        records = deferred(values)
        if looked_at:
            assert tuple(records) == whole
        assert len(records) == len(whole)
        assert records[start:stop:step] == whole[start:stop:step]
        assert records == whole
        assert whole == records
        assert pickle.loads(pickle.dumps(records)) == copy.deepcopy(records) == whole  # noqa: S301
        for at in range(-len(whole), len(whole)):
            assert records[at] == whole[at]
        with pytest.raises(IndexError):
            records[len(whole)]


def test_a_slice_makes_its_part_and_a_column_nothing():
    made = []

    def make(places):
        made.extend(places.tolist())
        return places.tolist()

    records = Deferred(1000, make, {"value": range(1000)})
    assert records[2:5] == (2, 3, 4)
    assert column(records, "value")[7] == 7
    assert made == [2, 3, 4]

"""The charts of the lab: which bar, mark and color stands where, for records made by hand."""

import pytest

from qafd.app import figures
from qafd.flow.guarantees import Model, PlantedTrial
from qafd.lab.planted import Experiment
from qafd.lab.robustness import Return
from qafd.lab.sweep import Cell

CELLS = [Cell(mass, seeds, "mean", size, 10 * size, 1.5, True) for mass, seeds, size in (
    (8.0, 40, 6), (4.0, 40, 9), (4.0, 1, 2), (8.0, 1, 1200))]
AXES = figures.SweepAxes("size", 2.0, 10.0, "Mass", "Seeds")


def test_a_sweep_has_its_numbers_at_their_cells_and_outlines_the_present_one():
    figure = figures.sweep_map(CELLS, AXES, CELLS[2])
    heat, marks = figure.data
    assert list(zip(heat.x, heat.y, heat.z, strict=True)) == [
        ("8", "40", 6), ("4", "40", 9), ("4", "1", 2), ("8", "1", 1200)]
    assert (heat.zmin, heat.zmax, figure.layout.title.text) == (2, 10, "mean")
    assert (list(figure.layout.xaxis.categoryarray), list(figure.layout.yaxis.categoryarray)) == (
        ["4", "8"], ["1", "40"])
    assert list(figure.layout.xaxis.range) == list(figure.layout.yaxis.range) == [-0.5, 1.5]
    assert list(marks.text) == ["6", "9", "2", "1,200"]
    assert list(marks.customdata) == [0, 1, 2, 3]
    assert list(marks.textfont.color) == ["#1a1a1a", "#ffffff", "#1a1a1a", "#ffffff"]  # above 6.8
    assert marks.hovertext[3] == "mass 8, 1 seeds: 1,200 nodes retrieved"
    outline, = figure.layout.shapes
    assert (outline.x0, outline.x1, outline.y0, outline.y1) == (-0.5, 0.5, -0.5, 0.5)
    assert not figures.sweep_map(CELLS, AXES, None).layout.shapes


@pytest.mark.parametrize(("now", "marked"), [(10.0, [10.0]), (10.1, [])])
def test_a_timeline_has_a_bar_from_the_mass_of_each_node_to_the_end(now, marked):
    entries = [("Ada", "entity", 2.0, True), ("<b>Bob</b>", "entity", 5.4, False), ("Cyd", "x", 5.5, False)]
    figure = figures.timeline_bars(entries, 10.0, "Mass", now)
    seeds, reached, names = figure.data
    assert (list(seeds.base), list(seeds.x), list(seeds.y)) == ([2.0], [8.0], [0])
    assert (list(reached.base), list(reached.y), seeds.name) == ([5.4, 5.5], [1, 2], "seed")
    assert list(reached.x) == pytest.approx([4.6, 4.5])
    assert list(seeds.hovertext) == ["Ada: full from 2"]
    assert list(names.text) == [" Ada ", " &lt;b&gt;Bob&lt;/b&gt; ", " Cyd "]
    assert (list(names.x), list(names.y)) == ([2.0, 5.4, 5.5], [0, 1, 2])
    assert list(names.textposition) == ["middle right", "middle right", "middle left"]
    assert [line.x0 for line in figure.layout.shapes] == marked
    assert (list(figure.layout.xaxis.range), list(figure.layout.yaxis.range)) == ([0, 10.1], [3, -1])
    assert (figure.layout.yaxis.visible, figure.layout.yaxis.autorange) == (False, False)
    assert figure.layout.height == 104 + 19 * 3


def test_nodes_that_return_are_parted_by_whether_they_are_there_without_noise():
    nodes = [Return("a", "Ada", "entity", 1.0, True), Return("b", "Bob", "entity", 0.25, False),
             Return("c", "Cyd", "entity", 0.1, True)]
    figure = figures.return_bars(nodes, 2)
    usual, noisy, names = figure.data
    assert (list(usual.x), list(usual.y), list(usual.hovertext)) == ([100], [0], ["Ada: 100% of the draws"])
    assert (list(noisy.x), list(noisy.y), noisy.name) == ([25], [1], "comes only with noise")
    assert (list(names.x), list(names.y), list(names.text)) == ([0, 0], [0, 1], [" Ada ", " Bob "])
    assert list(figure.layout.yaxis.range) == [2, -1]
    assert list(figure.layout.xaxis.tickvals) == [0, 20, 40, 60, 80, 100]


def experiment(*leakages, beta=0.2):
    trials = [PlantedTrial(1.0, 1.0, beta, True, each < 0.3, True, 0.5 + each, each, True, 2.0, each)
              for each in leakages]
    return Experiment(Model(), beta, True, tuple(trials))


@pytest.mark.parametrize(("leakages", "top"), [((0.1, 0.4), 46), ((0.1,), 23), ((), 23)])
def test_draws_stand_at_share_and_leakage_below_a_line_at_beta(leakages, top):
    figure = figures.recovery_points(experiment(*leakages))
    whole, pieces = figure.data
    assert (list(whole.x), list(whole.y)) == (([60], [10]) if leakages else ([], []))
    assert (list(pieces.x), list(pieces.y)) == (([90], [40]) if len(leakages) > 1 else ([], []))
    assert (whole.name, whole.marker.symbol) == ("R connected", "circle")
    bound, = figure.layout.shapes
    assert bound.y0 == bound.y1 == 20
    assert list(figure.layout.yaxis.range) == pytest.approx([0, top])


def test_weights_inside_and_across_are_drawn_by_the_number_of_their_draw():
    inside, across = figures.separation_points(experiment(0.1, 0.4)).data
    assert (list(inside.x), list(inside.y), inside.name) == ([1, 2], [2, 2], "smallest inside R")
    assert (list(across.y), across.marker.color) == ([0.1, 0.4], figures.RED)

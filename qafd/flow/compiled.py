"""The active-set solver of `qafd.flow.solver`, compiled by numba; import it through `qafd.flow.kernel`.

Same method and tolerances as the numpy version, written as loops over the entries so that a
query costs the memory it must read. Of the graph it reads the result of `Graph.expand` for the
nodes it counts as expansions, and the vectors and capacities of the nodes they touch. Functions
have fixed signatures: importing this module compiles them once (about 10 s) and later loads
them from numba's cache on disk.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,type-arg"
# mypy: disable-error-code="call-arg,call-overload"
# The types of compiled functions are in their decorators, for numba.

import numpy as np
from numba import njit, types

from qafd.arrays import ByteRows
from qafd.flow.certificate import MANY, FlawKind, flaw, net_inflow
from qafd.flow.kernel import CompiledSolution
from qafd.flow.weights import positive

# As in `qafd.flow.certificate` and `qafd.flow.solver`; numba's cache would miss a change of those files.
ROUNDING = 4e-15
WIDE = 1e12
COARSE = 1e-2
STEP = 1e-4
FEW = 1 / 8
LAST = 1e-3
SHARP = 1e-7
SHARPENED = 1500
PATIENCE = 12
# Iterations of one solve that only a long graph needs, for which numpy has better means.
LONG = 700
CONVERGED, ROUNDS, ROUNDED, TOUCHED, TOO_WIDE, TOO_LONG = 0, 1, 2, 3, 4, 5
TIMES, PLUS = 0, 1
TINY = 1e-30
CLIP, SHIFT, RBF, GIVEN, ONE = 0, 1, 2, 3, 4

_i64 = types.Array(types.int64, 1, "C")
_f64 = types.Array(types.float64, 1, "C")
_f64x2 = types.Array(types.float64, 2, "C")
_i32x2 = types.Array(types.int32, 2, "C")
_i64x2 = types.Array(types.int64, 2, "C")
_in32 = types.Array(types.int32, 1, "C", readonly=True)
_in64 = types.Array(types.int64, 1, "C", readonly=True)
_real = types.Array(types.float64, 1, "C", readonly=True)
_rows = types.Array(types.float32, 2, "C", readonly=True)
_row = types.Array(types.float32, 1, "C", readonly=True)
_bytes = types.Array(types.int8, 2, "C", readonly=True)
_fast = {"reassoc", "contract", "nsz", "arcp"}
# indptr, neighbors, similarity and sink capacity, of all rows.
_graph = types.Tuple((_in64, _in32, _real, _real))
# Alignment: kind, floor, gamma, vectors, or in their place numbers, lengths and places of `ByteRows`,
# query, given; weights: outer and inner operation, a, b, c.
_gates = types.Tuple((types.int64, types.float64, types.float64, _rows, _bytes, _row, _in32, _row, _real,
                      types.int64, types.int64, types.float64, types.float64, types.float64))
# mark, token, reals, whole, ends and weights of a `qafd.graph.Scratch`.
_space = types.Tuple((_i64, types.int64, _f64x2, _i64x2, _i32x2, _f64x2))


@njit
def place_of(places, row):
    """Return the place of a row in what several columns share; the row itself where none do."""
    return places[row] if len(places) else row


@njit(fastmath=_fast)
def dots(vectors, places, query, rows, first, last, out):
    """Return products of rows[first:last] and the query, four at a time."""
    i = first
    while i + 4 <= last:
        p, q = vectors[place_of(places, rows[i])], vectors[place_of(places, rows[i + 1])]
        r, s = vectors[place_of(places, rows[i + 2])], vectors[place_of(places, rows[i + 3])]
        at_p = at_q = at_r = at_s = np.float32(0.0)
        for k in range(len(query)):
            at_p += np.float32(p[k]) * query[k]
            at_q += np.float32(q[k]) * query[k]
            at_r += np.float32(r[k]) * query[k]
            at_s += np.float32(s[k]) * query[k]
        out[i], out[i + 1], out[i + 2], out[i + 3] = at_p, at_q, at_r, at_s
        i += 4
    while i < last:
        p = vectors[place_of(places, rows[i])]
        at_p = np.float32(0.0)
        for k in range(len(query)):
            at_p += np.float32(p[k]) * query[k]
        out[i] = at_p
        i += 1


@njit
def wider(a, size):
    """Copy the rows of `a` with room for `size` columns and as much again."""
    b = np.empty((a.shape[0], 2 * size), a.dtype)
    b[:, : a.shape[1]] = a
    return b


@njit
def align(gates, rows, first, last, s):
    """Return alignments s(v) of rows[first:last]."""
    kind, floor, gamma, vectors, numbers, lengths, places, query, given = gates[:9]
    if kind == ONE:
        s[first:last] = 1.0
    elif kind == GIVEN:
        for i in range(first, last):
            s[i] = given[rows[i]]
    else:
        if len(numbers):
            dots(numbers, places, query, rows, first, last, s)
            for i in range(first, last):
                s[i] /= lengths[places[rows[i]]]
        else:
            dots(vectors, places, query, rows, first, last, s)
        for i in range(first, last):
            if kind == CLIP:
                s[i] = max(s[i], floor)
            elif kind == SHIFT:
                s[i] = max((1.0 + s[i]) / 2.0, floor)
            else:
                s[i] = max(np.exp(-gamma * max(2.0 - 2.0 * s[i], 0.0)), TINY)


@njit(fastmath=_fast, error_model="numpy")
def pull(low, high, weight, count, p, q):
    """Compute q = A p, A the weights of `count` edges between low and high, each given once."""
    q[:] = 0.0
    for e in range(count):
        i, j, w = low[e], high[e], weight[e]
        q[i] += w * p[j]
        q[j] += w * p[i]


@njit(fastmath=_fast, error_model="numpy")
def conjugate_gradients(low, high, weight, count, k, inner, reals):
    """Solve for the k active nodes from the present x, in place, to `inner`.

    Returns the number of iterations, -1 when `inner` was not reached.
    Row 7 of `reals` is w_v, 8 the right-hand side, 9 T and 10 x; the next five are scratch memory.
    """
    total, b, sink, x = reals[7][:k], reals[8][:k], reals[9][:k], reals[10][:k]
    residual, p, q = reals[11][:k], reals[12][:k], reals[13][:k]
    inverse, allowed = reals[14][:k], reals[15][:k]
    for i in range(k):
        inverse[i] = 1.0 / total[i]
    iterations = 0
    for _ in range(4):
        pull(low, high, weight, count, x, q)
        rho = 0.0
        worst = 0.0
        for i in range(k):
            r = b[i] - total[i] * x[i] + q[i]
            tolerance = 0.5 * (inner * sink[i] + ROUNDING * (total[i] * abs(x[i]) + abs(q[i])))
            residual[i] = r
            allowed[i] = 2.0 / tolerance
            worst = max(worst, abs(r) / tolerance)
            p[i] = r * inverse[i]
            rho += r * p[i]
        if worst <= 1.0 and rho < np.inf:  # worst passes over NaN, the sum does not
            return iterations
        for _ in range(50 + k):
            iterations += 1
            pull(low, high, weight, count, p, q)
            below = 0.0
            for i in range(k):
                q[i] = total[i] * p[i] - q[i]
                below += p[i] * q[i]
            step = rho / below
            after = 0.0
            unsolved = 0
            for i in range(k):
                x[i] += step * p[i]
                r = residual[i] - step * q[i]
                residual[i] = r
                after += r * r * inverse[i]
                unsolved += not (abs(r) * allowed[i] <= 1.0)
            if unsolved == 0:
                break
            ratio = after / rho
            rho = after
            for i in range(k):
                p[i] = residual[i] * inverse[i] + ratio * p[i]
    return -1


@njit(types.Tuple((types.int64, types.int64, types.int64, types.int64, types.int64,
                   _f64x2, _i64x2, _i32x2, _f64x2))(
    _graph, _gates, _space, _in64, _real, types.float64, types.UniTuple(types.int64, 2)),
    nogil=True, cache=True, error_model="numpy")
def grow(graph, gates, space, seeds, delta, rtol, budget):
    """Grow the support as `qafd.flow.solver` does, for at most the rounds and touched nodes of a budget.

    Returns (status, rounds, expansions, touched, entries, reals, whole, ends, weights): the
    buffers it was given, or larger ones. The first rows of `reals` are x, Delta, T, s, w_v, m - T
    and the sum of the terms of m; of `whole`, graph row, place among the active nodes (-1:
    inactive), first entry (-1: not read) and degree. The first rows of `ends` are the far and the
    near end of every entry, the first of `weights` its weight; entries of a node are consecutive.
    All other rows are scratch memory.
    """
    indptr, neighbors, similarity, sink_of = graph
    outer, inner_op, a, b, c = gates[9:]
    mark, token, reals, whole, ends, weights = space
    most_rounds, most_touched = budget
    t = len(seeds)
    if t + 1 > reals.shape[1]:
        reals, whole = wider(reals, t + 1), wider(whole, t + 1)
    x, source, sink, s, total, over, through = (
        reals[0], reals[1], reals[2], reals[3], reals[4], reals[5], reals[6])
    rows, place, first, degree, late = whole[0], whole[1], whole[2], whole[3], whole[4]
    end, owner, weight = ends[0], ends[1], weights[0]
    late_count = 0
    for i in range(t):
        row = seeds[i]
        rows[i], x[i], source[i], sink[i], first[i] = row, 0.0, delta[i], sink_of[row], -1
        mark[row] = token | i
        over[i] = source[i] - sink[i]
        place[i] = -1
        if over[i] > 0.0:
            place[i] = 0
            late[late_count] = i
            late_count += 1
    align(gates, rows, 0, t, s)
    entries = 0
    narrowest, widest = np.inf, 0.0
    inner = max(COARSE, rtol)
    expansions, rounds = 0, 0
    status, residual = ROUNDS, np.inf
    k, joined, near_count, restart = 0, 0, 0, False
    while rounds < most_rounds:
        rounds += 1
        # Read and push, once, the late nodes not read yet; whoever this makes late is next in line.
        head = 0
        while head < late_count and t <= most_touched:
            level = late_count
            before, more = t, 0
            for j in range(head, level):
                i = late[j]
                if first[i] >= 0:
                    restart = True
                else:
                    start = indptr[rows[i]]
                    degree[i] = indptr[rows[i] + 1] - start
                    more += degree[i]
            if entries + more + 1 > len(end):
                ends, weights = wider(ends, entries + more + 1), wider(weights, entries + more + 1)
                end, owner, weight = ends[0], ends[1], weights[0]
            if t + more + 1 > reals.shape[1]:
                reals, whole = wider(reals, t + more + 1), wider(whole, t + more + 1)
                x, source, sink, s, total, over, through = (
                    reals[0], reals[1], reals[2], reals[3], reals[4], reals[5], reals[6])
                rows, place, first, degree, late = whole[0], whole[1], whole[2], whole[3], whole[4]
            opened = entries
            for j in range(head, level):
                i = late[j]
                if first[i] < 0:
                    expansions += 1
                    first[i] = entries
                    total[i] = -1.0
                    start = indptr[rows[i]]
                    for e in range(start, start + degree[i]):
                        end[entries], owner[entries] = neighbors[e], i
                        weight[entries] = similarity[e]
                        entries += 1
            for e in range(opened, entries):
                row = end[e]  # without a branch: which it takes could only be guessed
                known = mark[row]
                fresh = known < token
                known = token | t if fresh else known
                mark[row] = known
                rows[t] = row
                t += fresh
                end[e] = known - token
            for j in range(before, t):
                sink[j] = sink_of[rows[j]]
                over[j] = -sink[j]
                x[j], source[j], first[j], place[j] = 0.0, 0.0, -1, -1
            align(gates, rows, before, t, s)
            for j in range(head, level):
                i = late[j]
                if total[i] < 0.0:
                    added = 0.0
                    for e in range(first[i], first[i] + degree[i]):
                        both = s[i] * s[end[e]] if inner_op == TIMES else s[i] + s[end[e]]
                        gate = a + b * both
                        w = c * weight[e] * gate if outer == TIMES else c * weight[e] + gate
                        weight[e] = w
                        added += w
                        narrowest = min(narrowest, w)
                        widest = max(widest, w)
                    total[i] = added
                step = over[i] / total[i]
                x[i] += step
                over[i] = 0.0
                for e in range(first[i], first[i] + degree[i]):
                    o = end[e]
                    over[o] += weight[e] * step
                    if place[o] < 0 and over[o] > max(inner, rtol) * sink[o]:
                        place[o] = 0
                        late[late_count] = o
                        late_count += 1
            head = level
        if t > most_touched:
            status = TOUCHED
            break
        if widest > WIDE * narrowest:
            status = TOO_WIDE
            break
        # The active nodes and the edges between them, those of the rounds before kept.
        inside, kept = whole[5], reals[10]
        if restart:
            k, joined, near_count, late_count = 0, 0, 0, 0
            for i in range(t):
                if place[i] >= 0:
                    late[late_count] = i
                    late_count += 1
        for j in range(late_count):
            i = late[j]
            place[i], inside[k] = k, i
            reals[7, k], reals[8, k], reals[9, k], kept[k] = (
                total[i], source[i] - sink[i], sink[i], x[i])
            k += 1
        late_count = 0
        low, high, near = ends[2], ends[3], weights[1]
        for e in range(joined, entries):
            i, j = place[owner[e]], place[end[e]]
            low[near_count], high[near_count], near[near_count] = i, j, weight[e]
            near_count += (j >= 0) & (j < i)
        joined = entries
        iterations = conjugate_gradients(low, high, near, near_count, k, inner, reals)
        if iterations < 0:
            status = TOO_WIDE
            break
        if iterations > LONG and rounds > PATIENCE:
            status = TOO_LONG
            break
        dropped = False
        for j in range(k):
            i = inside[j]
            if kept[j] < 0:
                kept[j] = 0.0
                place[i] = -1
                dropped = True
            x[i] = kept[j]
        for i in range(t):
            over[i] = source[i] - sink[i]
        for e in range(entries):
            over[end[e]] += weight[e] * x[owner[e]]
        for i in range(t):
            through[i] = over[i] - source[i] + sink[i]
        for j in range(k):
            i = inside[j]
            sent = total[i] * x[i]
            over[i] -= sent
            through[i] += sent
        residual = 0.0
        for i in range(t):
            allowed = rtol * sink[i] + ROUNDING * through[i]
            excess = over[i]
            if place[i] >= 0:
                excess = abs(excess)
            elif excess > max(allowed, inner * sink[i]):
                place[i] = 0
                late[late_count] = i
                late_count += 1
            if excess > 0.0:
                residual = max(residual, excess / allowed)
        if dropped:  # too coarse: a node could be added and dropped for ever
            inner = max(0.1 * inner, rtol * LAST)
        restart = dropped
        if late_count or dropped:
            if not dropped and late_count < FEW * k:
                inner = max(inner * STEP, min(inner, rtol))
            continue
        if residual <= 1.0:
            blurred = False
            for j in range(k if k <= SHARPENED else 0):
                blurred |= ROUNDING * through[inside[j]] > SHARP * sink[inside[j]]
            if blurred:
                status = TOO_WIDE
                break
            trifle = False
            for i in range(t):
                if place[i] >= 0 and total[i] * x[i] <= ROUNDING * through[i]:
                    x[i] = 0.0
                    place[i] = -1
                    trifle = True
            restart = trifle
            if not trifle:
                status = CONVERGED
                break
        elif inner <= rtol * LAST:
            status = ROUNDED
            break
        inner = max(inner * STEP, rtol if inner > rtol else rtol * LAST)
    for i in range(t):  # a solve that ended early leaves late nodes unread
        if first[i] < 0:
            place[i] = -1
    return status, rounds, expansions, t, entries, reals, whole, ends, weights


@njit(types.Tuple((_i64, _i64, _f64, _f64, _f64))(
    types.int64, types.int64, _f64x2, _i64x2, _i32x2, _f64x2), nogil=True, cache=True)
def edges(t, entries, reals, whole, ends, weights):
    """Return edges with an active end, downhill in x: u, v, weight, flow; and the mass of every node."""
    x, end, owner, weight, place = reals[0], ends[0], ends[1], weights[0], whole[1]
    u = np.empty(entries, np.int64)
    v = np.empty(entries, np.int64)
    w = np.empty(entries)
    flow = np.empty(entries)
    count = 0
    for e in range(entries):
        i, j = owner[e], end[e]
        falls = x[i] >= x[j]
        u[count], v[count] = (i, j) if falls else (j, i)
        w[count], flow[count] = weight[e], weight[e] * abs(x[i] - x[j])
        count += (place[i] >= 0) & ((place[j] < 0) | (j > i))
    mass = reals[1, :t].copy()
    for e in range(count):
        mass[u[e]] -= flow[e]
        mass[v[e]] += flow[e]
    return u[:count].copy(), v[:count].copy(), w[:count].copy(), flow[:count].copy(), mass


_NO_VECTORS = np.empty((0, 0), np.float32)
_NO_BYTES = ByteRows(np.empty((0, 0), np.int8), np.empty(0, np.float32))
_NO_QUERY = np.empty(0, np.float32)
_NONE = np.empty(0)
_KINDS = {"clip": CLIP, "shift": SHIFT, "rbf": RBF}
_OPERATIONS = {"times": TIMES, "plus": PLUS}


def spread(graph, gates, workspace, sources, sink, rtol, budget):
    """Solve as `qafd.flow.solver.solve` does.

    None when the weights are too wide for this method, or the graph too long.
    """
    gates.check(graph)  # no loop below does
    w, h = gates.weights, gates.similarity
    vectors, kept, query, given = _NO_VECTORS, _NO_BYTES, _NO_QUERY, _NONE
    if gates.alignment is not None:
        kind, given = GIVEN, np.ascontiguousarray(gates.alignment, np.float64)
    elif gates.query is None:
        kind = ONE
    else:
        kind = _KINDS[h.kind]
        if isinstance(graph.vectors, ByteRows):
            kept = graph.vectors
        else:
            vectors = np.ascontiguousarray(graph.vectors, np.float32)
        query = np.ascontiguousarray(gates.query, np.float32)
    status, rounds_used, expansions, t, entries, reals, whole, ends, weights = grow(
        (graph.indptr, graph.neighbors, graph.similarity, sink),
        (kind, float(h.floor), float(h.gamma), vectors, kept.numbers, kept.lengths, kept.places, query,
         given, _OPERATIONS[w.outer], _OPERATIONS[w.inner], float(w.a), float(w.b), float(w.c)),
        (workspace.mark, workspace.token, workspace.reals, workspace.whole, workspace.ends,
         workspace.weights), sources.rows, sources.mass, rtol, (budget.rounds, budget.touched))
    workspace.reals, workspace.whole = reals, whole
    workspace.ends, workspace.weights = ends, weights
    if kind == GIVEN:
        positive(reals[3, :t])
    if status in (TOO_WIDE, TOO_LONG):
        return None
    u, v, edge_weight, flow, mass = edges(t, entries, reals, whole, ends, weights)
    x, source, capacity, alignment = (reals[i, :t].copy() for i in range(4))
    if whole[3, :t].max(initial=0, where=whole[2, :t] >= 0) > MANY:
        mass = source + net_inflow(u, v, flow, t)
    stopped = {CONVERGED: None, ROUNDS: flaw(FlawKind.ROUNDS, rounds=budget.rounds),
               ROUNDED: flaw(FlawKind.ROUNDING),
               TOUCHED: flaw(FlawKind.TOUCHED, nodes=budget.touched)}[status]
    return CompiledSolution((whole[0, :t].copy(), x, mass, capacity, source, alignment, u, v,
                             edge_weight, flow), rounds_used, expansions, stopped)

"""Slips of the keyboard between two words."""


def slips_between(one: str, other: str) -> int:
    """Count the slips of the keyboard between two words: a letter left out, put in or changed,
    or two neighbors exchanged (Damerau and Levenshtein's distance, no letter moved twice)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        above, before, row = before, row, [i + 1]
        for j, there in enumerate(other):
            row.append(min(before[j] + (letter != there), before[j + 1] + 1, row[j] + 1))
            if i and j and letter == other[j - 1] and one[i - 1] == there:
                row[-1] = min(row[-1], above[j - 1] + 1)
    return row[-1]

"""CSV files and workbooks asked as databases: types, totals, and true sums and counts."""

import io
from pathlib import Path

import openpyxl
import pytest

from qafd.errors import SqlError
from qafd.models.embedder import local_embedder
from qafd.sql.database import Database

SALES = """Region,Rep,Units,Amount,Code
North,Ann Lee,3,"1,200.50",007
North,Bo Ek,5,300.00,010
South,Ann Lee,2,,011
South,Cy Day,7,19.25,012
"""


def opened(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Database.open(path, local_embedder())


def workbook(**sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        page = book.create_sheet(title)
        for row in rows:
            page.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_counts_sums_and_means_of_a_table_are_true(tmp_path):
    sales = opened(tmp_path / "sales.csv", SALES)
    for question, expected in (("How many sales are there in South?", 2),
                               ("What is the sum of amount?", 1519.75),
                               ("What is the average amount in the region North?", 750.25)):
        assert sales.run(sales.ask(question).draft.sql).rows == ((expected,),)


def test_a_column_has_the_type_of_all_its_cells_and_codes_stay_text(tmp_path):
    sales = opened(tmp_path / "sales.csv", SALES)
    types = {column.name: column.type for column in sales.schema.columns}
    assert types == {"Region": "TEXT", "Rep": "TEXT", "Units": "INTEGER", "Amount": "REAL", "Code": "TEXT"}
    assert sales.run("SELECT Code, Amount FROM sales WHERE Units = 2").rows == (("011", None),)


@pytest.mark.parametrize(("cells", "kind", "total"), [
    (["1.234,50", "2,25"], "REAL", 1236.75), (["$1,000", "$20"], "INTEGER", 1020),
    (["-3", "+4"], "INTEGER", 1), (["1.234.567", "2.000"], "INTEGER", 1236567),
    (["12", "n/a"], "TEXT", 12)])
def test_numbers_are_read_as_people_write_them(tmp_path, cells, kind, total):
    lines = "".join(f"{cell};x\n" for cell in cells)
    table = opened(tmp_path / "t.csv", f"Amount;Name\n{lines}")
    assert table.schema.column["t.Amount"].type == kind
    assert table.run("SELECT SUM(Amount) FROM t").rows == ((total,),)


@pytest.mark.parametrize(("last", "left_out"), [
    ("Total,,17,1519.75,", True), ("Total,,17,1519.76,", False), ("East,Di Orr,17,1519.75,013", True)])
def test_a_last_row_with_the_sums_is_left_out_and_said(tmp_path, last, left_out):
    sales = opened(tmp_path / "sales.csv", f"{SALES}{last}\n")
    assert sales.run("SELECT COUNT(*) FROM sales").rows == ((5 - left_out,),)
    assert any("1 row of totals" in notice for notice in sales.schema.notices) == left_out


def test_each_sheet_is_a_table_that_others_join(tmp_path):
    book = workbook(Boats=[["Name", "Built"], ["Una", 1998], ["Gull", 2004]],
                    Crew=[["Boat", "Captain"], ["Una", "Per Lund"], ["Gull", "Ida Moe"]])
    boats = opened(tmp_path / "fleet.xlsx", book)
    joined = "SELECT Captain FROM Boats JOIN Crew ON Crew.Boat = Boats.Name WHERE Built > 2000"
    assert boats.run(joined).rows == (("Ida Moe",),)


def test_a_file_without_rows_or_of_another_kind_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(SqlError, match="no table with rows"):
        opened(tmp_path / "empty.csv", "Name,Age\n")


def test_the_copy_is_removed_with_the_database(tmp_path):
    sales = opened(tmp_path / "sales.csv", SALES)
    place = Path(sales.source)
    assert place.exists()
    del sales
    assert not place.parent.exists()

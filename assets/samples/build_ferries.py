"""Rebuild the sample database, an invented ferry company: `python assets/samples/build_ferries.py`.

Ten tables; half of the references are declared as foreign keys, the others only by their names.
"""

import sqlite3
import sys
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random

SCHEMA = """
CREATE TABLE ports (id INTEGER PRIMARY KEY, name TEXT, region TEXT, opened_year INTEGER);
CREATE TABLE ferries (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, passenger_capacity INTEGER,
    car_capacity INTEGER, built_year INTEGER, home_port_id INTEGER);
CREATE TABLE routes (id INTEGER PRIMARY KEY, name TEXT, distance_km REAL,
    from_port_id INTEGER REFERENCES ports, to_port_id INTEGER REFERENCES ports);
CREATE TABLE sailings (id INTEGER PRIMARY KEY, route_id INTEGER REFERENCES routes,
    ferry_id INTEGER REFERENCES ferries, departure TEXT, status TEXT, delay_minutes INTEGER,
    passengers INTEGER);
CREATE TABLE crew (id INTEGER PRIMARY KEY, name TEXT, position TEXT, hired_on TEXT,
    home_port_id INTEGER);
CREATE TABLE sailing_crew (sailing_id INTEGER REFERENCES sailings,
    crew_id INTEGER REFERENCES crew, PRIMARY KEY (sailing_id, crew_id));
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, town TEXT, email TEXT,
    member_since TEXT);
CREATE TABLE bookings (id INTEGER PRIMARY KEY, customer_id INTEGER,
    sailing_id INTEGER REFERENCES sailings, booked_on TEXT, seats INTEGER, price_eur REAL);
CREATE TABLE workshops (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
CREATE TABLE maintenance (id INTEGER PRIMARY KEY, ferry_id INTEGER, workshop_id INTEGER,
    started_on TEXT, work TEXT, cost_eur REAL);
"""
PORTS = [("Bergvik", "North"), ("Sandholm", "North"), ("Torsnes", "Islands"), ("Lyngør", "South"),
         ("Hvalsund", "Islands"), ("Granvik", "South")]
FERRIES = [("Skarven", "car ferry", 420, 110), ("Ternen", "car ferry", 350, 90),
           ("Havørn", "catamaran", 260, 0), ("Lunden", "catamaran", 240, 0),
           ("Alken", "car ferry", 500, 140), ("Teisten", "cable ferry", 80, 16),
           ("Krykkja", "night ferry", 640, 180)]
ROUTES = [(1, 2, 18.5), (1, 3, 42.0), (3, 5, 27.4), (4, 6, 12.2), (2, 4, 88.6), (5, 1, 63.9),
          (6, 3, 101.3)]
FIRST = ["Asta", "Birk", "Eira", "Frode", "Gry", "Halvor", "Ingrid", "Jonas", "Kaia", "Leif",
         "Mona", "Nils", "Oda", "Pål", "Runa", "Sigurd", "Tuva", "Ulrik", "Vilde", "Yngve"]
LAST = ["Aasen", "Brekke", "Dahl", "Eide", "Foss", "Haug", "Lunde", "Moen", "Solberg", "Vik"]
WORK = ["engine overhaul", "hull painting", "new radar", "propeller repair", "safety inspection"]


def build(path: Path) -> Path:
    """Write the database; the same bytes each time with one version of SQLite."""
    draw = Random(2024)
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)

    def fill(table: str, rows: list[tuple[object, ...]]) -> None:
        marks = ", ".join("?" * len(rows[0]))
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    people = [f"{first} {last}" for first in FIRST for last in LAST]
    draw.shuffle(people)
    fill("ports", [(i, *port, draw.randint(1888, 1995)) for i, port in enumerate(PORTS, 1)])
    fill("ferries", [(i, *ferry, draw.randint(1979, 2022), draw.randint(1, len(PORTS)))
                     for i, ferry in enumerate(FERRIES, 1)])
    fill("routes", [(i, f"{PORTS[a - 1][0]}–{PORTS[b - 1][0]}", km, a, b)
                    for i, (a, b, km) in enumerate(ROUTES, 1)])
    fill("crew", [(i, people.pop(), draw.choice(["captain", "mate", "engineer", "steward"]),
                   _day(draw, 2005, 2023), draw.randint(1, len(PORTS))) for i in range(1, 41)])
    sailings, begin = [], datetime(2023, 1, 2, 6)
    for i in range(1, 501):
        ferry = draw.choices(range(1, len(FERRIES) + 1), [9, 7, 5, 4, 8, 3, 2])[0]
        status = draw.choices(["on time", "delayed", "cancelled"], [80, 15, 5])[0]
        away = status == "cancelled"
        sailings.append((
            i, draw.randint(1, len(ROUTES)), ferry,
            (begin + timedelta(hours=35 * i)).isoformat(" ", "minutes"), status,
            draw.randint(5, 90) if status == "delayed" else 0,
            0 if away else draw.randint(10, FERRIES[ferry - 1][2])))
    fill("sailings", sailings)
    fill("sailing_crew", [(i, member) for i in range(1, 501)
                          for member in sorted(draw.sample(range(1, 41), 3))])
    names = [people.pop() for _ in range(120)]
    towns = [*(port for port, _ in PORTS), "Fjellby", "Nordmo"]
    fill("customers", [(i, name, draw.choice(towns),
                        f"{name.split()[0].lower()}{i}@mail.example", _day(draw, 2019, 2024))
                       for i, name in enumerate(names, 1)])
    fill("bookings", [(i, draw.randint(1, 120), draw.randint(1, 500), _day(draw, 2023, 2024),
                       draw.randint(1, 6), round(draw.uniform(9, 160), 2))
                      for i in range(1, 1201)])
    fill("workshops", [(1, "Sandholm Slip", "Sandholm"), (2, "Granvik Dokk", "Granvik"),
                       (3, "Nordmo Motor", "Nordmo")])
    fill("maintenance", [(i, draw.randint(1, len(FERRIES)), draw.randint(1, 3),
                          _day(draw, 2021, 2024), draw.choice(WORK),
                          round(draw.uniform(2_000, 90_000), 2)) for i in range(1, 41)])
    database.commit()
    database.execute("VACUUM")
    database.close()
    return path


def _day(draw: Random, first: int, last: int) -> str:
    days = timedelta(days=draw.randrange(365 * (last - first + 1)))
    return (date(first, 1, 1) + days).isoformat()


if __name__ == "__main__":
    beside = Path(__file__).parent / "ferries.sqlite"
    built = build(Path(sys.argv[1]) if len(sys.argv) > 1 else beside)
    print(f"{built}: {built.stat().st_size / 1e3:.0f} kB")

"""Asks DuckDB or Polars a question of `cargo xtask peers`: ask.py PEER VARIANT QUESTION THREADS DATA TOTAL.

The question is ysb, group, join, csv, json or parquet. DATA is the directory or file that the tool has made; TOTAL is the number of events of
ysb. Tables of ysb, group and join are in memory before the time begins; files are read in each ask. The question is asked ASKS times,
and the median counts. The output is one JSON object: {"seconds": 0.1, "rows": ["1,2,3", ..]}, with the rows in no order.
"""

import json
import os
import statistics
import sys
import time

ASKS = 3
WINDOW_US = 10_000_000
# Columns of the files, behind event_time.
NUMBERS = ["user_id", "page_id", "ad_id", "ad_type", "event_type", "ip"]


def on_duckdb(variant, question, threads, data, total):
    """Loads the tables of a question into DuckDB, and returns a function that asks it."""
    import duckdb

    base = duckdb.connect(config={"threads": threads})
    # The steps of making the tables are not measured.
    if question == "ysb":
        numbers = ", ".join(f"'{name}': 'BIGINT'" for name in NUMBERS)
        base.execute(
            f"CREATE TABLE part AS SELECT row_number() OVER () - 1 AS n, * FROM read_csv('{data}/events.csv',"
            f" header = false, columns = {{{numbers}}})"
        )
        base.execute(
            "CREATE TABLE events AS SELECT turn * (SELECT count(*) FROM part) + n AS time_us, part.* EXCLUDE (n)"
            f" FROM range(({total} + (SELECT count(*) FROM part) - 1) // (SELECT count(*) FROM part)) AS t(turn), part"
            f" WHERE turn * (SELECT count(*) FROM part) + n < {total}"
        )
        base.execute("CREATE TABLE ads AS SELECT ad_id, (ad_id - 1) // 10 AS campaign FROM range(1, 1001) AS t(ad_id)")
        views = {
            "join": "SELECT time_us, campaign FROM events JOIN ads USING (ad_id) WHERE event_type = 0",
            "division": "SELECT time_us, (ad_id - 1) // 10 AS campaign FROM events WHERE event_type = 0",
        }[variant]
        text = f"SELECT time_us // {WINDOW_US} AS w, campaign, count(*) FROM ({views}) GROUP BY w, campaign"
    elif question == "group":
        base.execute(f"CREATE TABLE events AS FROM '{data}/events.parquet'")
        text = (
            "SELECT count(*), sum(c), sum(s), sum(c * s), sum((k % 997) * c)"
            " FROM (SELECT k, count(*) AS c, sum(v) AS s FROM events GROUP BY k)"
        )
    elif question == "join":
        for table in ["orders", "payments"]:
            base.execute(f"CREATE TABLE {table} AS FROM '{data}/{table}.parquet'")
        text = "SELECT count(*), sum(v), sum(w), sum(v * w) FROM orders AS o JOIN payments AS p ON o.k = p.k"
    else:
        types = {"event_time": "TIMESTAMP", **{name: "BIGINT" for name in NUMBERS}}
        columns = "{" + ", ".join(f"'{name}': '{of}'" for name, of in types.items()) + "}"
        table = {
            "csv": f"read_csv('{data}', header = false, columns = {columns})",
            "json": f"read_json('{data}', format = 'newline_delimited', columns = {columns})",
            "parquet": f"read_parquet('{data}')",
        }[question]
        text = (
            f"SELECT epoch_us(event_time) // {WINDOW_US} AS w, event_type, count(*), sum(user_id)"
            f" FROM {table} GROUP BY w, event_type"
        )
    return lambda: base.execute(text).fetchall()


def on_polars(variant, question, threads, data, total):
    """Loads the tables of a question into Polars, and returns a function that asks it."""
    # Polars reads this when it is loaded.
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars as pl

    col = pl.col
    if question == "ysb":
        part = pl.read_csv(f"{data}/events.csv", has_header=False, new_columns=NUMBERS)
        turns = -(-total // part.height)
        events = pl.concat([part] * turns).head(total).rechunk().with_row_index("time_us")
        events = events.with_columns(time_us=col("time_us").cast(pl.Int64)).rechunk().lazy()
        ids = pl.Series("ad_id", range(1, 1001), dtype=pl.Int64)
        ads = pl.DataFrame([ids]).with_columns(campaign=(col("ad_id") - 1) // 10).lazy()
        views = events.filter(col("event_type") == 0)
        window = (col("time_us") // WINDOW_US).alias("w")
        if variant == "join":
            views = views.join(ads, on="ad_id").select(window, "campaign")
        else:
            views = views.select(window, campaign=(col("ad_id") - 1) // 10)
        asked = views.group_by("w", "campaign").agg(pl.len())
    elif question == "group":
        events = pl.read_parquet(f"{data}/events.parquet").rechunk().lazy()
        groups = events.group_by("k").agg(c=pl.len().cast(pl.Int64), s=col("v").sum())
        asked = groups.select(
            pl.len(),
            col("c").sum(),
            col("s").sum(),
            (col("c") * col("s")).sum().alias("mixed"),
            ((col("k") % 997) * col("c")).sum().alias("weighed"),
        )
    elif question == "join":
        orders, payments = [pl.read_parquet(f"{data}/{table}.parquet").rechunk().lazy() for table in ("orders", "payments")]
        asked = orders.join(payments, on="k").select(
            pl.len(), col("v").sum(), col("w").sum(), (col("v") * col("w")).sum().alias("mixed")
        )
    else:
        schema = {"event_time": pl.String, **{name: pl.Int64 for name in NUMBERS}}
        if question == "parquet":
            events = pl.scan_parquet(data)
        else:
            scan = {"csv": lambda: pl.scan_csv(data, has_header=False, schema=schema), "json": lambda: pl.scan_ndjson(data, schema=schema)}
            time_of = col("event_time").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us")
            events = scan[question]().with_columns(event_time=time_of)
        window = (col("event_time").dt.epoch("us") // WINDOW_US).alias("w")
        asked = events.group_by(window, "event_type").agg(pl.len(), col("user_id").sum())
    # The engine "in-memory" took twice the time.
    return lambda: asked.collect(engine="streaming").rows()


def main():
    peer, variant, question, threads, data, total = sys.argv[1:]
    ask = {"duckdb": on_duckdb, "polars": on_polars}[peer](variant, question, int(threads), data, int(total))
    seconds, rows = [], []
    for _ in range(ASKS):
        begin = time.perf_counter()
        rows = ask()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": statistics.median(seconds), "rows": [",".join(map(str, row)) for row in rows]}))


main()

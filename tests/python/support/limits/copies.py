"""Copies of a row, past the server: for limits that a client reaches with very many requests."""

from support.server import Place


def copy_row(place: Place, table: str, condition: str, count: int, changed: dict[str, str]) -> None:
    """So many copies of the row that meets the condition, with other expressions of their number `n` in some of its columns."""
    if place.databases:
        listing = f"select column_name from information_schema.columns where table_name = '{table}'"
    else:
        listing = f"select name from pragma_table_info('{table}')"
    columns = [str(it) for (it,) in place.query(listing)]
    chosen = [changed.get(it, it) for it in columns]
    place.query(
        f"insert into {table} ({', '.join(columns)})"
        " with recursive numbers(n) as"
        f" (select 1 union all select n + 1 from numbers where n < {count})"
        f" select {', '.join(chosen)} from {table}, numbers where {condition} returning 1"
    )


def numbered(place: Place, width: int = 6) -> str:
    """The number as digits of a key."""
    if place.databases:
        return f"convert_to(lpad(n::text, {width}, '0'), 'UTF8')"
    return f"cast(printf('%0{width}d', n) as blob)"

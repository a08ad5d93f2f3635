"""Hybrid search: whom to ask what, what comes back, one ranking, hits.

`hybrid` reads top to bottom: `targets` (which calls), `stores` (asking), `channels` and `bounds` (what
came), `chunks` (what the catalogue has of it), `fusing`, `negatives`, `languages` (the ranking), `hits`,
`expanding`.
"""

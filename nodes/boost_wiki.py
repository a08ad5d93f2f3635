"""Wiki passages count a little more where the knowledge bases have a wiki."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from ..context import Context
from ..errors import HeadraceError
from ..state import Asked, Hit, RagState, Update
from .reporting.warn import warn
from .stage import stage

# What a model wrote from many sources says at once what they say in pieces.
BOOST = 1.3
MARK = "wiki_boost"


@stage
async def boost_wiki(state: RagState, runtime: Runtime[Context]) -> Update:
    context, hits = runtime.context, state.get("ranked", [])
    try:
        enabled = await _has_wiki(context, state["request"], hits)
    except HeadraceError as error:
        # An order without the boost is as good an order as most knowledge bases ever get.
        message = f"Wiki passages are not preferred: {error.message}"
        return {"wiki_boosted": 0, "warnings": [warn(context.emit, "boost_wiki", error.code, message)]}
    if not enabled:
        return {"wiki_boosted": 0}
    boosted = by_score([preferred(hit) for hit in hits])
    return {"ranked": boosted, "wiki_boosted": sum(MARK in hit["marks"] for hit in boosted)}


def preferred(hit: Hit) -> Hit:
    """The hit with its new score, at most 1, if it is of a wiki; scores of earlier stages stay visible."""
    if hit["kind"] != "wiki":
        return hit
    return {**hit, "score": round(min(1.0, hit["score"] * BOOST), 6), "marks": [*hit["marks"], MARK]}


def by_score(hits: Sequence[Hit]) -> list[Hit]:
    """Best first; equal ones in the order in which they came, which the reranking has chosen."""
    return sorted(hits, key=lambda hit: -hit["score"])


async def _has_wiki(context: Context, asked: Asked, hits: Sequence[Hit]) -> bool:
    """Whether it was asked for, or a knowledge base in scope has a wiki."""
    if not any(hit["kind"] == "wiki" for hit in hits):
        return False
    # Runs that were stored before there were wikis have no such field.
    if asked.get("wiki_enabled"):
        return True
    kbs = await context.catalogue.kbs(
        list(dict.fromkeys([*asked["kb_ids"], *(hit["kb_id"] for hit in hits)]))
    )
    return any(kb.settings.get("wiki_enabled") is True for kb in kbs.values())

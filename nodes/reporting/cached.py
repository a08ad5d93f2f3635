"""What a stage had from caches, beside its result."""

from ...context import Context
from ...state import Update


def with_cached(update: Update, context: Context, *names: str) -> Update:
    """The update with what the stage had from these caches; as it is where it asked none."""
    used = context.caches.used if context.caches else {}
    own = {name: used[name] for name in names if name in used}
    return {**update, "cached": own} if own else update


def had_from_cache(context: Context, name: str) -> bool:
    """Whether nothing had to be computed: then no model was asked."""
    return context.caches is not None and context.caches.used.get(name) == "hit"

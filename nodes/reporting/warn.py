"""A warning on both ways out: to the reader's stream and into the state."""

from ...context import Emitter
from ...state import StageWarning


def warn(emit: Emitter, stage: str, code: str, message: str) -> StageWarning:
    """Emit what the run goes on without; the caller puts the returned warning into its update."""
    emit("warning", message, data={"stage": stage, "code": code})
    return StageWarning(stage=stage, code=code, message=message)

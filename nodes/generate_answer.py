"""The answer, streamed as it is made."""

from langgraph.runtime import Runtime

from ..context import Context
from ..state import RagState, Update
from .answering.citations import public_tags
from .answering.prompting import read_material, render
from .answering.streaming import Teller, chat_options, stream_answer
from .stage import stage


@stage
async def generate_answer(state: RagState, runtime: Runtime[Context]) -> Update:
    context = runtime.context
    material = await read_material(state, context)
    prompt = render(state, material, context.prompts)
    aliases = state.get("aliases", {}) if state["request"]["citation_enabled"] else {}
    tags = public_tags(aliases, list(material.hits), material.documents)
    return await stream_answer(context, prompt, chat_options(state["request"]), tags, Teller(context.emit))

"""Prompt templates read from the YAML files beside this module, checked when they are loaded."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import BadRequest, StartRefused

LANGUAGES = ("zh", "en")
LANGUAGE_NAMES = {"zh": "中文", "en": "English"}
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
LONGEST_CHANGE = 20_000  # characters of a prompt that is changed for one run
LONGEST_NAME = 60  # characters of a name that is shown back

# What may stand in braces, by kind. Another name in braces is a spelling mistake that would reach the model.
PLACEHOLDERS: Mapping[str, frozenset[str]] = {
    "system_prompt": frozenset(),
    "rewrite": frozenset({"conversation", "query", "language", "languages"}),
    "context_template": frozenset({"contexts", "query", "language", "current_time", "quoted"}),
    "fallback": frozenset({"query"}),
    "intent_prompts": frozenset(),
    "citation": frozenset(),
    "decline": frozenset(),
    "extractive": frozenset(),
    "rerank": frozenset({"query", "passages", "count"}),
    "suggest_questions": frozenset({"query", "contexts", "language"}),
    "generate_session_title": frozenset({"query", "language"}),
}

REQUIRED: Mapping[tuple[str, str], frozenset[str]] = {
    ("rewrite", "user"): frozenset({"conversation", "query"}),
    ("rerank", "user"): frozenset({"query", "passages"}),
    ("suggest_questions", "default"): frozenset({"query", "contexts"}),
    ("generate_session_title", "default"): frozenset({"query"}),
    ("context_template", "default"): frozenset({"contexts", "query"}),
    ("context_template", "plain"): frozenset({"query"}),
    ("context_template", "quoted"): frozenset({"quoted"}),
}

Mode = Literal["retrieval", "chat", "task", "reply"]


class Template(BaseModel):
    """One prompt in both languages. `mode` says where it is used; `reply` is shown as it stands."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9_]+$")
    name: str = Field(min_length=1)
    description: str = Field(min_length=1)
    mode: Mode
    default: bool = False
    text: dict[Literal["zh", "en"], str]


class TemplateFile(BaseModel):
    """One YAML file: all templates of one kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    editable: bool = True
    templates: list[Template] = Field(min_length=1)


class PromptLibrary:
    """Templates by kind and id (`context.Prompts`)."""

    def __init__(self, kinds: Mapping[str, TemplateFile]) -> None:
        self._kinds = dict(kinds)
        self._templates = {
            (kind, template.id): template for kind, file in kinds.items() for template in file.templates
        }

    def text(self, kind: str, id: str = "default", *, language: str = "en", **values: str) -> str:
        """The template with its placeholders filled in one pass, so that braces in a value stay as typed.

        `{language}` is the language's own name; one without a variant gets English. Raises KeyError for an
        unknown kind or id.
        """
        variant: Literal["zh", "en"] = "zh" if language == "zh" else "en"
        body = self._templates[kind, id].text[variant]
        given = {"language": LANGUAGE_NAMES[variant], **values}
        return PLACEHOLDER.sub(lambda found: given.get(found[1], found[0]), body.strip())

    def kinds(self) -> Mapping[str, TemplateFile]:
        """Everything there is, for listing."""
        return dict(self._kinds)

    def checked(self, changes: Mapping[str, Any]) -> dict[str, str]:
        """Other texts for templates by `kind.id`, or by `kind` for its default, in one form of name.

        Raises BadRequest (bad_prompt) that names the prompt: unknown, not to be changed, named twice, not a
        text, too long, or with placeholders that its kind does not allow or lacks.
        """
        texts: dict[str, str] = {}
        for name, text in changes.items():
            kind, id = self._found(name)
            if (known := _name(kind, id)) in texts:
                raise _bad(name, "it is named twice")
            texts[known] = _checked(name, kind, id, text)
        return texts

    def changed(self, changes: Mapping[str, Any]) -> "PromptLibrary":
        """The same with other texts, each for both languages. Raises as `checked`."""
        checked = self.checked(changes)
        return self.with_texts({name: dict.fromkeys(LANGUAGES, text) for name, text in checked.items()})

    def with_texts(self, texts: Mapping[str, Mapping[str, str]]) -> "PromptLibrary":
        """The same with other texts by language, checked already, by names as `checked` gives them."""
        return PromptLibrary({kind: _with_texts(file, texts) for kind, file in self._kinds.items()})

    def _found(self, name: str) -> tuple[str, str]:
        kind, dot, id = name.partition(".")
        place = (kind, id if dot else "default")
        if place not in self._templates:
            raise _bad(name, f"there is no such prompt, there are {', '.join(self._editable())}")
        if not self._kinds[kind].editable:
            raise _bad(name, "it cannot be changed: the program reads what a model makes of it")
        return place

    def _editable(self) -> list[str]:
        return [_name(kind, id) for kind, id in self._templates if self._kinds[kind].editable]


def load_prompts() -> PromptLibrary:
    """Read and check every template file. Raises StartRefused that names the file and the fault."""
    folder = Path(__file__).parent
    sources = {path.name: path.read_text("utf-8") for path in folder.glob("*.yaml")}
    return PromptLibrary(parse_library(sources))


def parse_library(sources: Mapping[str, str]) -> dict[str, TemplateFile]:
    """Template files by kind, from YAML texts by file name. Raises StartRefused."""
    kinds: dict[str, TemplateFile] = {}
    for name, source in sorted(sources.items()):
        file = _parse_file(name, source)
        if file.kind in kinds:
            raise StartRefused(f"{name}: a second file for prompts of kind {file.kind!r}")
        kinds[file.kind] = file
    for missing in sorted(PLACEHOLDERS.keys() - kinds.keys()):
        raise StartRefused(f"no prompts of kind {missing!r}")
    return kinds


def _parse_file(name: str, source: str) -> TemplateFile:
    try:
        content: Any = yaml.safe_load(source)
        file = TemplateFile.model_validate(content)
    except yaml.YAMLError as error:
        raise StartRefused(f"{name}: not YAML: {error}") from error
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise StartRefused(f"{name}: {faults}") from error
    if file.kind not in PLACEHOLDERS:
        raise StartRefused(f"{name}: unknown kind {file.kind!r}")
    _check_file(name, file)
    return file


def _check_file(name: str, file: TemplateFile) -> None:
    ids = [template.id for template in file.templates]
    for repeated in {id for id in ids if ids.count(id) > 1}:
        raise StartRefused(f"{name}: {repeated}: used twice")
    if sum(template.default for template in file.templates) > 1:
        raise StartRefused(f"{name}: more than one default")
    for template in file.templates:
        for language in LANGUAGES:
            if fault := _fault(file.kind, template.id, template.text.get(language, "")):
                raise StartRefused(f"{name}: {template.id}.{language}: {fault}")


def _fault(kind: str, id: str, body: str) -> str | None:
    """What is wrong with the text of a template."""
    if not body.strip():
        return "no text"
    used = set(PLACEHOLDER.findall(body))
    for unknown in sorted(used - PLACEHOLDERS[kind]):
        return f"unknown placeholder {{{unknown}}}"
    for missing in sorted(REQUIRED.get((kind, id), frozenset()) - used):
        return f"placeholder {{{missing}}} is missing"
    return None


def _checked(name: str, kind: str, id: str, text: Any) -> str:
    if not isinstance(text, str):
        raise _bad(name, "it must be a text")
    if len(text) > LONGEST_CHANGE:
        raise _bad(name, f"it has {len(text)} characters, at most {LONGEST_CHANGE} are possible")
    if fault := _fault(kind, id, text):
        raise _bad(name, fault)
    return text


def _with_texts(file: TemplateFile, texts: Mapping[str, Mapping[str, str]]) -> TemplateFile:
    def own(template: Template) -> Template:
        changes = texts.get(_name(file.kind, template.id))
        return template.model_copy(update={"text": {**template.text, **changes}}) if changes else template

    return file.model_copy(update={"templates": [own(template) for template in file.templates]})


def _name(kind: str, id: str) -> str:
    return kind if id == "default" else f"{kind}.{id}"


def _bad(name: str, why: str) -> BadRequest:
    name = name[:LONGEST_NAME]
    return BadRequest(f"prompt {name!r}: {why}", code="bad_prompt", details={"prompt": name})

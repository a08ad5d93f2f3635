"""Prompts of an installation: YAML files in its data folder whose texts take the place of the built-in ones.

A file names its kind and the templates it changes; a template without an id is the default one. A text for
one language leaves the other as it is, a plain text is for both.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import BadRequest, StartRefused
from .loader import LANGUAGES, PromptLibrary, load_prompts

OWN_FOLDER = "prompts"  # in the data folder
LARGEST_FILE = 1_000_000  # bytes


class OwnTemplate(BaseModel):
    """Other words for one template; what else is said of it here is for people and not read."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str = "default"
    text: str | dict[Literal["zh", "en"], str]

    def by_language(self) -> dict[str, str]:
        return dict.fromkeys(LANGUAGES, self.text) if isinstance(self.text, str) else {**self.text}


class OwnFile(BaseModel):
    """One YAML file of an installation."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: str
    templates: list[OwnTemplate] = Field(min_length=1)


def own_files(place: Path) -> list[Path]:
    """The YAML files in a folder, or the one file; none where there is no such folder."""
    return [place] if place.is_file() else sorted([*place.glob("*.yaml"), *place.glob("*.yml")])


def prompts_of(data: Path) -> PromptLibrary:
    """The built-in prompts with what the data folder changes. Raises StartRefused."""
    return with_own(load_prompts(), own_files(data / OWN_FOLDER))


def with_own(library: PromptLibrary, files: Sequence[Path]) -> PromptLibrary:
    """The library with the texts of these files. Raises StartRefused that names the file and the fault."""
    texts: dict[str, dict[str, str]] = {}
    for path in files:
        file = _parsed(path)
        for template in file.templates:
            name = file.kind if template.id == "default" else f"{file.kind}.{template.id}"
            if name in texts:
                raise _refused(path, f"{name} is changed twice")
            texts[name] = _checked(path, library, name, template)
    return library.with_texts(texts)


def _checked(path: Path, library: PromptLibrary, name: str, template: OwnTemplate) -> dict[str, str]:
    texts = template.by_language()
    if not texts:
        raise _refused(path, f"{name} has no text")
    try:
        for text in texts.values():
            library.checked({name: text})
    except BadRequest as error:
        raise _refused(path, error.message) from error
    return texts


def _parsed(path: Path) -> OwnFile:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise _refused(path, f"it is larger than {LARGEST_FILE:,} bytes")
        content: Any = yaml.safe_load(path.read_text("utf-8-sig"))
        return OwnFile.model_validate(content)
    except OSError as error:
        raise _refused(path, f"it cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise _refused(path, f"it is no YAML in UTF-8: {error}") from error
    except ValidationError as error:
        raise _refused(path, "; ".join(_fault(one) for one in error.errors(include_input=False))) from error


def _fault(error: Mapping[str, Any]) -> str:
    return f"{'.'.join(map(str, error['loc']))}: {error['msg']}"


def _refused(path: Path, why: str) -> StartRefused:
    return StartRefused(f"The prompts in {path} cannot be used: {why}", code="bad_prompt")

"""What can be configured: HEADRACE_* variables, `.env`, and `headrace.toml` in the data folder.

The environment wins over `.env`, which wins over the file.
"""

import re
import tomllib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from .errors import BadRequest, StartRefused

SETTINGS_FILE = "headrace.toml"
FAULTS_SHOWN = 5
FAULT_LENGTH = 1000  # characters
LONGEST_NAME = 60
EXTRACTIVE = "extractive"  # the name of the built-in answerer among the models

Role = Literal["chat", "understand", "embedding", "rerank"]
ROLES: tuple[Role, ...] = get_args(Role)


class Knobs(BaseModel):
    """What may be set by default, per knowledge base and per request, in this order."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    embedding_top_k: int = Field(50, ge=1, le=500, description="hits that leave search_chunks")
    rerank_top_k: int = Field(10, ge=1, le=100, description="hits that reach the model")
    vector_threshold: float = Field(0.0, ge=0, le=1, description="least cosine; 0 = no filter")
    keyword_threshold: float = Field(0.0, ge=0, description="least keyword score; 0 = no filter")
    rerank_threshold: float = Field(0.3, ge=0, le=1, description="least score of the reranker")
    mmr_lambda: float | None = Field(None, ge=0, le=1, description="default: 0.7, 1.0 without a reranker")
    max_rounds: int = Field(5, ge=-1, le=50, description="turns of history; 0 or less switches history off")
    enable_rewrite: bool = Field(True, description="let a chat model rewrite the question")
    citation_enabled: bool = Field(True, description="inline citations")
    fusion: Literal["auto", "coverage", "rrf"] = Field(
        "auto", description="how channels become one ranking; auto: coverage where the model's scale is known"
    )
    enable_query_expansion: bool = Field(True, description="ask again in other words when little is found")
    faq_priority_enabled: bool = Field(True, description="answers to known questions come first")
    faq_score_boost: float = Field(1.2, ge=1, le=10, description="factor on their scores, while they do")
    faq_search_answers: bool = Field(False, description="also find FAQ entries by their answers")
    wiki_enabled: bool = Field(False, description="of a knowledge base: it has pages that a model wrote")
    standard_answers_enabled: bool = Field(
        False, description="of a knowledge base: its answers to known questions are given word for word"
    )
    faq_direct_answer_threshold: float = Field(
        0.9, ge=0, le=1, description="least certainty that a known question is the same"
    )
    answer_cache_enabled: bool = Field(True, description="the same question again gets the same answer")
    auto_select: bool = Field(False, description="choose the knowledge bases where none is given")
    kb_match_threshold: float = Field(0.5, ge=0, le=1, description="least score of one that is chosen")
    suggestions_enabled: bool = Field(True, description="propose further questions behind an answer")
    fallback_strategy: Literal["fixed", "model"] = Field("fixed", description="who says that nothing fits")
    fallback_response: str | None = Field(None, max_length=4000, description="the fixed sentence")
    partial_ok: bool = Field(False, description="go on when some stores fail")
    run_limit_s: float = Field(1800, gt=0, le=86_400, description="hard limit of a run, seconds")
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int | None = Field(None, ge=-(2**63), le=2**63 - 1)
    max_tokens: int | None = Field(None, ge=1, le=10_000_000)
    thinking: bool | None = Field(None, description="ask a reasoning model to think, or not to")
    chat_model: str | None = Field(None, max_length=200, description="who answers; `extractive`: no model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One OpenAI-compatible server: where, with which key, which model, how long to wait (seconds)."""

    base_url: str
    api_key: SecretStr | None
    model: str
    timeout_s: float
    idle_s: float | None = None  # longest pause within a streamed answer; None: as `timeout_s`
    input_price: float | None = None  # per million tokens of the prompt, in any currency
    output_price: float | None = None

    @property
    def address(self) -> str:
        """`base_url` without the user and password that may stand in it."""
        return re.sub("//[^/]*@", "//", self.base_url)

    @property
    def secrets(self) -> list[str]:
        """The key, the password and the address in every form that a text may show them in, longest first."""
        parts = urlsplit(self.base_url)
        key = self.api_key.get_secret_value() if self.api_key else ""
        password = parts.password or ""
        # As the header of HTTP's own log-in has them; servers like to repeat it.
        login = b64encode(f"{unquote(parts.username or '')}:{unquote(password)}".encode()).decode()
        host = parts.netloc.rpartition("@")[2]
        hidden = {key, password, unquote(password), login, parts.netloc, host} - {""}
        # The longest first: one may be part of another.
        return sorted(hidden, key=len, reverse=True)

    def without_secrets(self, text: str) -> str:
        """What a server said, fit for clients and logs: without the key, the password and the address."""
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return text


def _checked_address(value: str) -> str:
    try:
        parts = urlsplit(value)
        possible = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        possible = False
    if value and (not possible or re.search(r"\s", value)):
        raise ValueError("must be an address such as http://127.0.0.1:8080/v1")
    return value


def _checked_key(value: SecretStr) -> SecretStr:
    key = value.get_secret_value().strip()  # a key read from a file ends with a line break
    if not (key.isascii() and key.isprintable()):
        raise ValueError("must be one line of printable ASCII characters: it is sent in a header")
    return SecretStr(key)


Address = Annotated[str, AfterValidator(_checked_address)]
Key = Annotated[SecretStr, AfterValidator(_checked_key)]


class Settings(BaseSettings, Knobs):  # pyright: ignore[reportIncompatibleVariableOverride]  # two pydantic bases
    """Everything the composition root reads. Nothing below it looks at the environment."""

    model_config = SettingsConfigDict(env_prefix="HEADRACE_", env_file=".env", extra="ignore")

    data: Path = Path("~/.local/share/headrace")
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    open: bool = Field(False, description="serve another address than loopback without keys")
    allowed_hosts: Annotated[list[str], NoDecode] = Field(
        [], description="names other than loopback that may stand in Host, with commas between"
    )
    upload_limit_mb: float = Field(50, gt=0)
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    user_dictionary: Path | None = Field(None, description="jieba user dictionary")
    message_search: bool = Field(False, description="messages of finished turns can be searched")
    retention_days: float = Field(
        30, ge=0, le=36_500, description="a finished run keeps every stage; then its last one; 0 = for ever"
    )
    journal_limit_mb: float | None = Field(
        None, gt=0, description="over it the oldest finished runs lose stages, then all but their message"
    )

    chat_base_url: Address | None = None
    chat_api_key: Key | None = None
    chat_timeout_s: float = Field(120, gt=0)
    chat_idle_s: float = Field(60, gt=0, description="longest pause between two pieces of an answer")
    chat_context: int = Field(8192, ge=512, description="tokens")
    chat_input_price: float | None = Field(None, ge=0, description="per million tokens of a prompt")
    chat_output_price: float | None = Field(None, ge=0, description="per million tokens of an answer")
    chat_gguf: Path | None = None
    understand_base_url: Address | None = None
    understand_api_key: Key | None = None
    understand_model: str | None = None
    understand_timeout_s: float = Field(30, gt=0)
    embedding_base_url: Address | None = None
    embedding_api_key: Key | None = None
    embedding_model: str | None = None
    embedding_timeout_s: float = Field(60, gt=0)
    rerank: Literal["auto", "none", "http", "dashscope", "flashrank", "llm"] = Field(
        "auto", description="who reranks; auto: a server if its address is set, else a model on disk"
    )
    models: Path | None = Field(None, description="folder of model files; default: in the data folder")
    rerank_base_url: Address | None = None
    rerank_api_key: Key | None = None
    rerank_model: str | None = None
    rerank_timeout_s: float = Field(30, gt=0)

    parse_timeout_s: float = Field(120, gt=0, description="longest time one file may take to parse")
    parse_memory_mb: int = Field(2048, ge=256, description="most memory the parser may use")

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        return (
            [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings, env_settings, dotenv_settings, TomlConfigSettingsSource(settings_cls))

    @property
    def models_folder(self) -> Path:
        """Where model files lie that were pulled."""
        return (self.models or self.data / "models").expanduser()

    def endpoint(self, role: Role) -> Endpoint | None:
        """The server for a role, or None where the role has no address of its own."""
        base_url: str | None = getattr(self, f"{role}_base_url")
        if not base_url:
            return None
        model: str = getattr(self, f"{role}_model") or ""
        return Endpoint(
            base_url=base_url.rstrip("/"),
            api_key=getattr(self, f"{role}_api_key"),
            model="" if model == EXTRACTIVE else model,
            timeout_s=getattr(self, f"{role}_timeout_s"),
            idle_s=self.chat_idle_s if role == "chat" else None,
            input_price=self.chat_input_price if role == "chat" else None,
            output_price=self.chat_output_price if role == "chat" else None,
        )

    def knobs(self) -> Knobs:
        """The defaults of a run."""
        return Knobs.model_validate(self.model_dump(include=set(Knobs.model_fields)))


def load_settings(*, data: Path | None = None, config: Path | None = None, **overrides: Any) -> Settings:
    """Read all sources. `data` and `overrides` come from the command line and win.

    Raises StartRefused with the name of the setting when a value is not possible, or of the file when it
    cannot be read.
    """
    if config is not None and not config.is_file():
        raise StartRefused(f"There is no settings file {config}.")
    given = {name: value for name, value in overrides.items() if value is not None}
    if data is not None:
        given["data"] = data
    try:
        folder = Settings(**given).data.expanduser()
        file = config or folder / SETTINGS_FILE

        class FromFile(Settings):
            model_config = SettingsConfigDict(
                env_prefix="HEADRACE_", env_file=".env", extra="ignore", toml_file=file
            )

        settings = FromFile(**given)
    except ValidationError as error:
        raise StartRefused(_explain(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise StartRefused(f"The settings file {config or SETTINGS_FILE} cannot be read: {error}") from error
    except SettingsError as error:
        raise StartRefused(str(error)) from error
    return settings.model_copy(update={"data": settings.data.expanduser()})


def effective_knobs(
    defaults: Knobs, kb_settings: Sequence[Mapping[str, Any]], asked: Mapping[str, Any]
) -> Knobs:
    """Defaults < knowledge bases < request. Where knowledge bases disagree, the default holds.

    Raises BadRequest (422) that names an unknown or impossible setting.
    """
    agreed: dict[str, Any] = {}
    for name in {name for settings in kb_settings for name in settings}:
        values = [settings[name] for settings in kb_settings if name in settings]
        if len(values) == len(kb_settings) and all(value == values[0] for value in values):
            agreed[name] = values[0]
    try:
        # Strict: these come as JSON, where `true` is not 1 and "5" is not 5.
        return Knobs.model_validate({**defaults.model_dump(), **agreed, **asked}, strict=True)
    except ValidationError as error:
        raise BadRequest(_explain(error), code="bad_setting") from error


def _explain(error: ValidationError) -> str:
    # Only names and reasons: a rejected value may be a key that was put into the wrong setting.
    return listed([_fault(e) for e in error.errors(include_input=False)])


def _fault(error: ErrorDetails) -> str:
    name = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"unknown setting {name[:LONGEST_NAME]!r}, known are {', '.join(Knobs.model_fields)}"
    return f"{name}: {error['msg']}"


def listed(faults: Sequence[str]) -> str:
    """The first faults of what was sent, each cut: nobody reads a list as long as the request."""
    shown = [one if len(one) <= FAULT_LENGTH else f"{one[:FAULT_LENGTH]}…" for one in faults[:FAULTS_SHOWN]]
    more = len(faults) - len(shown)
    return "; ".join([*shown, f"and {more} more"] if more else shown)

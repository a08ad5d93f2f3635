"""The composition root and the app: the one place that knows both sides of every protocol."""

from . import environment  # noqa: F401  # pyright: ignore[reportUnusedImport]  # before the libraries that read it

# isort: split
import asyncio
import contextlib
import logging
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from .api.answers import on_headrace_error, on_http_exception
from .api.guard import Guard
from .api.routes import routes
from .api.stack import Shared, Stack
from .api.upload import INCOMING
from .checkpoints.beside import Beside
from .checkpoints.erasure import Erasure
from .checkpoints.events import EventLog
from .checkpoints.forks import Forks
from .checkpoints.journal import Journal, open_journal
from .checkpoints.message_search import MessageSearch
from .checkpoints.retention import Limits, Retention
from .checkpoints.runs import Runs
from .checkpoints.saver import JournalSaver
from .checkpoints.sessions import Sessions
from .checkpoints.texts import KeptTexts
from .context import ChatModel, Context, Emitter, SearchStore
from .errors import HeadraceError, StartRefused
from .folder import own_folder
from .graph.build import build, build_search
from .ingest.changes import IndexChanges
from .ingest.editing import ChunkEdits
from .ingest.erasing import ErasedDocuments
from .ingest.faq import Faq
from .ingest.parse.process import ParserProcess
from .ingest.pipeline import Ingestion
from .models.chat import ChatModels, make_understand
from .models.embedding import make_embedder
from .models.everyday import EverydayMeans
from .models.rerank import make_reranker
from .prompts.loader import PromptLibrary
from .prompts.own import prompts_of
from .serving import bind, serve_until_signalled, url_of
from .settings import Settings, load_settings
from .state import Asked
from .stores.caches import CachedEmbedder, CachedReranker, ProcessCaches
from .stores.catalogue import open_catalogue
from .stores.chroma import ChromaVectors
from .stores.files import OriginalFiles
from .stores.passages import RunPassages
from .stores.tantivy import TantivyKeywords
from .text.proposals import further_questions, title
from .text.tokens import Tokens

logger = logging.getLogger(__name__)

PAGE = Path(__file__).parent / "web"
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY = ("httpx", "httpx2", "httpcore", "httpcore2", "chromadb", "uvicorn.error", "openai")
# Together under the ten seconds that a server may take to end.
DRAIN_GRACE_S = 1.5
DRAIN_S = 5.0
CLOSE_S = 2.0
COLLECT_EVERY_S = 3600.0


@asynccontextmanager
async def open_stack(
    settings: Settings, *, url: str | None = None, closing: asyncio.Event | None = None
) -> AsyncGenerator[Stack]:
    """Own the data folder and open everything in it; all is closed after the block, in reverse order.

    Raises StartRefused: folder taken or not writable, a newer schema, an impossible configuration.
    """
    folder = settings.data
    async with AsyncExitStack() as opened:
        opened.enter_context(own_folder(folder, url=url or url_of(settings.host, settings.port)))
        _empty(folder / INCOMING)
        journal = await opened.enter_async_context(open_journal(folder / "journal.sqlite"))
        catalogue = await opened.enter_async_context(open_catalogue(folder / "catalogue.sqlite"))
        tokens = Tokens(settings.user_dictionary)
        vectors = ChromaVectors(folder / "chroma")
        opened.push_async_callback(vectors.close)
        keywords = TantivyKeywords(folder / "keywords", tokens)
        opened.push_async_callback(keywords.close)
        stores = {"embedded": SearchStore(vectors=vectors, keywords=keywords)}
        embedder = make_embedder(settings)
        prompts = prompts_of(folder)
        chats = ChatModels(settings, embedder, tokens, prompts)
        understand = make_understand(settings)
        reranker = make_reranker(settings, chat=understand or chats.chosen(), prompts=prompts)
        for model in (embedder, chats, understand, reranker):
            # Those that hold connections, a thread or a process; the protocols do not ask for it.
            if close := getattr(model, "aclose", None) or getattr(model, "close", None):
                opened.push_async_callback(_bounded, "models", CLOSE_S, close)
        events, sessions = EventLog(journal), Sessions(journal)
        passages = RunPassages(catalogue, KeptTexts(journal))
        ingestion = Ingestion(
            catalogue=catalogue,
            stores=stores,
            embedder=embedder,
            files=OriginalFiles(folder / "files"),
            parser=ParserProcess(settings),
            settings=settings,
        )

        caches, everyday = ProcessCaches(), EverydayMeans(embedder)

        def context(emit: Emitter, asked: Asked | None = None) -> Context:
            # A run stored by an older program has neither.
            own = prompts.changed(asked.get("prompts") or {}) if asked else prompts
            model = asked.get("chat_model") if asked else None
            kept = caches.of_run(changing=ingestion.indexing.locked)
            return Context(
                catalogue=catalogue,
                passages=passages,
                messages=sessions,
                embedder=CachedEmbedder(embedder, caches.embeddings, kept.used),
                stores=stores,
                tokens=tokens,
                prompts=own,
                chat=chats.chosen(model, own),
                emit=emit,
                understand=understand,
                reranker=CachedReranker(reranker, caches.rerank, kept.used) if reranker else None,
                stale=ingestion.heal,
                reindexing=ingestion.reindexing,
                caches=kept,
                everyday=everyday,
                answers=caches.answers,
            )

        saver = JournalSaver(journal)
        graph = build().compile(checkpointer=saver)
        beside = _beside(journal, events, understand, prompts, tokens)
        runs = Runs(journal, events, sessions, graph, context, beside=beside)
        opened.push_async_callback(_bounded, "runs", DRAIN_S, partial(runs.drain, grace_s=DRAIN_GRACE_S))
        opened.push_async_callback(_bounded, "ingestion", CLOSE_S, ingestion.close)
        await ingestion.start()
        changes = IndexChanges(catalogue, stores, ingestion.indexing)
        limits = Limits(days=settings.retention_days, megabytes=settings.journal_limit_mb)
        erased = ErasedDocuments(ingestion, catalogue, stores, [vectors])
        yield Stack(
            settings=settings,
            journal=journal,
            forks=Forks(journal, graph, runs),
            sessions=sessions,
            events=events,
            runs=runs,
            retention=Retention(journal, saver, limits),
            erasure=Erasure(journal, saver, runs, erased),
            message_search=MessageSearch(journal, tokens),
            catalogue=catalogue,
            ingestion=ingestion,
            faq=Faq(catalogue=catalogue, embedder=embedder, changes=changes),
            edits=ChunkEdits(catalogue=catalogue, embedder=embedder, changes=changes),
            embedder=embedder,
            prompts=prompts,
            chats=chats,
            chat=chats.chosen(),
            understand=understand,
            reranker=reranker,
            search=build_search().compile(),
            context=context,
            caches=caches,
            closing=closing or asyncio.Event(),
        )


def _beside(
    journal: Journal, events: EventLog, model: ChatModel | None, prompts: PromptLibrary, tokens: Tokens
) -> Beside | None:
    """None without a model on a server: one in this process would let the answer wait."""

    def own(asked: Asked) -> PromptLibrary:
        return prompts.changed(asked.get("prompts") or {})

    def questions(said: str, asked: str) -> list[str]:
        return further_questions(said, asked=asked, content=tokens.content)

    return Beside(journal, events, model, own, questions, title) if model else None


def create_app(settings: Settings, *, url: str | None = None, collecting: bool = True) -> Starlette:
    """The app; nothing opens before its lifespan. `app.state.closing` ends the open streams.

    With `collecting` false old runs are trimmed when POST /gc asks for it, and not by themselves.
    """
    closing = asyncio.Event()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[Shared]:
        async with open_stack(settings, url=url, closing=closing) as stack:
            background = asyncio.create_task(_look_after(stack, collecting=collecting))
            try:
                yield Shared(stack=stack)
            finally:
                closing.set()
                background.cancel()
                await asyncio.gather(background, return_exceptions=True)

    app = Starlette(
        routes=routes(PAGE),
        middleware=[
            Middleware(
                Guard,
                allowed_hosts=[settings.host, *settings.allowed_hosts],
                any_address=settings.host in ("0.0.0.0", "::"),
            )
        ],
        exception_handlers={HeadraceError: on_headrace_error, HTTPException: on_http_exception},
        lifespan=lifespan,
    )
    app.state.closing = closing
    return app


def serve(settings: Settings, *, on_ready: Callable[[str], None] = lambda url: None) -> int:
    """Serve until a signal ends it; returns its number. `on_ready` gets the address."""
    logging.basicConfig(level=settings.log_level.upper(), stream=sys.stderr, format=LOG_FORMAT)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    with contextlib.closing(bind(settings.host, settings.port, open_to_all=settings.open)) as sock:
        url = url_of(settings.host, sock.getsockname()[1])
        app = create_app(settings, url=url)
        return serve_until_signalled(app, sock, on_ready=lambda: on_ready(url))


async def _look_after(stack: Stack, *, collecting: bool) -> None:
    """Take up what the last process has left unfinished, then keep the journal in its limits."""
    await _resume(stack.runs)
    await _finish_erasures(stack.erasure)
    while collecting:
        await _collect(stack.retention)
        await asyncio.sleep(COLLECT_EVERY_S)


async def _finish_erasures(erasure: Erasure) -> None:
    try:
        await erasure.finish()
    except Exception:
        # An edge: they stay noted, and the next start or the same request finishes them.
        logger.exception("what was to be erased could not be erased yet")


async def _collect(retention: Retention) -> None:
    try:
        collected = await retention.collect()
    except Exception:
        # An edge: a journal that is too large is no reason to stop answering.
        logger.exception("old runs could not be trimmed")
    else:
        if collected.runs_trimmed or collected.runs_emptied or collected.threads or collected.passages:
            logger.info("trimmed old runs: %s", collected)


async def _resume(runs: Runs) -> None:
    try:
        resumed = await runs.resume_unfinished()
    except Exception:
        # An edge: whatever is wrong with old runs, new ones must be served.
        logger.exception("unfinished answers could not be resumed")
    else:
        if resumed:
            logger.info("resumed %d unfinished answers", resumed)


def _empty(folder: Path) -> None:
    """Without what a killed process was receiving."""
    if folder.is_symlink():
        folder.unlink()  # what it leads to is not ours to empty or to fill
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)


async def _bounded(what: str, seconds: float, close: Callable[[], Awaitable[None]]) -> None:
    try:
        async with asyncio.timeout(seconds):
            await close()
    except TimeoutError:
        logger.error("%s did not close within %s s", what, seconds)


def main() -> None:
    """`python -m headrace.server`: as `headrace serve`, configured by the environment alone."""
    try:
        number = serve(load_settings(), on_ready=lambda url: print(url, flush=True))
    except StartRefused as refused:
        sys.exit(refused.message)
    sys.exit(130 if number == signal.SIGINT else 0)


if __name__ == "__main__":
    main()

"""`headrace eval`: how well the right passages are found, stage by stage."""

import argparse
import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ..errors import BadRequest
from ..settings import Settings
from .arguments import Commands, whole
from .output import OK, WrongUse, print_json

COLUMNS = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "hit@1", "p50_ms", "p95_ms")


def add_to(commands: Commands) -> None:
    evaluate = commands.add("eval", eval_command, "measure retrieval over questions with known answers")
    units = evaluate.add_mutually_exclusive_group()
    units.add_argument("--corpus", type=Path, metavar="FILE", help="units: JSON lines {id, title?, text}")
    units.add_argument("--faq", type=Path, metavar="FILE", help="or FAQ entries: {id, question, answers, …}")
    evaluate.add_argument("--queries", type=Path, metavar="FILE", help="{id, text, history?}")
    evaluate.add_argument("--qrels", type=Path, metavar="FILE", help="{qid, doc_id, relevance}")
    evaluate.add_argument(
        "--min-relevance", type=whole(1, 1000), default=1, metavar="N", help="least grade that counts (1)"
    )
    evaluate.add_argument(
        "--understand", action="store_true", help="rewrite questions that have a history first"
    )
    evaluate.add_argument(
        "--chunk", action="store_true", help="cut the units as an ingestion would, instead of whole"
    )
    evaluate.add_argument(
        "--cache", type=Path, metavar="FILE", help="where vectors are kept for the next time"
    )
    evaluate.add_argument(
        "--compare", nargs=2, type=Path, metavar="FILE", help="two reports instead: is the second better?"
    )
    evaluate.add_argument("--json", metavar="FILE", help="write the report there; - is standard output")


def eval_command(settings: Settings, arguments: argparse.Namespace) -> int:
    if arguments.compare:
        return _compare(*arguments.compare, where=arguments.json)
    if not (arguments.corpus or arguments.faq) or not arguments.queries or not arguments.qrels:
        raise WrongUse("Name --corpus or --faq, --queries and --qrels; or two reports with --compare.")
    report = asyncio.run(_measured(settings, arguments))
    if arguments.json != "-":
        _print_table(report)
    _write(report, arguments.json)
    return OK


async def _measured(settings: Settings, arguments: argparse.Namespace) -> dict[str, Any]:
    # Here, since they load everything that the server loads.
    from ..evaluation.embeddings import cache_file
    from ..evaluation.files import read_corpus, read_faq, read_questions
    from ..evaluation.measure import ask_all, measured_with, opened_bench
    from ..evaluation.report import report

    corpus = read_corpus(arguments.corpus) if arguments.corpus else read_faq(arguments.faq)
    questions = read_questions(arguments.queries, arguments.qrels)
    cache = arguments.cache or cache_file()
    with _Bar() as bar:
        async with opened_bench(
            corpus, settings, cache=cache, cut=arguments.chunk, progress=bar.show
        ) as bench:
            results = await ask_all(
                bench, questions.queries, understanding=arguments.understand, progress=bar.show
            )
    config = measured_with(settings) | {"understand": arguments.understand, "chunk": arguments.chunk}
    return report(results, questions.grades, least=arguments.min_relevance, config=config)


class _Bar:
    """Progress on stderr, where that is a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._progress.add_task("opening")

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, what: str, done: int, total: int) -> None:
        self._progress.update(self._task, description=what, completed=done, total=total)


def _print_table(report: Mapping[str, Any]) -> None:
    print(f"{report['n']} questions, {report['negatives']} without an answer in the corpus")
    print(f"{'':10}" + "".join(f"{name:>12}" for name in COLUMNS))
    for stage, values in report["stages"].items():
        print(f"{stage:10}" + "".join(f"{_number(name, values[name]):>12}" for name in COLUMNS))
    if report["negatives"]:
        print(
            f"false accept {report['false_accept']:.3f}"
            + (f", AUC {report['auc']:.3f}" if report["auc"] is not None else "")
        )
    if same := report["same_question"]:
        shares = (f"{name} {_number(name, value)}" for name, value in same.items())
        print(f"same question: {', '.join(shares)}")


def _number(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if name.endswith("_ms") else f"{value:.4f}"


def _compare(first: Path, second: Path, *, where: str | None) -> int:
    from ..evaluation.compare import compare

    found = compare(_report(first), _report(second))
    if where != "-":
        for stage, metrics in found.items():
            for name, one in metrics.items():
                change = f"{one['difference']:+.4f} [{one['low']:+.4f}, {one['high']:+.4f}]"
                values = f"{one['first']:.4f} → {one['second']:.4f}"
                print(f"{stage:10}{name:>12}  {values}  {change}  p {one['p']:.3f}")
    _write(found, where)
    return OK


def _report(path: Path) -> dict[str, Any]:
    try:
        report: Any = json.loads(path.read_text("utf-8"))
        if isinstance(report, dict) and {"stages", "per_query"} <= report.keys():
            return cast("dict[str, Any]", report)
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}.", code="bad_report") from error
    except ValueError:
        pass
    raise BadRequest(f"{path} is not a report of `headrace eval --json`.", code="bad_report")


def _write(document: object, where: str | None) -> None:
    if where == "-":
        print_json(document)
    elif where is not None:
        try:
            Path(where).write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
        except OSError as error:
            raise BadRequest(f"{where} cannot be written: {error.strerror}.", code="bad_report") from error

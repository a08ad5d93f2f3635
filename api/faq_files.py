"""FAQ entries of a knowledge base from a file and into one."""

from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from ..errors import BadRequest, Unreadable, UnsupportedFormat
from ..ingest.faq_files import FORMATS, MEDIA_TYPES, FaqFile, FaqFormat, written
from ..ingest.faq_import import Imported, import_entries
from ..ingest.formats import ZIP_SIGNATURES, suffix_of
from ..ingest.parse.process import ParserProcess
from .answers import success
from .requests import media_type_of
from .stack import Shared, Stack, stack_of
from .upload import INCOMING, Upload, uploads

SUFFIXES: dict[str, FaqFormat] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".xlsx": "xlsx",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
SUPPORTED = [suffix.removeprefix(".") for suffix in SUFFIXES]
MODES = ("append", "replace")
READ_AT_ONCE = 500  # entries


async def import_faq(request: Request[Shared]) -> Response:
    stack, kb_id = stack_of(request), request.path_params["kb_id"]
    await stack.faq.ids(kb_id)  # nobody should send a file to a place that cannot take it
    if media_type_of(request) != "multipart/form-data":
        raise UnsupportedFormat(
            "Send the file as multipart/form-data, in the field `file`.", code="unsupported_media_type"
        )
    fields = {"mode": request.query_params.get("mode", "append")}
    limit = int(stack.settings.upload_limit_mb * 1024 * 1024)
    async with uploads(request, folder=stack.settings.data / INCOMING, limit=limit, fields=fields) as files:
        if fields["mode"] not in MODES:
            raise BadRequest("mode is append or replace.", code="bad_mode")
        if len(files) > 1:
            raise BadRequest("Send one file at a time.", code="one_file")
        file = await _read(stack, files[0])
    only = fields["mode"] == "replace"
    told = await import_entries(file, kb_id, entries=stack.faq, standing=stack.catalogue, only=only)
    return success(_imported_shape(told))


async def export_faq(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    format = _format_asked(request)
    kb = await stack.catalogue.get_kb(request.path_params["kb_id"])
    ids = await stack.faq.ids(kb.id)
    entries = {
        id: entry
        for start in range(0, len(ids), READ_AT_ONCE)
        for id, entry in (await stack.catalogue.faq_entries(ids[start : start + READ_AT_ONCE])).items()
    }
    # The oldest first: imported elsewhere, they are made in the order in which they were made here.
    content = await run_sync(written, [entries[id] for id in ids if id in entries], format)
    name = quote(f"{kb.name}.{format}", safe="")
    return Response(
        content,
        media_type=MEDIA_TYPES[format],
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
    )


async def _read(stack: Stack, file: Upload) -> FaqFile:
    if not file.size:
        raise Unreadable(f"{file.name} is empty.", code="empty_document")
    format = _format_of(file.name, file.path)
    # A worker of its own: the one that reads documents may be at a long one.
    parser = ParserProcess(stack.settings)
    try:
        return await parser.read_faq(file.path, format)
    except Unreadable as error:
        raise Unreadable(f"{file.name} cannot be read: {error.message}.", code=error.code) from error
    finally:
        await parser.close()


def _format_of(name: str, path: Path) -> FaqFormat:
    """By the name, except for a workbook that is called otherwise. Raises UnsupportedFormat."""
    with path.open("rb") as file:
        is_archive = file.read(4) in ZIP_SIGNATURES
    suffix = suffix_of(name)
    if suffix not in SUFFIXES or (suffix == ".xlsx") > is_archive:
        why = "it is no workbook" if suffix == ".xlsx" else "FAQ entries are not read from such files"
        raise UnsupportedFormat(
            f"{name}: {why}. Supported are {', '.join(SUPPORTED)}.",
            details={"name": name, "supported": SUPPORTED},
        )
    return "xlsx" if is_archive else SUFFIXES[suffix]


def _format_asked(request: Request[Shared]) -> FaqFormat:
    asked = request.query_params.get("format", "csv")
    for format in FORMATS:
        if format == asked:
            return format
    raise BadRequest(f"format is {', '.join(FORMATS)}.", code="bad_format")


def _imported_shape(told: Imported) -> dict[str, Any]:
    return {
        "created": told.created,
        "updated": told.updated,
        "unchanged": told.unchanged,
        "deleted": told.deleted,
        "rejected": [asdict(row) for row in told.rejected],
        "ignored_columns": [*told.ignored_columns],
    }

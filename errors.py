"""The ways a request can fail that a caller can act on.

HeadraceError                 500  ours to fix
├─ Damaged                    500  what was asked for is stored in a broken part of a file
├─ BadRequest                 422  the caller can fix what was sent
│  ├─ Malformed               400  not even JSON, or not the right shape of request
│  ├─ NotFound                404  no such thing, or not yours
│  ├─ Conflict                409  right request, wrong moment
│  ├─ Forbidden               403  from a place or host that is not allowed
│  ├─ TooLarge                413  over a limit
│  ├─ UnsupportedFormat       415  a file we do not read
│  └─ Unreadable              422  a file of a format we read that cannot be read
├─ DependencyFailed           503  something we call is down; the caller can try again
│  └─ DependencyRefused       502  something we call answered, but not usefully
├─ Gone                       410  it was here; its record has been removed on purpose
├─ StorageFull                507  no room to store it; the caller can try again once there is
└─ StartRefused                 -  the program must not start like this; exit code 1

"Nothing found" is not here: it is a route to `fallback`, and a good answer.
"""

from collections.abc import Mapping
from typing import Any


class HeadraceError(Exception):
    """Anything of ours that may reach a person: `message` says what to do, `code` is for programs."""

    status = 500
    code = "internal_error"

    def __init__(
        self, message: str, *, code: str | None = None, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.details: dict[str, Any] = dict(details or {})


class Damaged(HeadraceError):
    """A part of a database file cannot be read any more; what lies elsewhere in it is served."""

    code = "data_damaged"


class BadRequest(HeadraceError):
    """Well-formed, but not possible as sent."""

    status = 422
    code = "bad_request"


class Malformed(BadRequest):
    """Not JSON, or not the shape of this request."""

    status = 400
    code = "malformed"


class NotFound(BadRequest):
    """No such thing, or it belongs to somebody else: the two are not told apart."""

    status = 404
    code = "not_found"


class Conflict(BadRequest):
    """The request is right but the thing it speaks of is in another state."""

    status = 409
    code = "conflict"


class Forbidden(BadRequest):
    """A host, origin or address that is not allowed to ask."""

    status = 403
    code = "forbidden"


class TooLarge(BadRequest):
    """Over a limit; `details.limit` says which."""

    status = 413
    code = "too_large"


class UnsupportedFormat(BadRequest):
    """A file that no parser here reads."""

    status = 415
    code = "unsupported_format"


class Unreadable(BadRequest):
    """A file whose text cannot be had: broken, encrypted, empty, only pictures, too costly to parse."""

    code = "unreadable_document"


class DependencyFailed(HeadraceError):
    """A model or store did not answer: down, unreachable, or too slow."""

    status = 503
    code = "dependency_failed"

    def __init__(self, dependency: str, message: str, *, code: str | None = None) -> None:
        super().__init__(message, code=code, details={"dependency": dependency})
        self.dependency = dependency


class DependencyRefused(DependencyFailed):
    """A model or store answered, but with a refusal or with something unreadable."""

    status = 502
    code = "dependency_refused"


class Gone(HeadraceError):
    """It was here once, and was removed on purpose: asking again will not bring it back."""

    status = 410
    code = "gone"


class StorageFull(HeadraceError):
    """The disk or quota of the data folder is full. Nothing of the request is stored; reading goes on."""

    status = 507
    code = "disk_full"


class StartRefused(HeadraceError):
    """The program must not start like this: folder taken, newer schema, unsafe address."""

    code = "start_refused"

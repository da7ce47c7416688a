"""What the client or the backend did wrong, in words for people, in the error shape of the OpenAI API."""

from __future__ import annotations

from bridge.jsonvalue import Object


class ClientError(Exception):
    """The client sent what the bridge cannot carry: answered with `status`, never forwarded.

    `param` is the path of the field (`input[3].call_id`); `message` says what is wrong there and how to mend it.
    """

    def __init__(self, message: str, param: str | None = None, status: int = 400, code: str = "invalid_value") -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.status = status
        self.code = code

    def body(self) -> Object:
        """The HTTP error body."""
        return error_body(self.message, "invalid_request_error", self.code, self.param)


class BackendError(Exception):
    """The backend sent what cannot be read as an answer; ends in `response.failed` or a 502."""


def error_body(message: str, kind: str, code: str, param: str | None = None) -> Object:
    """An error in OpenAI's HTTP shape: `{"error": {"message", "type", "param", "code"}}`."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}

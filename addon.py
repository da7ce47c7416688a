"""Codex's custom tools on a backend that admits function tools only.

mitmdump -s addon.py --mode reverse:http://HOST:PORT
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import sys
import traceback
from dataclasses import replace

from mitmproxy import contentviews, ctx, exceptions, flowfilter, http
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy.mode_specs import ReverseMode
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from bridge import staleness

if staleness.is_stale():
    # mitmproxy runs this file again when it is touched, and only this file: the rest of the package must follow.
    for name in [name for name in sys.modules if name.partition(".")[0] == "bridge"]:
        del sys.modules[name]

from bridge import flows, proxycore, sse
from bridge.checking import Result, check, total
from bridge.commands import Commands, write_fixture
from bridge.errors import BackendError, ClientError, error_body
from bridge.exchange import Exchange, Mode
from bridge.ledger import Rule, summary
from bridge.playback import Playback, respond
from bridge.settings import PREFIX, Backend, Settings, Verbosity
from bridge.views import console
from bridge.views.contentviews import views

logger = logging.getLogger("bridge")


class Bridge:
    """The options and the hooks."""

    def __init__(self) -> None:
        self._settings = Settings()
        self._filter = flows.parse_filter(self._settings.filter)
        self._sessions: dict[str, flows.Session] = {}
        self._told: set[tuple[str, str, str]] = set()
        self._playback: Playback | None = None
        self._checked: list[Result] = []
        self._recorded: list[http.HTTPFlow] = []

    def load(self, loader: Loader) -> None:
        """Register the options and the views; an option given twice ends the start, as any error in the log does."""
        for interim in [addon for addon in ctx.master.addons.lookup.values() if hasattr(addon, "relieve")]:
            interim.relieve()
        for view in views(self.live, console.previous):
            contentviews.add(view)
        for name, kind, default, text, choices in Settings.spec():
            if kind is str and flows.forget_repeated(PREFIX + name):
                logger.error(f"{PREFIX}{name} is given more than once.")
            loader.add_option(PREFIX + name, kind, default, text, choices)

    def configure(self, updated: set[str]) -> None:
        """Check the options; they hold from the next flow on."""
        if any(name.startswith(PREFIX) for name in updated):
            values = {name: getattr(ctx.options, PREFIX + name) for name, *_ in Settings.spec()}
            try:
                settings = Settings.from_options(values)
                bridged = flows.parse_filter(settings.filter)
                playback = self._playback
                if (settings.replay, settings.backend) != (self._settings.replay, self._settings.backend):
                    playback = Playback.load(settings.replay, settings.backend) if settings.replay else None
            except ValueError as error:
                raise exceptions.OptionsError(str(error)) from None
            self._settings, self._filter, self._playback = settings, bridged, playback
        if "stream_large_bodies" in updated and ctx.options.stream_large_bodies:
            raise exceptions.OptionsError(
                "stream_large_bodies sends requests before they can be lowered: leave it off."
            )

    def running(self) -> None:
        """Name options that do not exist, and have mitmproxy dial late, so that a dead backend can be reported."""
        proxycore.install(self.rescue)
        known = [PREFIX + name for name, *_ in Settings.spec()]
        for name in [name for name in ctx.options.deferred if name.startswith(PREFIX)]:
            nearest = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {nearest[0]}?" if nearest else f"; there are {', '.join(known)}."
            logger.warning(f"bridge: there is no option {name}{hint}")
        if any(mode.startswith("reverse:") for mode in ctx.options.mode):
            ctx.options.update(connection_strategy="lazy")

    def done(self) -> None:
        """Leave mitmproxy as it was; differences that a check found, or a fixture that failed, end mitmdump with 1."""
        if not ctx.master.should_exit.is_set():
            # The addon is loaded anew, or taken out, while mitmproxy goes on.
            ctx.master.addons.add(_Interim(self))
            return
        proxycore.uninstall()
        try:
            if self._settings.fixture:
                write_fixture(self._recorded, self._settings.fixture, self._settings)
        except exceptions.CommandError as error:
            raise SystemExit(f"bridge: {error}") from None
        if self._settings.check:
            logger.info(f"bridge: {total(self._checked)}")
            if not self._checked or any(result.different for result in self._checked):
                raise SystemExit(1)

    def server_connect(self, data: ServerConnectionHookData) -> None:
        """Speak HTTP/1.1 to the backend: a keepalive cannot be put into an answer over HTTP/2."""
        if isinstance(data.client.proxy_mode, ReverseMode) and self._settings.keepalive:
            data.server.alpn_offers = [b"http/1.1"]

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """A bridged request has to be whole before it can be lowered."""
        if flow.live and self.is_bridged(flow):
            flow.request.stream = False

    def request(self, flow: http.HTTPFlow) -> None:
        """Lower a bridged request; whatever goes wrong, an unlowered one is never sent."""
        if not flow.live:
            self._read(flow)
        if not flow.live or flow.response or flow.error:
            return
        if flows.asks_websocket(flow) and flows.would_be_bridged(flow, self._filter):
            # Codex falls back to POST at once on 426 only; after any other status it goes on trying.
            body = error_body("There is no WebSocket here: use POST.", "invalid_request_error", "upgrade_required")
            flow.response = flows.refuse(426, body, {"connection": "close"})
        elif self.is_bridged(flow):
            self._lower(flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Decide how the answer is handled, from its head."""
        assert flow.response
        head = flow.response.headers
        content_type = head.get("content-type", "")
        session = self._sessions.get(flow.id)
        if session and session.answered:
            return
        if session is None or flow.is_replay == "response":
            if flow.live and content_type.lower().startswith(sse.CONTENT_TYPE) and not flow.response.stream:
                flow.response.stream = True
            return
        try:
            encoding = head.get("content-encoding", "")
            retry_after = head.get("retry-after", "")
            session.mode = session.exchange.begin(flow.response.status_code, content_type, encoding, retry_after)
        except BackendError as error:
            session.failure = f"The backend's answer cannot be used: {error}."
        if session.mode is Mode.STREAM:
            for name in ("content-encoding", "content-length", "transfer-encoding"):
                head.pop(name, None)
            if flow.request.is_http11:
                head["transfer-encoding"] = "chunked"
            flow.response.stream = proxycore.Gathered(session.pieces)
            if seconds := self._settings.keepalive:
                session.timer = asyncio.create_task(session.keep_alive(flow, seconds))

    def response(self, flow: http.HTTPFlow) -> None:
        """Lift an answer that came whole; keep what was said."""
        session = self._sessions.pop(flow.id, None)
        if session is None:
            if flow.live and flows.wants_models(flow):
                flows.add_models(flow)
            return
        if flow.is_replay != "response":
            self._lift(flow, session)
        self._finish(flow, session)

    def error(self, flow: http.HTTPFlow) -> None:
        """The backend or the client is gone; keep what was said."""
        if session := self._sessions.pop(flow.id, None):
            session.exchange.ledger.answering = True
            session.exchange.ledger.add(Rule.FAILED, "broken off")
            self._finish(flow, session)

    def live(self, flow: http.HTTPFlow) -> Exchange | None:
        """The exchange of a flow that is on its way."""
        session = self._sessions.get(flow.id)
        return session.exchange if session else None

    @property
    def is_idle(self) -> bool:
        """Whether no flow is on its way."""
        return not self._sessions

    def settings(self) -> Settings:
        """Those of today."""
        return self._settings

    def rescue(self, flow: http.HTTPFlow, message: str, begun: bool) -> proxycore.Rescue | None:
        """What the client of a bridged flow gets when its backend breaks off."""
        session = self._sessions.get(flow.id)
        if session is None:
            return None
        if begun:
            return proxycore.Rescue(b"".join(session.exchange.fail(message)))
        host = f"{flow.request.host}:{flow.request.port}"
        flow.response = flows.backend_failure(f"The backend at {host} did not answer: {message}")
        return proxycore.Rescue(flow.response.content or b"", flow.response)

    def is_bridged(self, flow: http.HTTPFlow) -> bool:
        """Whether a flow is the bridge's: one that was bridged is again when it is replayed, wherever it was sent."""
        was_bridged = flow.is_replay == "request" and flows.load(flow) is not None
        return was_bridged or bool(flowfilter.match(self._filter, flow))

    def _lower(self, flow: http.HTTPFlow) -> None:
        if flow.is_replay == "request":
            flows.aim(flow, ctx.options.mode)
        try:
            exchange = flows.open_exchange(flow, self._settings)
            flows.send(flow, exchange)
        except ClientError as error:
            logger.warning(f"bridge: refused with {error.status}: {error.param or error.code}")
            flow.response = flows.refuse(error.status, error.body())
            flows.mark_refused(flow, error.status, error.param or error.code)
        except Exception as fault:
            self._report(fault)
            message = f"The bridge cannot lower this request ({type(fault).__name__}); it was not sent."
            flow.response = flows.refuse(500, error_body(message, "server_error", "bridge_fault"))
            flows.mark_refused(flow, 500, "a fault of the bridge")
        else:
            self._sessions[flow.id] = session = flows.Session(exchange)
            if self._playback:
                self._play(flow, session, self._playback)

    def _play(self, flow: http.HTTPFlow, session: flows.Session, playback: Playback) -> None:
        session.answered = True
        turn = playback.find(session.exchange)
        if isinstance(turn, str):
            session.exchange.ledger.add(Rule.FAILED, "no recorded turn", warning="no recorded turn fits")
            flow.response = flows.refuse(404, error_body(turn, "invalid_request_error", "no_recorded_turn"))
            return
        # A client that left then is no reason to leave this one without an end.
        flow.response = respond(session.exchange, replace(turn, ending=turn.ending or ""))

    def _read(self, flow: http.HTTPFlow) -> None:
        """A flow from a recording."""
        if not (flows.load(flow) or flowfilter.match(self._filter, flow)):
            return
        if self._settings.fixture:
            self._recorded.append(flow)
        if self._settings.check:
            self._checked.append(self._check(flow, len(self._checked) + 1))

    def _check(self, flow: http.HTTPFlow, number: int) -> Result:
        result = check(flow, self._settings)
        logger.log(logging.WARNING if result.different else logging.INFO, f"bridge: {number}: {result.text}")
        return result

    def _lift(self, flow: http.HTTPFlow, session: flows.Session) -> None:
        assert flow.response
        exchange, data = session.exchange, flow.response.raw_content
        if exchange.streamed or session.answered or data is None:
            return
        if session.failure:
            exchange.ledger.add(Rule.FAILED, "unreadable answer")
            flow.response = flows.backend_failure(session.failure)
            return
        content_type = flow.response.headers.get("content-type", "")
        try:
            passes = session.mode is Mode.PASS
            answer = exchange.passed(data, content_type) if passes else exchange.whole(data, content_type)
            if passes:
                self._hint(flow)
            flows.answer(flow.response, answer)
        except BackendError as error:
            exchange.ledger.add(Rule.FAILED, "unreadable answer")
            flow.response = flows.backend_failure(f"The backend's answer cannot be used: {error}.")
        except Exception as fault:
            self._report(fault)
            message = f"The bridge cannot lift this answer ({type(fault).__name__})."
            flow.response = flows.refuse(500, error_body(message, "server_error", "bridge_fault"))

    def _finish(self, flow: http.HTTPFlow, session: flows.Session) -> None:
        session.stop()
        exchange = session.exchange
        flows.keep(flow, exchange, session.chunks)
        if exchange.fault:
            self._report(exchange.fault)
        for entry in exchange.ledger.warnings():
            warning = (str(entry.rule), entry.what, entry.warning)
            if warning not in self._told:
                self._told.add(warning)
                logger.warning(f"bridge: {entry.rule} {entry.what}: {entry.warning}")
        told = summary(exchange.ledger)
        flows.annotate(flow, exchange.ledger)
        verbosity = self._settings.verbosity
        if verbosity is not Verbosity.QUIET:
            logger.info("\n".join([f"bridge: {told}", *console.details(flow, verbosity)]))

    def _hint(self, flow: http.HTTPFlow) -> None:
        assert flow.response
        if flow.response.status_code in (404, 405) and self._settings.backend is Backend.RESPONSES:
            status, path = flow.response.status_code, flow.request.path.partition("?")[0]
            logger.warning(
                f"bridge: the backend answered {status} at {path}. If it speaks Chat Completions only, "
                "set bridge_backend=chat; if its API stands under another path, put that into Codex's base_url."
            )

    def _report(self, fault: Exception) -> None:
        """The type and the place of a fault; its text could hold what a prompt said."""
        where = traceback.extract_tb(fault.__traceback__)[-1]
        logger.error(f"bridge: fault: {type(fault).__name__} at {where.filename}:{where.lineno}")


class _Interim:
    """What stands in for an addon that was taken out while mitmproxy goes on, most often to be loaded anew.

    Flows on their way end with the code that they began with. New ones are refused until another addon relieves this
    one: a file that cannot be loaded must not let requests through unlowered.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.name = f"bridge-{id(bridge)}"
        self._bridge = bridge
        self._relieved = False

    def relieve(self) -> None:
        """Another addon has come."""
        self._relieved = True
        self._leave_if_done()

    def request(self, flow: http.HTTPFlow) -> None:
        """Not sent, if the bridge would have lowered it."""
        if not self._relieved and flow.live and not flow.response and self._bridge.is_bridged(flow):
            message = "The bridge is not loaded: see mitmproxy's log, and mend what it says or start mitmproxy again."
            flow.response = flows.refuse(503, error_body(message, "server_error", "bridge_not_loaded"))
            flows.mark_refused(flow, 503, "the addon is not loaded")

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """The head of an answer, to the addon that lowered its request."""
        if self._bridge.live(flow):
            self._bridge.responseheaders(flow)

    def response(self, flow: http.HTTPFlow) -> None:
        """An answer, likewise."""
        if self._bridge.live(flow):
            self._bridge.response(flow)
            self._leave_if_done()

    def error(self, flow: http.HTTPFlow) -> None:
        """A failure, likewise."""
        if self._bridge.live(flow):
            self._bridge.error(flow)
            self._leave_if_done()

    def _leave_if_done(self) -> None:
        if self._relieved and self._bridge.is_idle:
            asyncio.get_running_loop().call_soon(ctx.master.addons.remove, self)


_bridge = Bridge()
addons = [_bridge, Commands(_bridge.settings, _bridge.live)]

"""The HTTP server of the extender: POST /extender/filter and /extender/preemption for kube-scheduler, GET /readyz for
those who send requests to the operator that leads. Only that one answers the verbs.

Run by `shunter operator run --placement extender`."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec
from aiohttp import web

from shunter.kube.extender.verbs import Pods, choose_victims, filter_nodes
from shunter.log import Log
from shunter.model.errors import Invalid, Unavailable
from shunter.model.objects.object_meta import Document

BODY_BYTES_MAX = 16 * 2**20  # names of 5,000 nodes take 0.2 MB, whole nodes 10 times as much
Verb = Callable[[Document, Pods], Document]

log = Log(__name__)


@dataclass(frozen=True, slots=True)
class ExtenderListener:
    host: str
    port: int
    tls: ssl.SSLContext | None = None


class ExtenderServer:
    def __init__(self, listener: ExtenderListener, pods: Pods, leads: Callable[[], bool]) -> None:
        self._listener, self._pods, self._leads = listener, pods, leads
        self.is_listening = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        application = web.Application(client_max_size=BODY_BYTES_MAX)
        application.router.add_post("/extender/filter", self._handler(filter_nodes, is_filter=True))
        application.router.add_post("/extender/preemption", self._handler(choose_victims, is_filter=False))
        application.router.add_get("/readyz", self._ready)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        try:
            listener = self._listener
            site = web.TCPSite(runner, listener.host, listener.port, ssl_context=listener.tls)
            await site.start()
            log.info("extender.listening", host=listener.host, port=runner.addresses[0][1])
            self.is_listening.set()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _ready(self, request: web.Request) -> web.Response:
        del request
        leads = self._leads()
        return web.Response(text="ok" if leads else "another operator leads", status=200 if leads else 503)

    def _handler(self, verb: Verb, *, is_filter: bool) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            if not self._leads():
                return web.Response(text="another operator leads", status=503)
            try:
                arguments = msgspec.json.decode(await request.read())
                if not isinstance(arguments, dict):
                    raise msgspec.DecodeError("the body must be an object")
                answer = verb(arguments, self._pods)
            except Unavailable as error:  # kube-scheduler tries again
                answer = {"Error": str(error)} if is_filter else {"NodeNameToMetaVictims": {}}
            except (msgspec.DecodeError, Invalid, KeyError, TypeError, AttributeError) as error:
                return web.Response(text=f"not an extender request: {error}", status=400)
            return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

        return handle

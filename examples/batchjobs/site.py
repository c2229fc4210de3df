"""A small web site to crawl: `python3 site.py 8765` serves it on loopback.

Page n links to 2n+1 and 2n+2. Some pages link back, or to a page that does not exist.
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES = 31
WORDS = ("track", "wagon", "yard", "rake", "signal", "board", "night")


def page(number: int) -> str:
    links = [n for n in (2 * number + 1, 2 * number + 2) if n < PAGES]
    if number % 5 == 0:
        links += [0, PAGES + number]  # back to the start, and to a missing page
    text = " ".join(WORDS[(number + n) % len(WORDS)] for n in range(number % 7 + 3))
    anchors = "".join(f'<a href="/{n}">page {n}</a>\n' for n in links)
    return f"<html><head><title>Page {number}</title></head><body><p>{text}</p>\n{anchors}</body></html>"


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        number = self.path.strip("/") or "0"
        found = number.isdecimal() and int(number) < PAGES
        body = page(int(number)).encode() if found else b"no such page"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def serve(port: int) -> ThreadingHTTPServer:
    return ThreadingHTTPServer(("127.0.0.1", port), Site)


if __name__ == "__main__":
    serve(int(sys.argv[1])).serve_forever()

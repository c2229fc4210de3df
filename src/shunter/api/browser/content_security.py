"""The Content-Security-Policy of the web UI. Pure; used by `api.browser.ui_pages`.

Scripts come from the manager alone, never from within a page. The editor and the dialogs of the UI write `<style>`
elements, which need the nonce of the answer."""

from __future__ import annotations


def content_security_policy(nonce: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "worker-src 'self'",
            "manifest-src 'self'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )

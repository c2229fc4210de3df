/** Reloads a page that an upgrade of the manager made old: when the user goes to another page, never in the middle of
 * work. A page with unsaved input calls `protectInput`. */
import { appBase } from "../api/address";

const CHECK_MS = 60_000;
const RELOADED = "shunter.reloaded-for";
let isOld = false;
let protectedInputs = 0;
const listeners = new Set<() => void>();

export function watchVersion(): void {
  setInterval(() => void checkVersion(), CHECK_MS);
  window.addEventListener("focus", () => void checkVersion());
  window.addEventListener("vite:preloadError", (event) => {
    event.preventDefault();
    reloadOnce("preload");
  });
}

export function isOldVersion(): boolean {
  return isOld;
}

export function onVersionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Call the result when the input is saved or dropped. */
export function protectInput(): () => void {
  protectedInputs += 1;
  return () => {
    protectedInputs -= 1;
  };
}

/** Before a navigation: whether the browser should load the page instead of the application showing it. */
export function shouldReload(): boolean {
  return isOld && protectedInputs === 0;
}

async function checkVersion(): Promise<void> {
  const running = document.querySelector<HTMLScriptElement>('script[type="module"]')?.src ?? "";
  if (isOld || !running.includes("/assets/")) return;
  const response = await fetch(`${appBase}version.json`, { cache: "no-store" }).catch(() => null);
  if (!response?.ok) return;
  const { entry } = (await response.json()) as { entry?: string };
  if (!entry || running.endsWith(`/${entry}`)) return;
  isOld = true;
  for (const listener of listeners) listener();
}

/** A file of this version is gone. A second failure for the same reason must not reload for ever. */
function reloadOnce(reason: string): void {
  const key = `${reason}:${document.querySelector<HTMLScriptElement>('script[type="module"]')?.src}`;
  if (sessionStorage.getItem(RELOADED) === key) return;
  sessionStorage.setItem(RELOADED, key);
  location.reload();
}

/** Signs in and out. The session itself is a cookie that this page cannot read. */
import { apiAddress } from "./address";
import { readError } from "./problems";

const CODE = /(?:^#|[&#])code=([^&]+)/;

/** The one-time code of the link that `shunter ui` opened. It is removed from the address bar at once. */
export function takeCode(): string | null {
  const found = CODE.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return decodeURIComponent(found[1] ?? "");
}

export async function signInWithCode(code: string): Promise<void> {
  await send("POST", { code });
}

/** `token` is the token of the cluster or an API key. */
export async function signInWithToken(token: string): Promise<void> {
  await send("POST", undefined, { authorization: `Bearer ${token}` });
}

export async function signOut(): Promise<void> {
  await fetch(apiAddress("/sessions/current"), { method: "DELETE", credentials: "same-origin" });
}

async function send(method: string, content?: object, headers: Record<string, string> = {}): Promise<void> {
  const response = await fetch(apiAddress("/sessions"), {
    method,
    credentials: "same-origin",
    headers: content ? { ...headers, "content-type": "application/json" } : headers,
    ...(content ? { body: JSON.stringify(content) } : {}),
  });
  if (!response.ok) throw await readError(response);
}

/** Signs in and out. The session itself is a cookie that this page cannot read. */
import { apiAddress } from "./address";
import { body, client } from "./client";
import { readError } from "./problems";

/** The one-time code of the link that `shunter ui` opened. It is removed from the address bar at once. */
export function takeCode(): string | null {
  return takeFromAddress("code");
}

/** Why a sign-in at the issuer has failed, if the browser comes back from one. */
export function takeSignInError(): string | null {
  return takeFromAddress("error");
}

function takeFromAddress(name: "code" | "error"): string | null {
  const found = new RegExp(`(?:^#|[&#])${name}=([^&]+)`).exec(location.hash);
  if (!found) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return decodeURIComponent(found[1] ?? "");
}

/** The page that sends the browser to the issuer. */
export const issuerSignIn = apiAddress("/sessions/oidc");

/** The host of the cluster's issuer, or null if it has none. */
export async function findIssuer(): Promise<string | null> {
  try {
    const options = await body(client.GET("/api/v1/sessions/options"));
    return options.oidc ? new URL(options.oidc.issuer).host : null;
  } catch {
    return null; // a token still signs in
  }
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

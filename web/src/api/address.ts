/** Where the application and the API are. All addresses are relative to `<base>`, so a sub-path of a proxy works. */

/** `/ui/`, or `/some/prefix/ui/` behind a proxy. */
export const appBase = new URL(".", document.baseURI).pathname;

/** The address that has `/api/v1` below it, without a slash at its end. */
export const serverBase = new URL("..", new URL(appBase, location.origin)).href.replace(/\/$/, "");

export function apiAddress(path: string, query: Record<string, string | string[] | undefined> = {}): string {
  const url = new URL(`${serverBase}/api/v1${path}`);
  for (const [name, value] of Object.entries(query)) {
    for (const each of value === undefined ? [] : [value].flat()) url.searchParams.append(name, each);
  }
  return url.href;
}

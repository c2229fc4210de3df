/** What the caller may do, by its roles and by what it sees. Pure. The manager decides; this only says so beforehand.
 * `tests/unit/model/identity/test_web_rights.py` compares the roles with those of the manager. */
import type { Schemas } from "../api/client";

export type Me = Schemas["MeView"];
export type Right = keyof typeof ROLES;

/** Who may do one operation of each kind. */
export const ROLES = {
  submit: ["submitter", "operator", "admin"],
  applySuggestion: ["submitter", "operator", "admin"],
  schedule: ["operator", "scheduler", "admin"],
  operate: ["operator", "admin"],
  administer: ["admin"],
} as const;

/** Which also need a caller that is not bound to a tenant, a namespace or a testbed. */
const CLUSTER_WIDE: readonly Right[] = ["operate", "applySuggestion"];

/** Why the caller may not; null if it may. */
export function refusalOf(me: Me | undefined, right: Right): string | null {
  if (!me) return null;
  const needed: readonly string[] = ROLES[right];
  if (!me.roles.some((role) => needed.includes(role))) {
    return `This needs the role ${joinWords(needed, "or")}; you have ${joinWords(me.roles, "and") || "none"}.`;
  }
  if (CLUSTER_WIDE.includes(right) && !seesCluster(me)) {
    return "This needs a key of the whole cluster; yours sees only a part of it.";
  }
  return null;
}

/** Callers of a tenant, and those with a bound key, see a part of the cluster. */
export function seesCluster(me: Me): boolean {
  return !me.namespaces && !me.tenant && !me.queue && (me.testbeds ?? []).length === 0;
}

function joinWords(words: readonly string[], last: string): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words[words.length - 1]}`;
}

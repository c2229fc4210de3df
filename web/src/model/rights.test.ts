import { expect, test } from "vitest";
import { type Me, refusalOf, seesCluster } from "./rights";

const me = (roles: string[], more: Partial<Me> = {}): Me => ({ user: "ana", roles, ...more }) as Me;

test("a viewer is told which roles may, and which one it has", () => {
  expect(refusalOf(me(["viewer"]), "submit")).toBe(
    "This needs the role submitter, operator or admin; you have viewer.",
  );
});

test("a role that may is not refused", () => {
  expect(refusalOf(me(["viewer", "submitter"]), "submit")).toBeNull();
  expect(refusalOf(me(["admin"]), "administer")).toBeNull();
});

test("an operator of a tenant is told that nodes belong to the cluster", () => {
  const operator = me(["operator"], { tenant: "film", namespaces: ["film"] });
  expect(refusalOf(operator, "submit")).toBeNull();
  expect(refusalOf(operator, "operate")).toContain("whole cluster");
});

test("keys that are bound to a part do not see the cluster", () => {
  expect(seesCluster(me(["viewer"]))).toBe(true);
  expect(seesCluster(me(["viewer"], { queue: "night" }))).toBe(false);
  expect(seesCluster(me(["viewer"], { testbeds: ["default/bench"] }))).toBe(false);
});

test("nothing is refused before it is known who asks", () => {
  expect(refusalOf(undefined, "administer")).toBeNull();
});

/** Who may do what: the caller itself, users, keys, tenants with their quotas, secrets by name, and the audit log. */
import { useParams } from "@tanstack/react-router";
import { Loading } from "../../components/Notice";
import { Tabs } from "../../components/Tabs";
import { type Me, refusalOf, seesCluster } from "../../model/rights";
import { PageHead } from "../../shell/Page";
import { useMe } from "../../shell/useRefusal";
import { Audit } from "./Audit";
import { Keys } from "./Keys";
import { Profile } from "./Profile";
import { Secrets } from "./Secrets";
import { OwnTenant, Tenants } from "./Tenants";
import { Users } from "./Users";

export function Access() {
  const { tab } = useParams({ from: "/access/$tab" });
  const me = useMe();
  if (!me) return <Loading />;
  return (
    <>
      <PageHead title="Access" />
      <Tabs label="Parts of access" tabs={tabsFor(me)} to="/access/$tab" params={{ tab }} />
      <Part tab={tab} me={me} />
    </>
  );
}

/** Without the tabs that the manager would refuse to the caller. */
function tabsFor(me: Me): { id: string; label: string }[] {
  const isAdmin = refusalOf(me, "administer") === null;
  const hasTenants = me.tenant !== null || (isAdmin && seesCluster(me));
  return [
    { id: "you", label: "You" },
    ...(isAdmin ? [{ id: "users", label: "Users" }] : []),
    ...(isAdmin ? [{ id: "keys", label: "API keys" }] : []),
    ...(hasTenants ? [{ id: "tenants", label: me.tenant ? "Your tenant" : "Tenants" }] : []),
    { id: "secrets", label: "Secrets" },
    ...(isAdmin ? [{ id: "audit", label: "Audit log" }] : []),
  ];
}

function Part({ tab, me }: { tab: string; me: Me }) {
  switch (tab) {
    case "users":
      return <Users />;
    case "keys":
      return <Keys />;
    case "tenants":
      return me.tenant ? <OwnTenant name={me.tenant} /> : <Tenants />;
    case "secrets":
      return <Secrets me={me} />;
    case "audit":
      return <Audit />;
    default:
      return <Profile me={me} />;
  }
}

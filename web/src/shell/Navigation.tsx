/** The pages of the application. On a phone it opens over the content. */
import { Link } from "@tanstack/react-router";
import {
  Activity,
  CalendarClock,
  ChartColumn,
  FilePlus2,
  Grid2x2,
  KeyRound,
  LayoutDashboard,
  ListChecks,
  Scale,
  Server,
} from "lucide-react";
import { seesCluster } from "../model/rights";
import styles from "./Navigation.module.css";
import { useMe } from "./useRefusal";

/** Pages of the whole cluster are not shown to callers that see a part of it. */
const PAGES = [
  { to: "/", label: "Overview", icon: LayoutDashboard },
  { to: "/jobs", label: "Jobs", icon: ListChecks },
  { to: "/nodes", label: "Nodes", icon: Server, ofCluster: true },
  { to: "/queues", label: "Queues", icon: CalendarClock },
  { to: "/create", label: "Create", icon: FilePlus2 },
  { to: "/testbeds", label: "Testbeds", icon: Grid2x2 },
  { to: "/decisions", label: "Decisions", icon: Scale, ofCluster: true },
  { to: "/analytics", label: "Analytics", icon: ChartColumn },
  { to: "/events", label: "Events", icon: Activity },
  { to: "/access", label: "Access", icon: KeyRound },
] as const;

export function Navigation({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const me = useMe();
  const pages = PAGES.filter((page) => !("ofCluster" in page) || !me || seesCluster(me));
  return (
    <nav aria-label="Pages" className={styles.navigation} data-open={isOpen || undefined}>
      {pages.map((page) => (
        <Link
          key={page.to}
          to={page.to}
          className={styles.link}
          activeProps={{ "aria-current": "page" }}
          activeOptions={{ exact: page.to === "/", includeSearch: false }}
          onClick={onClose}
        >
          <page.icon size={16} aria-hidden="true" />
          {page.label}
        </Link>
      ))}
    </nav>
  );
}

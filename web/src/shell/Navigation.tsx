/** The pages of the application. On a phone it opens over the content. */
import { Link } from "@tanstack/react-router";
import { Activity, ChartColumn, FilePlus2, Grid2x2, LayoutDashboard, ListChecks, Scale, Server } from "lucide-react";
import styles from "./Navigation.module.css";

export const PAGES = [
  { to: "/", label: "Overview", icon: LayoutDashboard },
  { to: "/jobs", label: "Jobs", icon: ListChecks },
  { to: "/nodes", label: "Nodes", icon: Server },
  { to: "/create", label: "Create", icon: FilePlus2 },
  { to: "/testbeds", label: "Testbeds", icon: Grid2x2 },
  { to: "/decisions", label: "Decisions", icon: Scale },
  { to: "/analytics", label: "Analytics", icon: ChartColumn },
  { to: "/events", label: "Events", icon: Activity },
] as const;

export function Navigation({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <nav aria-label="Pages" className={styles.navigation} data-open={isOpen || undefined}>
      {PAGES.map((page) => (
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

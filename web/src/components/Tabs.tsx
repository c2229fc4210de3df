/** The parts of a page, each with its own address. */
import { Link } from "@tanstack/react-router";
import styles from "./Tabs.module.css";

interface TabsProps {
  label: string;
  tabs: readonly { id: string; label: string }[];
  /** The route of the page, whose parameter `tab` says which part is open. */
  to: string;
  params: Record<string, string>;
}

export function Tabs({ label, tabs, to, params }: TabsProps) {
  return (
    <nav aria-label={label} className={styles.tabs}>
      {tabs.map((tab) => (
        <Link
          key={tab.id}
          to={to}
          params={{ ...params, tab: tab.id }}
          className={styles.tab}
          aria-current={tab.id === params.tab ? "page" : undefined}
        >
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}

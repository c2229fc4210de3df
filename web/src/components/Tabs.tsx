/** The parts of a page, each with its own address. */
import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import styles from "./Tabs.module.css";

const OTHERS_IN_SIGHT = 60;

interface TabsProps {
  label: string;
  tabs: readonly { id: string; label: string }[];
  /** The route of the page, whose parameter `tab` says which part is open. */
  to: string;
  params: Record<string, string>;
}

export function Tabs({ label, tabs, to, params }: TabsProps) {
  const bar = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is open
  useEffect(() => {
    const open = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (bar.current && open) bar.current.scrollLeft = open.offsetLeft - bar.current.offsetLeft - OTHERS_IN_SIGHT;
  }, [params.tab]);
  return (
    <nav ref={bar} aria-label={label} className={styles.tabs}>
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

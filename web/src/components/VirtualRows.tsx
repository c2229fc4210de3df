/** Rows of one height, of which only those near the screen exist as elements. They scroll with the page. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import styles from "./VirtualRows.module.css";

const OVERSCAN = 12;

const scroller = () => document.getElementById("content");

interface VirtualRowsProps {
  count: number;
  rowHeight?: number;
  /** Scrolled into view when it changes. */
  current?: number;
  /** What the rows are to a screen reader: of a table, or of a list. */
  role?: "rowgroup" | "list";
  children: (index: number) => ReactNode;
}

export function VirtualRows({ count, rowHeight = 28, current = -1, role = "rowgroup", children }: VirtualRowsProps) {
  const place = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    const element = scroller();
    const content = element?.firstElementChild;
    if (!element || !content) return;
    const measure = () => {
      if (!place.current) return;
      const top = place.current.getBoundingClientRect().top - element.getBoundingClientRect().top + element.scrollTop;
      setMargin(Math.round(top));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(content);
    return () => observer.disconnect();
  }, []);
  const rows = useVirtualizer({
    count,
    getScrollElement: scroller,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    scrollMargin: margin,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another row scrolls
  useEffect(() => {
    if (current >= 0) rows.scrollToIndex(current, { align: "auto" });
  }, [current]);
  return (
    <div ref={place} role={role} className={styles.place} style={{ height: rows.getTotalSize() }}>
      {rows.getVirtualItems().map((item) => (
        <div
          key={item.key}
          role="presentation"
          className={styles.row}
          style={{ height: rowHeight, transform: `translateY(${item.start - margin}px)` }}
        >
          {children(item.index)}
        </div>
      ))}
    </div>
  );
}

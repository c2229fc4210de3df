/** A plain table of at most a few hundred rows. It scrolls inside its panel where the screen is narrow. */
import type { ReactNode } from "react";
import styles from "./DataTable.module.css";

export interface Column<T> {
  title: string;
  cell: (row: T) => ReactNode;
  /** Numbers are right-aligned. */
  isNumber?: boolean;
}

interface DataTableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
}

export function DataTable<T>({ label, columns, rows, keyOf }: DataTableProps<T>) {
  return (
    <section className={styles.scroll} aria-label={`${label}, as a table`} tabIndex={0}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} data-align={isNumber ? "end" : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, isNumber }) => (
                <td key={title} data-align={isNumber ? "end" : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

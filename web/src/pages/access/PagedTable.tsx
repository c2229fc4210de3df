/** A list of the API as a table, one page after the other, with its notices. */
import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type Column, DataTable } from "../../components/DataTable";
import { Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { formatCount } from "../../model/quantities";
import styles from "./Access.module.css";

interface Page<T> {
  items: T[];
  next: string | null;
  total?: number;
}

interface PagedTableProps<T> {
  title: string;
  list: UseInfiniteQueryResult<{ pages: Page<T>[] }>;
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  empty: ReactNode;
  actions?: ReactNode;
}

export function PagedTable<T>({ title, list, columns, keyOf, empty, actions }: PagedTableProps<T>) {
  if (list.isError && !list.data) return <Failure error={list.error} retry={() => void list.refetch()} />;
  if (!list.data) return <Loading />;
  const rows = list.data.pages.flatMap((page) => page.items);
  const total = list.data.pages[0]?.total;
  return (
    <Panel title={title} isFlush actions={actions}>
      {rows.length === 0 ? empty : <DataTable label={title} columns={columns} rows={rows} keyOf={keyOf} />}
      {list.hasNextPage && (
        <p className={styles.more}>
          {formatCount(rows.length)} {total === undefined ? "shown" : `of ${formatCount(total)} shown`}
          <button type="button" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Show more
          </button>
        </p>
      )}
    </Panel>
  );
}

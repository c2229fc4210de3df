/** What a page shows instead of content: nothing there yet, still loading, or an error with its fix. */
import { Link } from "@tanstack/react-router";
import { Inbox, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError, describeError } from "../api/problems";
import { capitalize } from "../model/quantities";
import { Command } from "./Command";
import styles from "./Notice.module.css";

interface EmptyProps {
  title: string;
  children?: ReactNode;
  /** The command that puts something here. */
  command?: string;
}

export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div className={styles.notice}>
      <Inbox size={22} aria-hidden="true" />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const isForbidden = error instanceof ApiError && error.status === 403;
  const problems = error instanceof ApiError ? error.problems : [];
  return (
    <div className={styles.notice} role="alert">
      <TriangleAlert size={22} aria-hidden="true" />
      <h2>{capitalize(describeError(error))}</h2>
      {problems.map((problem) => (
        <p key={`${problem.field}${problem.message}`}>
          <code>{problem.field}</code> {problem.message}
          {problem.fix ? `: ${problem.fix}` : ""}
        </p>
      ))}
      {error instanceof TypeError && <p>Start it, or look at its log. This page connects again by itself.</p>}
      {error instanceof TypeError && <Command text="shunter up --detach" />}
      {error instanceof ApiError && error.status === 404 && <Link to="/">Go to the overview</Link>}
      {isForbidden && (
        <Link to="/access/$tab" params={{ tab: "you" }}>
          See what you may do
        </Link>
      )}
      {retry && !isForbidden && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Loading() {
  return (
    <div className={styles.loading} role="status">
      <span className="visually-hidden">Loading</span>
      <span className={styles.line} />
      <span className={styles.line} />
      <span className={styles.line} />
    </div>
  );
}

/** The frame of every page: navigation, search, policy, connection, theme, keys. */
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate } from "@tanstack/react-router";
import { Menu as MenuIcon, Moon, Search, Sun } from "lucide-react";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { meQuery } from "../api/queries";
import { signOut } from "../api/session";
import { Menu } from "../components/Menu";
import { Toasts } from "../components/Toasts";
import { seesCluster } from "../model/rights";
import { ConnectionState } from "./ConnectionState";
import { KeyboardHelp } from "./KeyboardHelp";
import { useKeys } from "./keyboard";
import { Navigation } from "./Navigation";
import styles from "./Shell.module.css";
import { currentTheme, toggleTheme } from "./theme";
import { useMe } from "./useRefusal";

export function Shell() {
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const me = useMe();
  const cluster = me?.cluster;
  useKeys({ "?": () => setHelpOpen(true) });
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#content" onClick={skipToContent}>
        Skip to the content
      </a>
      <header className={styles.top}>
        <button
          type="button"
          data-kind="plain"
          className={styles.menu}
          aria-label="Navigation"
          aria-expanded={isMenuOpen}
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <MenuIcon size={18} />
        </button>
        <Link to="/" className={styles.name}>
          Shunter <span className={styles.cluster}>{cluster?.name}</span>
        </Link>
        <SearchBox />
        {me && cluster && seesCluster(me) && (
          <Link to="/decisions" className={styles.policy} title="The active scheduling policy">
            policy {cluster.policy}
          </Link>
        )}
        <ConnectionState />
        <ThemeButton />
        <UserMenu />
      </header>
      <Navigation isOpen={isMenuOpen} onClose={() => setMenuOpen(false)} />
      <main id="content" className={styles.content} tabIndex={-1}>
        <div>
          {cluster?.simulated && (
            <p className={styles.banner}>
              <strong>Simulated.</strong> Nodes and tasks exist only inside this manager: click anything, nothing real
              runs.
            </p>
          )}
          <Outlet />
        </div>
      </main>
      <Toasts />
      {isHelpOpen && <KeyboardHelp onClose={() => setHelpOpen(false)} />}
    </div>
  );
}

function skipToContent(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function SearchBox() {
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  useKeys({ "/": () => input.current?.focus() });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    input.current?.blur();
    void navigate({ to: "/jobs", search: { filter: text.trim() || undefined } });
  };
  return (
    <form role="search" className={styles.search} onSubmit={submit}>
      <Search size={14} aria-hidden="true" />
      <input
        ref={input}
        type="search"
        aria-label="Search jobs"
        placeholder="Search jobs   /"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </form>
  );
}

function ThemeButton() {
  const [theme, setTheme] = useState(currentTheme);
  useEffect(() => {
    const update = () => setTheme(currentTheme());
    window.addEventListener("themechange", update);
    return () => window.removeEventListener("themechange", update);
  }, []);
  return (
    <button
      type="button"
      data-kind="plain"
      onClick={toggleTheme}
      aria-label={theme === "dark" ? "Use light colours" : "Use dark colours"}
    >
      {theme === "dark" ? <Sun size={16} /> : <Moon size={16} />}
    </button>
  );
}

function UserMenu() {
  const me = useQuery(meQuery).data;
  if (!me) return null;
  const leave = async () => {
    await signOut();
    location.reload();
  };
  const roles = { label: `Roles: ${me.roles.join(", ")}`, onSelect: () => undefined, isDisabled: true };
  return (
    <Menu
      label={`User ${me.user}`}
      button={me.user}
      items={[roles, { label: "Sign out", onSelect: () => void leave() }]}
    />
  );
}

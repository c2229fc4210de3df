/** A command of the CLI that does the same, with a button that copies it. */
import { Check, Copy } from "lucide-react";
import { useState } from "react";
import styles from "./Command.module.css";

const COPIED_MS = 1500;

export function Command({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <span className={styles.command}>
      <code>{text}</code>
      <button type="button" data-kind="plain" onClick={copy} aria-label={isCopied ? "Copied" : `Copy: ${text}`}>
        {isCopied ? <Check size={14} /> : <Copy size={14} />}
      </button>
    </span>
  );
}

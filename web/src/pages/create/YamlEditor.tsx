/** The editor of manifests, which the browser loads with this page only. Its style elements need the page's nonce. */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { defaultHighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import styles from "./Create.module.css";

const NONCE = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";

const LOOK = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--text)", fontSize: "12px" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)", minHeight: "320px" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-content ::selection, .cm-selectionBackground, &.cm-focused .cm-selectionBackground": {
    backgroundColor: "var(--selected) !important",
  },
  ".cm-content span": { color: "var(--text) !important" },
});

export default function YamlEditor({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(onChange);
  latest.current = onChange;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor begins with the first text
  useEffect(() => {
    const editor = new EditorView({
      parent: place.current as HTMLDivElement,
      state: EditorState.create({
        doc: text,
        extensions: [
          NONCE ? EditorView.cspNonce.of(NONCE) : [],
          lineNumbers(),
          history(),
          drawSelection(),
          yaml(),
          syntaxHighlighting(defaultHighlightStyle),
          LOOK,
          EditorView.contentAttributes.of({ "aria-label": "Manifest in YAML" }),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.updateListener.of((update) => update.docChanged && latest.current(update.state.doc.toString())),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);
  return <div ref={place} className={styles.editor} />;
}

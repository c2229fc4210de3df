/** The editor of manifests, with completion and marks from their schemas. The browser loads it when it is used. Its style elements need the page's nonce. */
import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { defaultHighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { completionsAt, mistakesOf } from "../../model/manifestFields";
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
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line-strong)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--selected)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", whiteSpace: "normal" },
  ".cm-completionInfo": { maxWidth: "340px", whiteSpace: "normal" },
});

interface YamlEditorProps {
  text: string;
  onChange: (text: string) => void;
  /** Where to go on, if the field that was there before had the focus. */
  focusAt: number | null;
}

export default function YamlEditor({ text, onChange, focusAt }: YamlEditorProps) {
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
        selection: { anchor: Math.min(focusAt ?? 0, text.length) },
        extensions: [
          NONCE ? EditorView.cspNonce.of(NONCE) : [],
          lineNumbers(),
          history(),
          drawSelection(),
          yaml(),
          syntaxHighlighting(defaultHighlightStyle),
          LOOK,
          autocompletion({ override: [complete], icons: false }),
          linter((shown) => marksOf(shown.state.doc.toString())),
          EditorView.contentAttributes.of({ "aria-label": "Manifest in YAML" }),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.updateListener.of((update) => update.docChanged && latest.current(update.state.doc.toString())),
        ],
      }),
    });
    view.current = editor;
    if (focusAt !== null) editor.focus();
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);
  return <div ref={place} className={styles.editor} />;
}

function complete(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/[\w.-]*/);
  if (!word || (word.from === word.to && !context.explicit)) return null;
  const options = completionsAt(context.state.doc.toString(), context.pos).map(({ label, about, isField }) => ({
    label,
    apply: isField ? `${label}: ` : label,
    ...(about ? { info: about } : {}),
  }));
  return options.length > 0 ? { from: word.from, options, validFor: /^[\w.-]*$/ } : null;
}

function marksOf(text: string): Diagnostic[] {
  return mistakesOf(text).map((each) => ({ ...each, severity: "error" }));
}

/** The text of the manifest: a plain field that can be used at once, until somebody comes to it. Then the editor with
 * completion takes its place, with the same text, focus and position. */
import { lazy, Suspense, useState } from "react";
import styles from "./Create.module.css";

const YamlEditor = lazy(() => import("./YamlEditor"));

interface ManifestEditorProps {
  text: string;
  onChange: (text: string) => void;
}

export function ManifestEditor({ text, onChange }: ManifestEditorProps) {
  const [isWanted, setWanted] = useState(false);
  const [hasFocus, setFocus] = useState(false);
  const [position, setPosition] = useState(0);
  const plain = (
    <textarea
      className={styles.plain}
      aria-label="Manifest in YAML"
      spellCheck={false}
      wrap="off"
      value={text}
      onChange={(event) => {
        setPosition(event.target.selectionStart);
        onChange(event.target.value);
      }}
      onSelect={(event) => setPosition(event.currentTarget.selectionStart)}
      onFocus={() => {
        setWanted(true);
        setFocus(true);
      }}
      onBlur={() => setFocus(false)}
      onPointerEnter={() => setWanted(true)}
    />
  );
  if (!isWanted) return plain;
  return (
    <Suspense fallback={plain}>
      <YamlEditor text={text} onChange={onChange} focusAt={hasFocus ? position : null} />
    </Suspense>
  );
}

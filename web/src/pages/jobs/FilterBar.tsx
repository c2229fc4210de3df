/** The filter as text, the states as buttons, and saved views. */
import { type FormEvent, useEffect, useState } from "react";
import { Menu } from "../../components/Menu";
import { Glyph } from "../../components/StateMark";
import { say } from "../../components/Toasts";
import { toggleWord } from "../../model/jobFilter";
import { lookOf } from "../../model/states";
import styles from "./Jobs.module.css";
import { deleteView, loadViews, saveView } from "./savedViews";

const STATES = ["running", "pending", "succeeded", "failed", "cancelled"];

export function FilterBar({ filter, onChange }: { filter: string; onChange: (filter: string) => void }) {
  const [text, setText] = useState(filter);
  const [views, setViews] = useState(loadViews);
  useEffect(() => setText(filter), [filter]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(text.trim());
  };
  const save = () => {
    setViews(saveView(text.trim()));
    say(`Saved the view “${text.trim()}” in this browser.`);
  };
  return (
    <form className={styles.filter} onSubmit={submit}>
      <input
        type="text"
        aria-label="Filter of jobs"
        placeholder="state:running label:team=film namespace:default"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => text.trim() !== filter && onChange(text.trim())}
      />
      <div className={styles.chips}>
        {STATES.map((state) => (
          <button
            key={state}
            type="button"
            aria-pressed={filter.split(/\s+/).includes(`state:${state}`)}
            onClick={() => onChange(toggleWord(filter, `state:${state}`))}
          >
            <Glyph look={lookOf(state)} />
            {state}
          </button>
        ))}
        <Menu
          label="Saved views"
          button="Views"
          items={[
            ...views.map((view) => ({ label: view, onSelect: () => onChange(view) })),
            { label: "Save this view", onSelect: save, isDisabled: text.trim() === "" || views.includes(text.trim()) },
            ...(views.includes(filter)
              ? [{ label: "Delete this view", onSelect: () => setViews(deleteView(filter)) }]
              : []),
          ]}
        />
      </div>
    </form>
  );
}

/** The most used fields of a job. Each writes into the text of the manifest, which stays the only truth. */
import { type Path, readField, splitWords, writeField } from "../../model/manifest";
import styles from "./Create.module.css";

interface JobFormProps {
  text: string;
  documents: Record<string, unknown>[];
  onChange: (text: string) => void;
}

interface Field {
  label: string;
  path: Path;
  kind?: "words" | "number";
  placeholder?: string;
  isWide?: boolean;
}

const FIELDS: Field[] = [
  { label: "Name", path: ["metadata", "name"], placeholder: "a generated name" },
  { label: "Namespace", path: ["metadata", "namespace"], placeholder: "default" },
  { label: "Command", path: ["spec", "command"], kind: "words", isWide: true },
  { label: "Tasks", path: ["spec", "count"], kind: "number", placeholder: "1" },
  { label: "Image", path: ["spec", "image"], placeholder: "none: a process" },
  { label: "cpu of a task", path: ["spec", "resources", "cpu"], placeholder: "1" },
  { label: "Memory of a task", path: ["spec", "resources", "memory"], placeholder: "no request" },
  { label: "Queue", path: ["spec", "queue"], placeholder: "default" },
  { label: "Priority", path: ["spec", "priority"], kind: "number", placeholder: "50" },
];
const TYPES = ["batch", "service", "system", "sysbatch"];
const TYPE: Path = ["spec", "type"];

export function JobForm({ text, documents, onChange }: JobFormProps) {
  const document = documents[0];
  if (documents.length !== 1 || !document || document.kind !== "Job") {
    return <p className="muted">The form is for a single job. Edit this manifest on the other side.</p>;
  }
  return (
    <div className={styles.form}>
      {FIELDS.map((field) => (
        <FormField
          key={field.label}
          field={field}
          value={readField(document, field.path)}
          onChange={(value) => onChange(writeField(text, field.path, readValue(field, value)))}
        />
      ))}
      <label className={styles.field}>
        Type
        <select
          value={readField(document, TYPE) || "batch"}
          onChange={(event) => onChange(writeField(text, TYPE, event.target.value))}
        >
          {TYPES.map((type) => (
            <option key={type}>{type}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

function readValue(field: Field, value: string): unknown {
  if (field.kind === "words") return value.trim() ? splitWords(value) : "";
  if (field.kind === "number" && /^\d+$/.test(value)) return Number(value);
  return value;
}

/** Words are written when the field is left: a space at the end would be lost while typing. */
function FormField({ field, value, onChange }: { field: Field; value: string; onChange: (value: string) => void }) {
  const isLate = field.kind === "words";
  return (
    <label className={`${styles.field} ${field.isWide ? styles.wide : ""}`}>
      {field.label}
      <input
        key={isLate ? value : undefined}
        type="text"
        inputMode={field.kind === "number" ? "numeric" : "text"}
        placeholder={field.placeholder}
        {...(isLate
          ? { defaultValue: value, onBlur: (event) => event.target.value !== value && onChange(event.target.value) }
          : { value, onChange: (event) => onChange(event.target.value) })}
      />
    </label>
  );
}

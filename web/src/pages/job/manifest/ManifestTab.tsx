/** The manifest that would submit the same job again, and what changed between its versions. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { stringify } from "yaml";
import type { Schemas } from "../../../api/client";
import { type JobKey, manifestQuery } from "../../../api/queries";
import { Failure, Loading } from "../../../components/Notice";
import { Panel } from "../../../components/Panel";
import { say, sayError } from "../../../components/Toasts";
import { type DiffLine, diffLines } from "../../../model/lineDiff";
import styles from "./Manifest.module.css";

const SIGNS = { same: " ", removed: "−", added: "+" } as const;

export function ManifestTab({ jobKey }: { jobKey: JobKey }) {
  const [version, setVersion] = useState<number>();
  const [other, setOther] = useState<number>();
  const manifest = useQuery(manifestQuery(jobKey, version));
  const compared = useQuery({ ...manifestQuery(jobKey, other), enabled: other !== undefined });
  if (manifest.isError && !manifest.data) {
    return <Failure error={manifest.error} retry={() => void manifest.refetch()} />;
  }
  if (!manifest.data) return <Loading />;
  const { data } = manifest;
  const text = stringify(data.manifest);
  const lines: DiffLine[] =
    other !== undefined && compared.data
      ? diffLines(stringify(compared.data.manifest), text)
      : text
          .trimEnd()
          .split("\n")
          .map((each) => ({ kind: "same", text: each }));
  const copy = () => void navigator.clipboard.writeText(text).then(() => say("Copied."), sayError);
  return (
    <Panel
      title="Manifest"
      actions={
        <>
          <Versions data={data} other={other} onVersion={setVersion} onOther={setOther} />
          <button type="button" onClick={copy}>
            Copy
          </button>
        </>
      }
    >
      <Notes data={data} />
      {compared.isError && <Failure error={compared.error} />}
      {other !== undefined && compared.data && <Changed lines={lines} from={other} to={data.version} />}
      <pre className={styles.manifest}>
        {lines.map((each, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
          <span key={row} data-kind={each.kind}>
            {other !== undefined && `${SIGNS[each.kind]} `}
            {each.text}
            {"\n"}
          </span>
        ))}
      </pre>
    </Panel>
  );
}

interface VersionsProps {
  data: Schemas["JobManifest"];
  other: number | undefined;
  onVersion: (version: number) => void;
  onOther: (version: number | undefined) => void;
}

function Versions({ data, other, onVersion, onOther }: VersionsProps) {
  if (data.versions.length < 2) return <span>version {data.version}, the only one</span>;
  return (
    <>
      <label>
        Version{" "}
        <select value={data.version} onChange={(event) => onVersion(Number(event.target.value))}>
          {data.versions.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label>
        Compare with{" "}
        <select
          value={other ?? ""}
          onChange={(event) => onOther(event.target.value ? Number(event.target.value) : undefined)}
        >
          <option value="">nothing</option>
          {data.versions.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
    </>
  );
}

function Notes({ data }: { data: Schemas["JobManifest"] }) {
  return (
    <>
      {!data.exact && (
        <p className={styles.note}>
          Not everything of this job can be written in a manifest: check it before you use it.
        </p>
      )}
      {data.masked && (
        <p className={styles.note}>Your role does not see the values of environment variables: they are masked.</p>
      )}
    </>
  );
}

function Changed({ lines, from, to }: { lines: DiffLine[]; from: number; to: number }) {
  const count = (kind: DiffLine["kind"]) => lines.filter((each) => each.kind === kind).length;
  return (
    <p className={styles.note}>
      From version {from} to version {to}: {count("added")} lines added, {count("removed")} removed.
    </p>
  );
}

/** A manifest as form and YAML side by side, with the plan of the manager before anything is submitted. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { stringify } from "yaml";
import { applyManifests } from "../../api/actions";
import { type JobKey, manifestQuery } from "../../api/queries";
import { ActionButton } from "../../components/ActionButton";
import { Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { say, sayError } from "../../components/Toasts";
import { parseManifest } from "../../model/manifest";
import { TEMPLATES } from "../../model/manifestTemplates";
import { PageHead } from "../../shell/Page";
import { protectInput } from "../../shell/version";
import styles from "./Create.module.css";
import { JobForm } from "./JobForm";
import { ManifestEditor } from "./ManifestEditor";
import { PlanPreview } from "./PlanPreview";

const FIRST = TEMPLATES[0]?.text ?? "";

/** `?from=namespace/job@run` begins with the manifest of that job. */
export function Create() {
  const { from } = useSearch({ from: "/create" });
  const [namespace, job] = from?.split("/") ?? [];
  if (!namespace || !job) return <ManifestForm first={FIRST} />;
  return <FromJob key={from} jobKey={{ namespace, job }} />;
}

function FromJob({ jobKey }: { jobKey: JobKey }) {
  const manifest = useQuery({ ...manifestQuery(jobKey, undefined), staleTime: Number.POSITIVE_INFINITY });
  if (manifest.isError) return <Failure error={manifest.error} retry={() => void manifest.refetch()} />;
  if (!manifest.data) return <Loading />;
  return <ManifestForm first={stringify(manifest.data.manifest)} origin={jobKey.job} />;
}

function ManifestForm({ first, origin }: { first: string; origin?: string }) {
  const [text, setText] = useState(first);
  const [isBusy, setBusy] = useState(false);
  const navigate = useNavigate();
  const manifest = useMemo(() => parseManifest(text), [text]);
  const isTemplate = TEMPLATES.some((template) => template.text === text);
  const isChanged = text !== first && !isTemplate;
  useEffect(() => (isChanged ? protectInput() : undefined), [isChanged]);

  const submit = async () => {
    setBusy(true);
    try {
      const applied = await applyManifests(manifest.documents);
      say(applied.items.map((item) => `${item.kind} ${item.name} ${item.action}`).join(", "));
      const job = applied.items.find((item) => item.job)?.job;
      if (job) {
        const params = { namespace: job.namespace, job: `${job.name}@${job.run}`, tab: "tasks" };
        await navigate({ to: "/jobs/$namespace/$job/$tab", params });
      } else if (applied.items.some((item) => item.object)) {
        await navigate({ to: "/testbeds" });
      }
    } catch (error) {
      sayError(error);
    }
    setBusy(false);
  };
  return (
    <>
      <PageHead title={origin ? `Edit ${origin}` : "Create"}>
        <label>
          Begin with{" "}
          <select
            aria-label="Template"
            value={TEMPLATES.find((template) => template.text === text)?.name ?? ""}
            onChange={(event) => setText(TEMPLATES.find((each) => each.name === event.target.value)?.text ?? text)}
          >
            {!isTemplate && <option value="">{origin ? `the manifest of ${origin}` : "your manifest"}</option>}
            {TEMPLATES.map((template) => (
              <option key={template.name}>{template.name}</option>
            ))}
          </select>
        </label>
        <ActionButton
          right="submit"
          data-kind="primary"
          disabled={isBusy || manifest.problem !== null}
          onClick={() => void submit()}
        >
          Submit
        </ActionButton>
      </PageHead>
      <div className={styles.sides}>
        <Panel title="Form">
          <JobForm text={text} documents={manifest.documents} onChange={setText} />
        </Panel>
        <Panel title="Manifest" isFlush>
          <ManifestEditor text={text} onChange={setText} />
        </Panel>
      </div>
      <PlanPreview manifest={manifest} />
    </>
  );
}

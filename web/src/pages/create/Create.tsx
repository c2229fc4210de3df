/** A manifest as form and YAML side by side, with the plan of the manager before anything is submitted. */
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { applyManifests } from "../../api/actions";
import { Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { say, sayError } from "../../components/Toasts";
import { parseManifest } from "../../model/manifest";
import { TEMPLATES } from "../../model/manifestTemplates";
import { PageHead } from "../../shell/Page";
import { protectInput } from "../../shell/version";
import styles from "./Create.module.css";
import { JobForm } from "./JobForm";
import { PlanPreview } from "./PlanPreview";

const YamlEditor = lazy(() => import("./YamlEditor"));
const FIRST = TEMPLATES[0]?.text ?? "";

export function Create() {
  const [text, setText] = useState(FIRST);
  const [isBusy, setBusy] = useState(false);
  const navigate = useNavigate();
  const manifest = useMemo(() => parseManifest(text), [text]);
  const isChanged = !TEMPLATES.some((template) => template.text === text);
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
      <PageHead title="Create">
        <label>
          Begin with{" "}
          <select
            aria-label="Template"
            value={TEMPLATES.find((template) => template.text === text)?.name ?? ""}
            onChange={(event) => setText(TEMPLATES.find((each) => each.name === event.target.value)?.text ?? text)}
          >
            {isChanged && <option value="">your manifest</option>}
            {TEMPLATES.map((template) => (
              <option key={template.name}>{template.name}</option>
            ))}
          </select>
        </label>
        <button
          type="button"
          data-kind="primary"
          disabled={isBusy || manifest.problem !== null}
          onClick={() => void submit()}
        >
          Submit
        </button>
      </PageHead>
      <div className={styles.sides}>
        <Panel title="Form">
          <JobForm text={text} documents={manifest.documents} onChange={setText} />
        </Panel>
        <Panel title="Manifest" isFlush>
          <Suspense fallback={<Loading />}>
            <YamlEditor text={text} onChange={setText} />
          </Suspense>
        </Panel>
      </div>
      <PlanPreview manifest={manifest} />
    </>
  );
}

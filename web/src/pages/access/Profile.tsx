/** Who the caller is to the cluster, and what that allows. */
import { Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import { Panel } from "../../components/Panel";
import { Glyph } from "../../components/StateMark";
import { type Me, type Right, ROLES, refusalOf } from "../../model/rights";
import styles from "./Access.module.css";

const ABOUT: Record<Right, string> = {
  submit: "run, change and stop jobs and BatchJobs",
  applySuggestion: "apply a suggestion to a job that waits",
  schedule: "make and delete Schedulings",
  operate: "manage nodes, queues, policies, testbeds and settings",
  administer: "manage users and keys, and read the audit log",
};

export function Profile({ me }: { me: Me }) {
  const facts: [string, string][] = [
    ["user", me.user],
    ["roles", me.roles.join(", ")],
    ["API key", me.key ?? ""],
    ["signed in by", me.authority ?? ""],
    ["tenant", me.tenant ?? ""],
    ["sees", me.namespaces ? `the namespaces ${me.namespaces.join(", ")}` : "the whole cluster"],
    ["only the queue", me.queue ?? ""],
    ["only the testbeds", (me.testbeds ?? []).join(", ")],
  ];
  return (
    <div className={styles.stack}>
      <Panel title="You" actions={<Command text="shunter whoami" />}>
        <dl className={styles.facts}>
          {facts
            .filter(([, value]) => value !== "")
            .map(([name, value]) => (
              <Fact key={name} name={name} value={value} />
            ))}
          {me.expires_at && (
            <>
              <dt>the key expires</dt>
              <dd>
                <Time at={me.expires_at} />
              </dd>
            </>
          )}
        </dl>
      </Panel>
      <Panel title="What you may do">
        <ul className={styles.rights}>
          <li>
            <Glyph look="succeeded" /> read
          </li>
          {(Object.keys(ROLES) as Right[]).map((right) => {
            const refusal = refusalOf(me, right);
            return (
              <li key={right}>
                <Glyph look={refusal ? "cancelled" : "succeeded"} />{" "}
                <span>
                  {refusal && "not: "}
                  {ABOUT[right]}
                  {refusal && <span className="muted"> {refusal}</span>}
                </span>
              </li>
            );
          })}
        </ul>
      </Panel>
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

/** How far shadow policies agree with the active one, in the recording. */
import type { Schemas } from "../../api/client";
import { Command } from "../../components/Command";
import { Panel } from "../../components/Panel";
import { ShareBar } from "../../components/ShareBar";
import { percent, plural } from "../../model/quantities";
import styles from "./Decisions.module.css";

export function Shadows({ shadows }: { shadows: Schemas["ShadowAgreement"][] }) {
  return (
    <Panel title="Shadow policies">
      {shadows.length === 0 ? (
        <div className={styles.empty}>
          <p>
            No shadow decides along. It sees what the active policy sees, and nothing of what it decides is applied:
          </p>
          <Command text="python my_shadow.py" />
        </div>
      ) : (
        <ul className={styles.items}>
          {shadows.map((shadow) => (
            <li key={shadow.name}>
              <strong>{shadow.name}</strong>{" "}
              <ShareBar
                part={shadow.agreed}
                whole={shadow.compared}
                text={`agrees with ${percent(shadow.agreed, shadow.compared)} of ${plural(shadow.compared, "decision")}`}
              />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

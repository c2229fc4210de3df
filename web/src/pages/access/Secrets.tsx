/** The names of secrets. No page and no answer of the API contains a value. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { secretsQuery } from "../../api/queries";
import { Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import type { Column } from "../../components/DataTable";
import { Empty } from "../../components/Notice";
import type { Me } from "../../model/rights";
import styles from "./Access.module.css";
import { PagedTable } from "./PagedTable";

type Secret = Schemas["SecretView"];

const COLUMNS: Column<Secret>[] = [
  { title: "Secret", cell: (secret) => secret.name },
  { title: "Namespace", cell: (secret) => secret.namespace },
  { title: "Version", cell: (secret) => secret.version, isNumber: true },
  { title: "Set by", cell: (secret) => secret.set_by },
  { title: "Set at", cell: (secret) => <Time at={secret.updated_at} /> },
];

export function Secrets({ me }: { me: Me }) {
  const [namespace, setNamespace] = useState(me.namespace ?? "default");
  const [text, setText] = useState(namespace);
  const settle = () => setNamespace(text.trim() || (me.namespace ?? "default"));
  const secrets = useInfiniteQuery(secretsQuery(namespace));
  return (
    <>
      <div className={styles.filters}>
        <label>
          Namespace{" "}
          <input
            type="text"
            value={text}
            list="own-namespaces"
            onChange={(event) => setText(event.target.value)}
            onBlur={settle}
            onKeyDown={(event) => event.key === "Enter" && settle()}
          />
          <datalist id="own-namespaces">
            {(me.namespaces ?? []).map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </label>
      </div>
      <PagedTable
        title="Secrets: names only"
        list={secrets}
        columns={COLUMNS}
        keyOf={(secret) => `${secret.namespace}/${secret.name}`}
        actions={<Command text={`shunter secret set NAME --namespace ${namespace}`} />}
        empty={
          <Empty title={`No secrets in ${namespace}`} command="shunter secret set db-password < password.txt">
            Tasks read a secret as a file or a variable; nobody can read its value here:
          </Empty>
        }
      />
    </>
  );
}

/** API keys, without their secrets. One can be revoked here: that is urgent when it leaked. */
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { revokeKey } from "../../api/actions";
import type { Schemas } from "../../api/client";
import { keysQuery } from "../../api/queries";
import { ActionButton } from "../../components/ActionButton";
import { Ago, Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import type { Column } from "../../components/DataTable";
import { Dialog } from "../../components/Dialog";
import { Empty } from "../../components/Notice";
import { say, sayError } from "../../components/Toasts";
import { PagedTable } from "./PagedTable";

type Key = Schemas["KeyView"];

export function Keys() {
  const keys = useInfiniteQuery(keysQuery);
  const queries = useQueryClient();
  const [asked, setAsked] = useState<Key | null>(null);
  const revoke = async (key: Key) => {
    try {
      await revokeKey(key.id);
      say(`Revoked ${key.id}.`);
      await queries.invalidateQueries({ queryKey: ["keys"] });
    } catch (error) {
      sayError(error);
    }
    setAsked(null);
  };
  const columns: Column<Key>[] = [
    { title: "Key", cell: (key) => <code>{key.id}</code> },
    { title: "User", cell: (key) => key.user },
    { title: "Roles", cell: (key) => key.roles.join(", ") },
    { title: "Bound to", cell: boundsOf },
    { title: "Note", cell: (key) => key.note || "–" },
    { title: "Expires", cell: (key) => (key.expires_at ? <Time at={key.expires_at} /> : "never") },
    { title: "Last used", cell: (key) => (key.last_used_at ? <Ago at={key.last_used_at} /> : "never") },
    {
      title: "Actions",
      cell: (key) => (
        <ActionButton right="administer" aria-label={`Revoke ${key.id}`} onClick={() => setAsked(key)}>
          Revoke
        </ActionButton>
      ),
    },
  ];
  return (
    <>
      <PagedTable
        title="API keys"
        list={keys}
        columns={columns}
        keyOf={(key) => key.id}
        actions={<Command text="shunter key create --user NAME" />}
        empty={
          <Empty title="No API keys yet" command="shunter key create --role submitter">
            A key is shown once, when it is made:
          </Empty>
        }
      />
      {asked && (
        <Dialog
          title={`Revoke the key ${asked.id} of ${asked.user}?`}
          onClose={() => setAsked(null)}
          actions={
            <button type="button" data-kind="primary" onClick={() => void revoke(asked)}>
              Revoke
            </button>
          }
        >
          <p>Every request with it is refused from now on, and its browser sessions end. This cannot be undone.</p>
        </Dialog>
      )}
    </>
  );
}

function boundsOf(key: Key): string {
  const bounds = [
    key.tenant && `tenant ${key.tenant}`,
    key.namespace && `namespace ${key.namespace}`,
    key.queue && `queue ${key.queue}`,
    ...(key.testbeds ?? []).map((testbed) => `testbed ${testbed}`),
  ];
  return bounds.filter(Boolean).join(", ") || "–";
}

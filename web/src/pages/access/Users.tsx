/** Users and their roles. */
import { useInfiniteQuery } from "@tanstack/react-query";
import type { Schemas } from "../../api/client";
import { usersQuery } from "../../api/queries";
import { Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import type { Column } from "../../components/DataTable";
import { Empty } from "../../components/Notice";
import { StateMark } from "../../components/StateMark";
import { PagedTable } from "./PagedTable";

type User = Schemas["UserView"];

const COLUMNS: Column<User>[] = [
  { title: "User", cell: (user) => user.name },
  { title: "Roles", cell: (user) => user.roles.join(", ") },
  { title: "Tenant", cell: (user) => user.tenant ?? "–" },
  {
    title: "State",
    cell: (user) => (
      <StateMark state={user.disabled ? "cancelled" : "succeeded"} word={user.disabled ? "disabled" : "enabled"} />
    ),
  },
  { title: "Created", cell: (user) => <Time at={user.created_at} /> },
];

export function Users() {
  const users = useInfiniteQuery(usersQuery);
  return (
    <PagedTable
      title="Users"
      list={users}
      columns={COLUMNS}
      keyOf={(user) => `${user.tenant ?? ""}/${user.name}`}
      actions={<Command text="shunter user create NAME --role submitter" />}
      empty={
        <Empty title="No users yet" command="shunter user create anna --role submitter">
          Everybody uses the token of the cluster. Give each person a user with roles:
        </Empty>
      }
    />
  );
}

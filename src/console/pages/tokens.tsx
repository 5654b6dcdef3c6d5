/** The tokens page: who may use the API, with which role, and until when. */
import { useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { wholeList } from "../data/list.ts";
import { quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { Button } from "../ui/button.tsx";
import { textColumn, timeColumn } from "../ui/columns.tsx";
import { CopyButton, SameAsCommand } from "../ui/copy.tsx";
import { FormDialog, SelectField, TextField } from "../ui/form.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";

type Row = ResponseOf<"GET /tokens">["tokens"][number];
const ROLES = ["viewer", "operator", "admin"] as const;

function stateOf({ revoked_at: revoked, expires_at: expires }: Row): string {
  if (revoked !== null) return "revoked";
  return expires !== null && Date.parse(expires) < Date.now() ? "expired" : "active";
}

const COLUMNS: readonly Column<Row>[] = [
  textColumn("name", "Name", ({ name }) => name),
  textColumn("role", "Role", ({ role }) => role, { track: "90px" }),
  textColumn("by", "Created by", ({ created_by }) => created_by, { track: "140px", secondary: true }),
  timeColumn("used", "Last used", ({ last_used_at }) => last_used_at),
  timeColumn("expires", "Expires", ({ expires_at }) => expires_at, { secondary: true }),
  {
    key: "state",
    title: "State",
    track: "100px",
    aside: true,
    sort: stateOf,
    cell: (row) => <State name={stateOf(row)} />,
  },
  {
    key: "act",
    title: "Action",
    track: "90px",
    aside: true,
    cell: (row) => stateOf(row) === "active" && <Revoke row={row} />,
  },
];

export function Tokens() {
  const [isCreating, setCreating] = useState(false);
  const list = wholeList(useRoute("tokens", "GET /tokens"), ({ tokens }) => tokens);
  return (
    <ListPage
      title="Tokens"
      facts="Who may use the API, with which role, until when"
      command="redrive token list"
      actions={
        <Button tone="primary" onClick={() => setCreating(true)}>
          Create a token…
        </Button>
      }
      list={list}
      filters={[
        {
          key: "state",
          label: "State",
          values: ["all", "active", "expired", "revoked"],
          as: "chips",
          of: stateOf,
        },
        { key: "q", label: "Search names", of: ({ name }) => name },
      ]}
      columns={COLUMNS}
      keyOf={({ token_id }) => token_id}
      empty={{ title: "There are no tokens.", command: "redrive token create --name ci --role viewer" }}
    >
      {isCreating && <CreateToken onClose={() => setCreating(false)} />}
    </ListPage>
  );
}

/** Revoking cannot be undone, so it needs a confirmation. */
function Revoke({ row }: { readonly row: Row }) {
  const [isAsking, setAsking] = useState(false);
  const { token_id, name } = row;
  return (
    <>
      <Button tone="danger" onClick={() => setAsking(true)}>
        Revoke…
      </Button>
      {isAsking && (
        <FormDialog
          title={`Revoke ${name}`}
          submit="Revoke"
          onClose={() => setAsking(false)}
          act={() => call("DELETE /tokens/{token_id}", { params: { token_id } })}
        >
          <p>Requests with this token are refused from now on. This cannot be undone.</p>
        </FormDialog>
      )}
    </>
  );
}

function CreateToken({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<(typeof ROLES)[number]>("viewer");
  const [expires, setExpires] = useState("90d");
  return (
    <FormDialog
      title="Create a token"
      submit="Create"
      onClose={onClose}
      act={() => call("POST /tokens", { body: { name, role, expires } })}
      done={({ token }) => (
        <div>
          <p>Copy the token now. It is not stored and cannot be shown again.</p>
          <p className="my-3 rounded bg-code p-2 font-mono break-all">{token}</p>
          <CopyButton text={token} label="Copy the token" />
        </div>
      )}
    >
      <TextField label="Name" required value={name} onChange={setName} />
      <SelectField label="Role" values={ROLES} value={role} onChange={setRole} />
      <TextField label="Expires after" required value={expires} onChange={setExpires} />
      <SameAsCommand
        command={`redrive token create --name ${quoted(name || "NAME")} --role ${role} --expires ${quoted(expires)}`}
      />
    </FormDialog>
  );
}

/** Tokens: who may use the API, with which role, until when. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

type Row = ResponseOf<"GET /tokens">["tokens"][number];
const ROLES = ["viewer", "operator", "admin"] as const;

function stateOf({ revoked_at: revoked, expires_at: expires }: Row): string {
  if (revoked !== null) return "revoked";
  return expires !== null && Date.parse(expires) < Date.now() ? "expired" : "active";
}

export function Tokens() {
  const client = useQueryClient();
  const [isCreating, setCreating] = useState(false);
  const tokens = useQuery({
    queryKey: ["tokens"],
    queryFn: ({ signal }) => call("GET /tokens", {}, { signal }),
  });
  const revoke = useMutation({
    mutationFn: (token_id: string) => call("DELETE /tokens/{token_id}", { params: { token_id } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["tokens"] }),
  });
  const rows = tokens.data?.tokens ?? [];
  const columns: readonly Column<Row>[] = [
    {
      key: "name",
      title: "Name",
      track: "minmax(0, 1fr)",
      cell: ({ name }) => <span className="font-medium">{name}</span>,
    },
    { key: "role", title: "Role", track: "90px", cell: ({ role }) => role },
    { key: "by", title: "Created by", track: "140px", secondary: true, cell: ({ created_by }) => created_by },
    {
      key: "used",
      title: "Last used",
      track: "100px",
      secondary: true,
      cell: ({ last_used_at }) => <Time at={last_used_at} />,
    },
    {
      key: "expires",
      title: "Expires",
      track: "100px",
      secondary: true,
      cell: ({ expires_at }) => <Time at={expires_at} />,
    },
    { key: "state", title: "State", track: "100px", cell: (row) => <State name={stateOf(row)} /> },
    {
      key: "act",
      title: "Action",
      track: "84px",
      cell: (row) =>
        stateOf(row) === "active" ? (
          <Button tone="danger" onClick={() => revoke.mutate(row.token_id)}>
            Revoke
          </Button>
        ) : null,
    },
  ];
  return (
    <>
      <Heading
        title="Tokens"
        command="redrive token list"
        actions={
          <Button tone="primary" onClick={() => setCreating(true)}>
            Create a token…
          </Button>
        }
      />
      <Panel>
        {tokens.isPending && <Skeleton />}
        {tokens.error && <ErrorPanel error={tokens.error} />}
        {revoke.error && <ErrorPanel error={revoke.error} />}
        {tokens.data && rows.length === 0 && (
          <Empty title="There are no tokens." command="redrive token create ci --role viewer" />
        )}
        {rows.length > 0 && (
          <Table label="Tokens" columns={columns} rows={rows} keyOf={({ token_id }) => token_id} />
        )}
      </Panel>
      {isCreating && <CreateToken onClose={() => setCreating(false)} />}
    </>
  );
}

const FIELD = "mt-1 w-full rounded-md border border-line-strong bg-panel px-2 py-1";

function CreateToken({ onClose }: { readonly onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<(typeof ROLES)[number]>("viewer");
  const [expires, setExpires] = useState("90d");
  const create = useMutation({
    mutationFn: () => call("POST /tokens", { body: { name, role, expires } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["tokens"] }),
  });
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Dialog title="Create a token" onClose={onClose}>
      {create.data ? (
        <div>
          <p>Copy the token now. It is not stored and cannot be shown again.</p>
          <p className="my-3 rounded bg-code p-2 font-mono break-all">{create.data.token}</p>
          <CopyButton text={create.data.token} label="Copy the token" />
        </div>
      ) : (
        <form className="grid gap-3" onSubmit={onSubmit}>
          <label>
            Name
            <input
              required
              value={name}
              onChange={(event) => setName(event.target.value)}
              className={FIELD}
            />
          </label>
          <label>
            Role
            <select
              value={role}
              onChange={(event) => setRole(ROLES.find((one) => one === event.target.value) ?? "viewer")}
              className={FIELD}
            >
              {ROLES.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
          <label>
            Expires after
            <input
              required
              value={expires}
              onChange={(event) => setExpires(event.target.value)}
              className={FIELD}
            />
          </label>
          {create.error && <ErrorPanel error={create.error} />}
          <div className="flex justify-end">
            <Button type="submit" tone="primary">
              Create
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

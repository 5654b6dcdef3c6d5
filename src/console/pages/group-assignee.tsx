/** Assigns a group to oneself with one click, to somebody else by name, or to nobody. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { useSession } from "../shell/session.tsx";
import { SameAsCommand } from "../ui/copy.tsx";
import { FormDialog, TextField } from "../ui/form.tsx";
import { Menu } from "../ui/menu.tsx";
import { ErrorPanel } from "../ui/panel.tsx";
import type { GroupDetails } from "./group-facts.tsx";

function assign(signature: string, assignee: string | null) {
  return call("POST /groups/{group}/assign", { params: { group: signature }, body: { assignee } });
}

export function AssignMenu({ group: { signature, assignee } }: { readonly group: GroupDetails }) {
  const client = useQueryClient();
  const { name } = useSession();
  const [isNaming, setNaming] = useState(false);
  const change = useMutation({
    mutationFn: (person: string | null) => assign(signature, person),
    onSuccess: () => client.invalidateQueries(),
  });
  return (
    <>
      <Menu
        label="Assign"
        entries={[
          ...(assignee === name ? [] : [{ label: `To me (${name})`, onChoose: () => change.mutate(name) }]),
          { label: "To somebody else…", onChoose: () => setNaming(true) },
          ...(assignee === undefined ? [] : [{ label: "To nobody", onChoose: () => change.mutate(null) }]),
        ]}
      />
      {change.error && <ErrorPanel error={change.error} />}
      {isNaming && <AssignDialog signature={signature} onClose={() => setNaming(false)} />}
    </>
  );
}

function AssignDialog({ signature, onClose }: { readonly signature: string; readonly onClose: () => void }) {
  const [person, setPerson] = useState("");
  return (
    <FormDialog
      title="Assign the group"
      submit="Assign"
      onClose={onClose}
      act={() => assign(signature, person)}
    >
      <TextField label="Person" required value={person} onChange={setPerson} />
      <SameAsCommand command={`redrive groups assign ${signature} --to ${quoted(person || "PERSON")}`} />
    </FormDialog>
  );
}

/** The dialogs of a group: ignore it for a while, merge it, split it. */

import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { call } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { SameAsCommand } from "../ui/copy.tsx";
import { FormDialog, TextField } from "../ui/form.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { Pattern } from "../ui/pattern.tsx";
import { type GroupDetails, nearGroups, useExplanation } from "./group-facts.tsx";

interface DialogProps {
  readonly group: GroupDetails;
  readonly onClose: () => void;
}

export function IgnoreDialog({ group: { signature }, onClose }: DialogProps) {
  const [until, setUntil] = useState("");
  const [count, setCount] = useState("");
  const [perHour, setPerHour] = useState("");
  const [note, setNote] = useState("");
  const options = [
    until && `--until ${quoted(until)}`,
    count && `--count ${count}`,
    perHour && `--rate ${perHour}/h`,
    note && `--note ${quoted(note)}`,
  ];
  return (
    <FormDialog
      title="Ignore the group"
      submit="Ignore"
      onClose={onClose}
      act={() =>
        call("POST /groups/{group}/ignore", {
          params: { group: signature },
          body: {
            ...(until !== "" && { until }),
            ...(count !== "" && { count: Number(count) }),
            ...(perHour !== "" && { per_hour: Number(perHour) }),
            ...(note !== "" && { note }),
          },
        })
      }
    >
      <p className="text-muted">
        The group is hidden from lists until one of these is reached. Without any, it stays ignored until
        somebody reopens it.
      </p>
      <TextField label="Until" hint="a time, or a duration such as 24h" value={until} onChange={setUntil} />
      <TextField
        label="Until this many new letters have arrived"
        inputMode="numeric"
        pattern="[1-9][0-9]*"
        value={count}
        onChange={setCount}
      />
      <TextField
        label="Until more than this many letters arrive within an hour"
        inputMode="numeric"
        pattern="[1-9][0-9]*"
        value={perHour}
        onChange={setPerHour}
      />
      <TextField label="Note" hint="optional" value={note} onChange={setNote} />
      <SameAsCommand command={["redrive groups ignore", signature, ...options].filter(Boolean).join(" ")} />
    </FormDialog>
  );
}

/**
 * Merges this group into another one. Suggests similar groups; any other group can be entered by its
 * signature.
 */
export function MergeDialog({ group, onClose }: DialogProps) {
  const navigate = useNavigate();
  const [into, setInto] = useState("");
  const list = useId();
  const near = nearGroups(useExplanation(group.signature).data?.nearest ?? []);
  const groups = useRoute("groups", "GET /groups", { query: {} });
  const others = groups.data?.groups.filter(({ signature }) => signature !== group.signature) ?? [];
  return (
    <FormDialog
      title="Merge this group into another one"
      submit={`Merge ${plural(group.count, "letter")}`}
      onClose={onClose}
      act={async () => {
        const body = { groups: [group.signature], into };
        const { signature } = await call("POST /groups/merge", { body });
        void navigate({ to: "/groups/$signature", params: { signature } });
      }}
    >
      <p className="text-muted">
        The letters of this group, and later ones like them, move to the other group. The merge can be removed
        again.
      </p>
      {near.length > 0 && (
        <fieldset className="grid gap-1">
          <legend className="font-medium">Similar groups</legend>
          {near.map(({ signature, title, pattern, count }) => (
            <label key={signature} className="flex items-center gap-2">
              <input
                type="radio"
                name="into"
                checked={into === signature}
                onChange={() => setInto(signature)}
              />
              <Pattern text={title ?? pattern ?? signature} className="min-w-0 flex-1 truncate" />
              <span className="text-muted">{countText(count)}</span>
            </label>
          ))}
        </fieldset>
      )}
      <TextField
        mono
        required
        label="Into"
        hint="the signature of the other group, or a unique prefix"
        list={list}
        value={into}
        onChange={setInto}
      />
      <datalist id={list}>
        {others.map(({ signature, title }) => (
          <option key={signature} value={signature} label={title} />
        ))}
      </datalist>
      <SameAsCommand
        command={`redrive groups merge ${group.signature} --into ${quoted(into || "SIGNATURE")}`}
      />
    </FormDialog>
  );
}

/**
 * Splits off the letters whose message contains a given text. The number of matching letters is updated while
 * typing.
 */
export function SplitDialog({ group: { signature, count, sample_items: samples }, onClose }: DialogProps) {
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const found = useRoute(
    "letters",
    "GET /letters/count",
    { query: { group: [signature], search: text } },
    { enabled: text !== "" },
  );
  const options = name === "" ? "" : ` --name ${quoted(name)}`;
  return (
    <FormDialog
      title="Split the group"
      submit="Split"
      onClose={onClose}
      act={async () => {
        const params = { group: signature };
        const body = { text, ...(name !== "" && { name }) };
        const { signature: other } = await call("POST /groups/{group}/split", { params, body });
        void navigate({ to: "/groups/$signature", params: { signature: other } });
      }}
    >
      <p className="text-muted">
        Letters whose message contains the text, and later ones, move to a separate group. For example{" "}
        {samples.slice(0, 3).join(", ")} are in this group now.
      </p>
      <TextField required label="Text in the message" value={text} onChange={setText} />
      <p role="status">
        {found.data &&
          text !== "" &&
          `${plural(found.data.total, "letter")} of ${countText(count)} would move.`}
      </p>
      <TextField label="Name of the new group" hint="optional" value={name} onChange={setName} />
      <SameAsCommand
        command={`redrive groups split ${signature} --text ${quoted(text || "TEXT")}${options}`}
      />
    </FormDialog>
  );
}

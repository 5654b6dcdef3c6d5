/**
 * A bulk change: a preview that freezes the letters, then the change of exactly those. Starting repeats the id and the number of
 * the frozen selection, so that letters which failed later are never touched.
 */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { type ListSearch, letterOptions, letterQuery, quoted } from "../data/search.ts";
import { Button } from "../ui/button.tsx";
import { SameAsCommand } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { CheckField, TextField } from "../ui/form.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { ErrorPanel, Skeleton } from "../ui/panel.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { Differences } from "./letter-data.tsx";

export type BulkKind = "retry" | "edit" | "discard" | "restore";
type Selection = ResponseOf<"POST /selections">;

/** The letters to change: those with these ids, or all that match a search. */
export interface BulkTarget {
  readonly queue: string;
  readonly ids?: readonly string[];
  readonly search?: ListSearch;
}

const WORDS = {
  retry: { title: "Retry", start: "Start the retry", tone: "primary", effect: "will be retried" },
  edit: { title: "Edit", start: "Change the data", tone: "primary", effect: "will be changed" },
  discard: { title: "Discard", start: "Discard", tone: "danger", effect: "will be discarded" },
  restore: { title: "Restore", start: "Restore", tone: "primary", effect: "will be restored" },
} as const;

/** From this number on, a change that takes letters out of the queue asks for the number. */
const TYPED_COUNT = 10;

interface BulkDialogProps {
  readonly kind: BulkKind;
  readonly target: BulkTarget;
  readonly onClose: () => void;
  readonly onStarted?: () => void;
}

/** The preview belongs to the options that it was made with: changing one asks for a new preview. */
export function BulkDialog({ kind, target, onClose, onStarted }: BulkDialogProps) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const [plan, setPlan] = useState<Plan>(EMPTY_PLAN);
  const [typed, setTyped] = useState("");
  const words = WORDS[kind];
  const preview = useMutation({ mutationFn: (given: Plan) => freeze(kind, target, given) });
  const start = useMutation({
    mutationFn: ({ selection_id, count }: Selection) =>
      call("POST /operations", { body: { selection_id, count } }),
    onSuccess: ({ operation_id: id }) => {
      onStarted?.();
      onClose();
      void client.invalidateQueries();
      void navigate({ to: "/operations/$id", params: { id } });
    },
  });
  const change = (next: Partial<Plan>) => {
    preview.reset();
    start.reset();
    setPlan((old) => ({ ...old, ...next }));
  };
  const { mutate } = preview;
  useEffect(() => {
    if (kind === "retry" || kind === "restore") mutate(EMPTY_PLAN);
  }, [kind, mutate]);
  const changes = preview.data ? preview.data.count - preview.data.refused : 0;
  const mustType = kind === "discard" && changes >= TYPED_COUNT;
  const isReady = changes > 0 && !start.isPending && (!mustType || typed === String(changes));
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (preview.data === undefined) preview.mutate(plan);
    else if (isReady) start.mutate(preview.data);
  };
  return (
    <Dialog title={`${words.title} letters of ${target.queue}`} onClose={onClose}>
      <form onSubmit={onSubmit} className="grid gap-3">
        {kind === "retry" && <RetryFields plan={plan} onChange={change} />}
        {kind === "edit" && <EditFields plan={plan} onChange={change} />}
        <TextField
          label="Reason"
          hint={kind === "discard" ? "required" : "optional"}
          value={plan.reason}
          required={kind === "discard"}
          onChange={(reason) => change({ reason })}
        />
        {preview.isPending && <Skeleton rows={3} />}
        {preview.error && <ErrorPanel error={preview.error} />}
        {preview.data && <Preview selection={preview.data} effect={words.effect} />}
        {mustType && (
          <TextField
            label={`Type ${changes} to discard ${plural(changes, "letter")}`}
            inputMode="numeric"
            value={typed}
            onChange={setTyped}
          />
        )}
        {start.error && <ErrorPanel error={start.error} retry={() => preview.mutate(plan)} />}
        <SameAsCommand command={commandOf(kind, target, plan)} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          {preview.data === undefined ? (
            <Button type="submit" tone="primary" disabled={preview.isPending}>
              Preview
            </Button>
          ) : (
            <Button type="submit" tone={words.tone} disabled={!isReady}>
              {words.start} ({countText(changes)})
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

interface Plan {
  readonly force: boolean;
  readonly canary: boolean;
  readonly rate: string;
  readonly reason: string;
  readonly path: string;
  readonly value: string;
}

const EMPTY_PLAN: Plan = { force: false, canary: false, rate: "", reason: "", path: "", value: "" };

function freeze(action: BulkKind, { queue, ids, search = {} }: BulkTarget, plan: Plan): Promise<Selection> {
  const { force, canary, rate, reason, path, value } = plan;
  const filter = ids === undefined ? { ...letterQuery(search), queue } : { queue, ids: [...ids] };
  const isWholeQueue = Object.keys(filter).length === 1;
  return call("POST /selections", {
    body: {
      action,
      filter,
      ...(isWholeQueue && { all_of_queue: true as const }),
      ...(reason !== "" && { reason }),
      ...(action === "retry" && { force, canary, ...(rate !== "" && { rate }) }),
      ...(action === "edit" && { edit: { set: [{ path, value }] } }),
    },
  });
}

function Preview({ selection, effect }: { readonly selection: Selection; readonly effect: string }) {
  const { count, refused, refusals, groups, samples } = selection;
  return (
    <section aria-label="Preview" className="rounded-md border border-line bg-code p-3">
      <p className="font-medium">
        {plural(count - refused, "letter")} {effect}
        {refused > 0 && <span className="text-amber">, {countText(refused)} refused</span>}.
      </p>
      <p className="text-xs text-muted">
        These letters are fixed now. Letters that fail from now on are not included.
      </p>
      {refusals.length > 0 && (
        <ul className="mt-2 text-muted">
          {refusals.map(({ reason, count: times }) => (
            <li key={reason}>
              {countText(times)} × {reason}
            </li>
          ))}
        </ul>
      )}
      {groups.length > 1 && (
        <ul className="mt-2 space-y-0.5">
          {groups.slice(0, 5).map(({ signature, title, count: letters }) => (
            <li key={signature} className="flex gap-2">
              <span className="w-14 shrink-0 text-right">{countText(letters)}</span>
              <Pattern text={title} className="min-w-0 truncate" />
            </li>
          ))}
        </ul>
      )}
      <Samples samples={samples} />
    </section>
  );
}

function Samples({ samples }: { readonly samples: Selection["samples"] }) {
  const changed = samples.filter(({ changes }) => changes !== undefined);
  if (changed.length === 0) {
    const names = samples.map(({ item_id }) => item_id).join(", ");
    return names === "" ? null : <p className="mt-2 truncate text-xs text-muted">For example {names}</p>;
  }
  return changed.map(({ item_id: id, changes = [] }) => (
    <div key={id} className="mt-2 text-xs text-muted">
      <span className="font-mono">{id}</span>
      <Differences changes={changes} />
    </div>
  ));
}

interface FieldsProps {
  readonly plan: Plan;
  readonly onChange: (next: Partial<Plan>) => void;
}

function RetryFields({ plan, onChange }: FieldsProps) {
  return (
    <>
      <CheckField
        label="Try a few first"
        hint="One of each group, then 1 %, 10 %, all. Stops if the same failure comes back."
        checked={plan.canary}
        onChange={(canary) => onChange({ canary })}
      />
      <CheckField
        label="Include letters that are not eligible"
        hint="Letters that need a person, cannot succeed unchanged, or failed too often."
        checked={plan.force}
        onChange={(force) => onChange({ force })}
      />
      <TextField
        label="At most"
        hint="e.g. 5/s or 100/m; empty for no limit"
        value={plan.rate}
        onChange={(rate) => onChange({ rate })}
      />
    </>
  );
}

function EditFields({ plan, onChange }: FieldsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <TextField
        mono
        required
        label="Field"
        hint="a path, e.g. customer.email"
        value={plan.path}
        onChange={(path) => onChange({ path })}
      />
      <TextField
        mono
        required
        label="New value"
        hint="a CEL expression, e.g. item.customer.email.trim()"
        value={plan.value}
        onChange={(value) => onChange({ value })}
      />
    </div>
  );
}

function commandOf(kind: BulkKind, { queue, ids, search }: BulkTarget, plan: Plan): string {
  const { canary, force, rate, reason, path, value } = plan;
  const words = [
    `redrive dlq ${kind} ${quoted(queue)}`,
    ...(ids?.length === undefined ? [] : ids.slice(0, 3).map(quoted)),
    search && letterOptions(withoutQueue(search)),
    kind === "retry" && canary && "--canary",
    kind === "retry" && force && "--force",
    kind === "retry" && rate && `--rate ${quoted(rate)}`,
    kind === "edit" && path && `--set ${quoted(`${path}=${value}`)}`,
    kind === "discard" && `--reason ${quoted(reason || "…")}`,
  ];
  return words.filter(Boolean).join(" ");
}

function withoutQueue({ queue: _, ...rest }: ListSearch): ListSearch {
  return rest;
}

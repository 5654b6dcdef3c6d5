/**
 * A bulk change: a preview that freezes a selection of letters, then the change of exactly those. Changing an
 * option updates the preview. The start request repeats the id and the size of the frozen selection, so that
 * letters which failed later are never changed.
 */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useId, useState } from "react";
import { call, isApiError } from "../data/api.ts";
import { type ListSearch, letterOptions, letterQuery, quoted } from "../data/search.ts";
import { Button } from "../ui/button.tsx";
import { SameAsCommand } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SelectField, TextField } from "../ui/form.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { ErrorPanel } from "../ui/panel.tsx";
import { usePaused } from "../ui/paused.ts";
import { EditFields, ReasonField, RetryFields } from "./bulk-fields.tsx";
import { BulkPreview, type Selection } from "./bulk-preview.tsx";

export type BulkKind = "retry" | "edit" | "discard" | "restore";

/** The letters to change: those with these ids, or all that match a search. */
export interface BulkTarget {
  readonly queue: string;
  /** The queues to choose from, because a bulk change applies to one queue at a time. */
  readonly queues?: readonly string[];
  readonly ids?: readonly string[];
  readonly search?: ListSearch;
}

const WORDS = {
  retry: { title: "Retry", start: "Start the retry", tone: "primary", effect: "will be retried" },
  edit: { title: "Edit", start: "Change the data", tone: "primary", effect: "will be changed" },
  discard: { title: "Discard", start: "Discard", tone: "danger", effect: "will be discarded" },
  restore: { title: "Restore", start: "Restore", tone: "primary", effect: "will be restored" },
} as const;

/** A change that removes at least this many letters must be confirmed by typing their number. */
const TYPED_COUNT = 10;

/** The options of a bulk change. The preview freezes the selection with them. */
export interface Plan {
  readonly force: boolean;
  readonly canary: boolean;
  readonly rate: string;
  readonly reason: string;
  readonly path: string;
  readonly value: string;
}

const EMPTY_PLAN: Plan = { force: false, canary: false, rate: "", reason: "", path: "", value: "" };

interface BulkDialogProps {
  readonly kind: BulkKind;
  readonly target: BulkTarget;
  /** Whether to offer the edit as a fix rule for redrive.yml. */
  readonly keepsRule?: boolean;
  readonly onClose: () => void;
  readonly onStarted?: () => void;
}

export function BulkDialog({ kind, target: given, keepsRule = false, onClose, onStarted }: BulkDialogProps) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const form = useId();
  const [queue, setQueue] = useState(given.queue);
  const target = { ...given, queue };
  // A retry of many letters runs in stages by default.
  const [plan, setPlan] = useState<Plan>({ ...EMPTY_PLAN, canary: kind === "retry" && mayStage(target) });
  const [typed, setTyped] = useState("");
  const { preview, isFresh } = usePreview(kind, target, plan);
  const words = WORDS[kind];
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
    start.reset();
    setPlan((old) => ({ ...old, ...next }));
  };
  const selection = preview.data;
  const changes = selection ? selection.count - selection.refused : 0;
  const mustType = kind === "discard" && changes >= TYPED_COUNT;
  const isConfirmed = !mustType || typed === String(changes);
  const isReady = isFresh && changes > 0 && isConfirmed && !start.isPending;
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady && selection !== undefined) start.mutate(selection);
  };
  const refusesStages = plan.canary && isApiError(preview.error) && preview.error.code === "disabled";
  const mayForce = plan.force || (selection?.refused ?? 0) > 0;
  const fields = { plan, onChange: change, target };
  return (
    <Dialog
      title={`${words.title} letters of ${queue}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} tone={words.tone} disabled={!isReady}>
            {words.start}
            {changes > 0 && ` (${countText(changes)})`}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={onSubmit} className="grid grid-cols-1 gap-3">
        {given.queues !== undefined && given.queues.length > 1 && (
          <SelectField label="Queue or job" values={given.queues} value={queue} onChange={setQueue} />
        )}
        {kind === "edit" && <EditFields {...fields} keepsRule={keepsRule} />}
        {kind === "discard" && <ReasonField {...fields} required hint="required, e.g. test orders" />}
        {preview.error && !refusesStages && (
          <ErrorPanel error={preview.error} retry={() => void preview.refetch()} />
        )}
        {refusesStages && (
          <p className="rounded-md bg-amber-soft px-3 py-2 text-amber">
            This server may not run the job’s command, so the letters cannot be tried in stages. Untick “Try a
            few first” to make all of them ready for the job.
          </p>
        )}
        {isComplete(kind, plan) && !preview.error && (
          <BulkPreview selection={selection} isFresh={isFresh} effect={words.effect} />
        )}
        {kind === "retry" && <RetryFields {...fields} mayStage={mayStage(target)} mayForce={mayForce} />}
        {kind !== "discard" && <ReasonField {...fields} hint="optional" />}
        {mustType && (
          <TextField
            label={`Type ${changes} to discard ${plural(changes, "letter")}`}
            inputMode="numeric"
            value={typed}
            onChange={setTyped}
          />
        )}
        {start.error && <ErrorPanel error={start.error} retry={() => void preview.refetch()} />}
        <SameAsCommand command={commandOf(kind, target, plan)} />
      </form>
    </Dialog>
  );
}

/** Creates a new preview once the options have not changed for a moment. */
function usePreview(kind: BulkKind, target: BulkTarget, plan: Plan) {
  const asked = usePaused(plan);
  const preview = useQuery({
    queryKey: ["selection", kind, target.queue, target.ids, target.search, asked],
    queryFn: ({ signal }) => freeze(kind, target, asked, signal),
    enabled: isComplete(kind, asked),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const isFresh = asked === plan && isComplete(kind, plan) && preview.isSuccess && !preview.isFetching;
  return { preview, isFresh: isFresh && !preview.isPlaceholderData };
}

function isComplete(kind: BulkKind, { path, value, reason }: Plan): boolean {
  if (kind === "edit") return path !== "" && value !== "";
  return kind !== "discard" || reason.trim() !== "";
}

function mayStage({ ids }: BulkTarget): boolean {
  return ids === undefined || ids.length > 1;
}

function freeze(
  action: BulkKind,
  { queue, ids, search = {} }: BulkTarget,
  plan: Plan,
  signal: AbortSignal,
): Promise<Selection> {
  const { force, canary, rate, reason, path, value } = plan;
  const filter = ids === undefined ? { ...letterQuery(search), queue } : { queue, ids: [...ids] };
  const isWholeQueue = Object.keys(filter).length === 1;
  const body = {
    action,
    filter,
    ...(isWholeQueue && { all_of_queue: true as const }),
    ...(reason.trim() !== "" && { reason }),
    ...(action === "retry" && { force, canary, ...(rate !== "" && { rate }) }),
    ...(action === "edit" && { edit: { set: [{ path, value }] } }),
  };
  return call("POST /selections", { body }, { signal });
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
    (kind === "discard" || reason !== "") && `--reason ${quoted(reason || "…")}`,
  ];
  return words.filter(Boolean).join(" ");
}

function withoutQueue({ queue: _, ...rest }: ListSearch): ListSearch {
  return rest;
}

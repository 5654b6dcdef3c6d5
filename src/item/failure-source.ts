/**
 * Where in its own world a piece of work failed, from large to small: the run, the flow, a part of it, and the action in
 * that part. Work that runs elsewhere, such as a desktop flow, knows this better than Redrive does, and may say it.
 */
import type { JsonObject } from "../kit/json.ts";
import { compact, reader } from "./record.ts";

/** What the work said; what it left out has a default where it is shown (`placeOf`). */
export interface FailureSource {
  readonly executionId?: string;
  readonly flow?: string;
  readonly subflow?: string;
  /** Its number or its own short name. */
  readonly action?: string;
  readonly actionName?: string;
}

/** The fields of a source and their names outside the process. */
export const SOURCE_FIELDS = {
  executionId: "execution_id",
  flow: "flow",
  subflow: "subflow",
  action: "action",
  actionName: "action_name",
} as const satisfies Readonly<Record<keyof FailureSource, string>>;

export function sourceToJson(source: FailureSource): JsonObject {
  return compact({
    execution_id: source.executionId,
    flow: source.flow,
    subflow: source.subflow,
    action: source.action,
    action_name: source.actionName,
  });
}

/** Undefined when nothing of it is said. A number is taken for its digits, for actions are often numbered. */
export function sourceFromJson(json: JsonObject | undefined): FailureSource | undefined {
  if (json === undefined) return undefined;
  const read = reader(json);
  const word = (key: string) => {
    const number = read.number(key);
    return read.text(key) || (number === undefined ? undefined : String(number));
  };
  const source = compact({
    executionId: word("execution_id"),
    flow: word("flow"),
    subflow: word("subflow"),
    action: word("action"),
    actionName: word("action_name"),
  });
  return Object.keys(source).length === 0 ? undefined : source;
}

/** What Redrive itself knows of a failure, for what the work did not say. */
export interface KnownPlace {
  readonly source?: FailureSource | undefined;
  readonly jobId?: string | undefined;
  readonly queue?: string | undefined;
  readonly attempt?: number | undefined;
  /** Who ran the attempt. */
  readonly holder?: string | undefined;
  readonly step?: string | undefined;
}

/**
 * All five, for an error log: what the work said, else the attempt of its worker (or the job), the queue, the step, and
 * the number of the attempt.
 */
export function placeOf(known: KnownPlace): Required<FailureSource> {
  const { source = {}, jobId, queue, attempt, step = "" } = known;
  const flow = queue ?? jobId ?? "";
  return {
    executionId: source.executionId ?? executionOf(known) ?? flow,
    flow: source.flow ?? flow,
    subflow: source.subflow ?? step,
    action: source.action ?? (attempt === undefined ? "" : String(attempt)),
    actionName: source.actionName ?? step,
  };
}

function executionOf({ jobId, holder, attempt }: KnownPlace): string | undefined {
  if (!holder) return jobId;
  return attempt === undefined ? holder : `${holder}#${attempt}`;
}

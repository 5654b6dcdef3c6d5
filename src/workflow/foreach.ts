/**
 * The `foreach` step: runs its steps for each element, with limited concurrency. If elements capture the same
 * name, the last one wins.
 */
import { asText, type Json, parseJson } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";
import { oneLine } from "../triage/clean.ts";
import type { Action, Step } from "./model.ts";
import { type At, inside, type StepEnd } from "./step-context.ts";
import { brokenOff, logLine } from "./step-record.ts";
import { linesOf } from "./step-variables.ts";
import { expand, naming } from "./variables.ts";

type Foreach = Extract<Action, { kind: "foreach" }>;

/** After a failure no further element starts, but running ones finish. The output joins the outputs of all rounds. */
export async function foreachStep(action: Foreach, at: At): Promise<StepEnd> {
  const { items, continueOnError } = action;
  const listed = isCommand(items)
    ? await printedBy(items.command, at)
    : naming("foreach", () => elementsOf(items, at));
  if (!Array.isArray(listed)) return listed as StepEnd;
  const elements = (listed as readonly Json[]).slice(0, action.maxItems);
  await logLine(at, `${elements.length} items`);
  const ends = await runRounds(action, elements, at);
  const failed = continueOnError ? undefined : ends.find((one) => one?.kind === "failed");
  const end = failed ?? ends.find((one) => one?.kind === "stopped");
  if (end !== undefined) return end;
  if (ends.includes(undefined)) return brokenOff(at);
  const outputs = ends.map((one) => (one?.kind === "done" ? one.output : undefined));
  const printed = outputs.filter((output) => output !== undefined);
  return { kind: "done", output: printed.map((output) => output.replace(/\n$/, "")).join("\n") };
}

async function runRounds(
  { steps, parallel, ownItem, continueOnError }: Foreach,
  elements: readonly Json[],
  at: At,
): Promise<(StepEnd | undefined)[]> {
  const ends: (StepEnd | undefined)[] = elements.map(() => undefined);
  const hasItem = Object.hasOwn(at.scope.all(), "item");
  const scopes = elements.map((item, index) =>
    at.scope.fork({
      foreach: { item, index, total: elements.length },
      ...(!hasItem && { item }),
      ...(ownItem && { item, index, total: elements.length }),
    }),
  );
  let next = 0;
  let goesOn = true;
  const work = async () => {
    while (goesOn && next < elements.length && !at.signal.aborted) {
      const index = next++;
      const scope = scopes[index] ?? at.scope;
      const shown = oneLine(at.run.context.mask(asText(elements[index] ?? null)), 120);
      const title = `foreach item ${index + 1} of ${elements.length}: ${shown}`;
      const end = await at.runList(steps, { ...inside(at, `item ${index + 1}`, title), scope });
      ends[index] = end;
      if (end.kind === "stopped" || (end.kind === "failed" && !continueOnError)) goesOn = false;
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(parallel, elements.length)) }, work));
  for (const scope of scopes) at.scope.merge(scope);
  return ends;
}

function isCommand(items: Foreach["items"]): items is { readonly command: string } {
  return typeof items === "object" && !Array.isArray(items);
}

/** Runs a script and returns its output, or how it ended if it failed. */
async function printedBy(script: string, at: At): Promise<readonly Json[] | StepEnd> {
  const step: Step = {
    action: { kind: "shell", script },
    env: {},
    onSuccess: [],
    onExitCode: {},
    commitRequired: false,
  };
  const end = await at.runList([step], inside(at, "items"));
  return end.kind === "done" ? elementsIn(end.output ?? "") : end;
}

/** Strings in a list are templates. A single template must expand to a JSON array or to lines. */
function elementsOf(items: readonly Json[] | string, at: At): readonly Json[] {
  const variables = at.scope.all();
  if (typeof items !== "string")
    return items.map((item) => (typeof item === "string" ? expand(item, variables) : item));
  return elementsIn(expand(items, variables));
}

function elementsIn(text: string): readonly Json[] {
  const json = text.trimStart().startsWith("[") ? tryTo(() => parseJson(text)) : undefined;
  if (Array.isArray(json)) return json as readonly Json[];
  return linesOf(text).filter((line) => line.trim() !== "");
}

/** The `foreach` step: runs its steps for each element, a few at a time. If elements capture the same name, the last wins. */
import type { Filled } from "../attempt/template.ts";
import { asText, type Json, parseJson } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";
import { oneLine } from "../triage/clean.ts";
import type { Action } from "./model.ts";
import { type At, inside, type StepEnd } from "./step-context.ts";
import { brokenOff, hopeless, logLine } from "./step-record.ts";
import { linesOf } from "./step-variables.ts";
import { expand } from "./variables.ts";

type Foreach = Extract<Action, { kind: "foreach" }>;

/** After a failure no further element starts, but running ones finish. The output joins the outputs of all rounds. */
export async function foreachStep(action: Foreach, at: At): Promise<StepEnd> {
  const found = elementsOf(action, at);
  if (!found.ok) return hopeless(at, `foreach: ${found.message}`);
  const elements = found.value.slice(0, action.maxItems);
  await logLine(at, `${elements.length} items`);
  const ends = await runRounds(action, elements, at);
  const failed = ends.find((end) => end?.kind === "failed");
  const stopped = ends.find((end) => end?.kind === "stopped");
  if (failed ?? stopped) return failed ?? stopped ?? brokenOff(at);
  if (ends.length < elements.length || ends.includes(undefined)) return brokenOff(at);
  const outputs = ends.flatMap((end) =>
    end?.kind === "done" && end.output !== undefined ? [end.output] : [],
  );
  return { kind: "done", output: outputs.map((output) => output.replace(/\n$/, "")).join("\n") };
}

async function runRounds(
  { steps, parallel }: Foreach,
  elements: readonly Json[],
  at: At,
): Promise<(StepEnd | undefined)[]> {
  const ends: (StepEnd | undefined)[] = elements.map(() => undefined);
  const hasItem = Object.hasOwn(at.scope.all(), "item");
  const scopes = elements.map((item, index) =>
    at.scope.fork({ foreach: { item, index, total: elements.length }, ...(!hasItem && { item }) }),
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
      if (end.kind !== "done") goesOn = false;
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(parallel, elements.length)) }, work));
  for (const scope of scopes) at.scope.merge(scope);
  return ends;
}

/** Strings in a list are templates. A single template must expand to a JSON array or to lines. */
function elementsOf({ items }: Foreach, at: At): Filled<readonly Json[]> {
  const variables = at.scope.all();
  if (typeof items === "string") {
    const text = expand(items, variables);
    return text.ok ? { ok: true, value: listOf(text.value) } : text;
  }
  const elements: Json[] = [];
  for (const item of items) {
    const filled: Filled<Json> =
      typeof item === "string" ? expand(item, variables) : { ok: true, value: item };
    if (!filled.ok) return filled;
    elements.push(filled.value);
  }
  return { ok: true, value: elements };
}

function listOf(text: string): readonly Json[] {
  const json = text.trimStart().startsWith("[") ? tryTo(() => parseJson(text)) : undefined;
  if (Array.isArray(json)) return json as readonly Json[];
  return linesOf(text).filter((line) => line.trim() !== "");
}

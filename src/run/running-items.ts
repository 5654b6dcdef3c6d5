/**
 * The running items of a job: their start, their current step, their agents' usage, and their last line of
 * output.
 */
import { readRange, sizeOf } from "../attempt/output.ts";
import { isPublished, type RunningOutput, readRunning } from "../attempt/output-watch.ts";
import type { Engine } from "../engine.ts";
import { openSessionCommand, usageToJson } from "../item/agent-run.ts";
import type { Item } from "../item/item.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";
import { jobLogs } from "../store/home.ts";

export interface RunningItemsQuery {
  readonly queue: string;
  readonly home: string;
  readonly limit: number;
  /** Whether to hide output and steps, because they may contain item values. */
  readonly hidesOutput: boolean;
}

export async function readRunningItems(
  engine: Engine,
  { queue, home, limit, hidesOutput }: RunningItemsQuery,
): Promise<readonly JsonObject[]> {
  const items = await engine.listItems({ queue, after: 0, limit, states: ["leased"] });
  const logs = jobLogs(home, queue);
  const outputs = hidesOutput || items.length === 0 ? [] : readRunning(logs.runningFolder);
  const running: JsonObject[] = [];
  for (const item of items) {
    const attempt = (await engine.listAttempts(item.ref)).at(-1);
    if (attempt?.outcome !== "running") continue;
    const log = logs.log(item.itemId, attempt.number);
    const output = outputs.findLast((one) => one.log === log);
    running.push(
      compact({
        item_id: item.itemId,
        queue,
        state: item.state,
        data: item.data,
        name: item.name,
        attempt: attempt.number,
        started_at: toRfc3339(attempt.startedAt),
        worker: attempt.holder,
        ...(await agentOf(engine, item, attempt.startedAt)),
        ...(output && outputOf(output)),
      }),
    );
  }
  return running;
}

async function agentOf(engine: Engine, { queue, ref }: Item, startedAt: number): Promise<JsonObject> {
  const runs = await engine.listAgentRuns({ queue, ref, limit: RUNS_MAX });
  const run = runs.findLast((one) => one.startedAt >= startedAt);
  if (run === undefined) return {};
  const { step, agent, usage } = run;
  return compact({ step, agent, usage: usageToJson(usage), open_command: openSessionCommand(run) });
}

const RUNS_MAX = 100;
const TAIL_BYTES = 2000;

function outputOf(output: RunningOutput): JsonObject {
  // The standard output of an agent is a JSON stream, which is hard to read.
  const paths = output.isStream ? [output.stderr] : [output.stdout, output.stderr];
  const texts = paths.map(tailOf);
  // Slots reuse their files: the bytes belong to this attempt only if it is still running.
  if (!isPublished(output)) return {};
  const line = texts.map((text) => text.trimEnd().split("\n").at(-1) ?? "").find((last) => last !== "");
  return compact({ step: output.title, last_line: line });
}

/** A stream has no file before the command writes to it, and none after the attempt has ended. */
function tailOf(path: string): string {
  const from = Math.max(0, sizeOf(path) - TAIL_BYTES);
  return tryTo(() => readRange(path, from, TAIL_BYTES))?.toString() ?? "";
}

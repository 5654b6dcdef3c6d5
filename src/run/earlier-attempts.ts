/**
 * What earlier attempts of an item left in the store for agents that continue a session: the sessions and the
 * last failure.
 */
import type { AgentSession } from "../agent/continue-session.ts";
import type { Engine } from "../engine.ts";
import { type AgentRun, sumOfRuns } from "../item/agent-run.ts";
import type { LeasedItem } from "../item/item.ts";
import { compact } from "../std/json.ts";
import { sessionKey } from "../workflow/continue-session.ts";
import type { Step } from "../workflow/model.ts";
import type { ContinuedSession, EarlierAttempts } from "../workflow/step-context.ts";

/** Whether any of the steps continues a session. */
export function continuesSessions(steps: readonly Step[]): boolean {
  return JSON.stringify(steps).includes('"continueSession":true');
}

const RUNS_MAX = 1000;

/** Undefined if no agent has started a session for the item. `branch` is the job's branch. */
export async function readEarlier(
  engine: Engine,
  queue: string,
  item: LeasedItem,
  branch: string | undefined,
): Promise<EarlierAttempts | undefined> {
  const runs = await engine.listAgentRuns({ queue, ref: item.ref, limit: RUNS_MAX });
  if (!runs.some(({ session }) => session !== undefined)) return undefined;
  const last = (await engine.listAttempts(item.ref)).findLast(({ number }) => number < item.attempt);
  const failure = last?.outcome === "failed" ? last.failure : undefined;
  const how = failure === undefined ? { isInterrupted: true as const } : { failure };
  const sessions = new Map<string, ContinuedSession>();
  for (const { session, step } of runs)
    if (session !== undefined)
      sessions.set(sessionKey(step.split(" > ")), { ...sessionOf(session, runs), ...how });
  const isStale = ["MergeConflict", "VerifyFailed"].includes(failure?.errorType.name ?? "");
  const advice = `The branch ${branch} has new work. Run \`git merge ${branch}\`, resolve conflicts and commit.`;
  return { sessions, ...(isStale && branch !== undefined && { advice }) };
}

/** Agents report totals of the whole session, so the usage of its earlier runs is subtracted. */
function sessionOf(id: string, runs: readonly AgentRun[]): AgentSession {
  const { costUsd, inputTokens, cachedTokens, outputTokens } = sumOfRuns(
    runs.filter(({ session }) => session === id),
  );
  return { id, before: compact({ costUsd, inputTokens, cachedTokens, outputTokens }) };
}

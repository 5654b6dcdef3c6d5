/**
 * Runs an agent in the session of its last run, with the failure as the next message. If the session cannot
 * be continued, starts a new one.
 */

import type { AgentReport } from "../agent/agent-record.ts";
import type { AgentSession } from "../agent/continue-session.ts";
import { addTokens, addUsage } from "../item/agent-usage.ts";
import { compact } from "../std/json.ts";
import type { Action, Step } from "./model.ts";
import { programOf, resumeProgramOf } from "./program.ts";
import { type Ran, runProgram } from "./run-program.ts";
import type { At, ContinuedSession, StepEnd } from "./step-context.ts";
import { logLine } from "./step-record.ts";

type ProgramAction = Extract<Action, { kind: "shell" | "agent" }>;

export async function runAction(action: ProgramAction, step: Step, at: At): Promise<Ran | StepEnd> {
  if (action.kind !== "agent" || !step.continueSession)
    return runProgram(step, programOf(action, step, at), at);
  const key = sessionKey(at.path);
  const session = at.run.sessions.get(key);
  const program =
    session && resumeProgramOf(action, step, at, { id: session.id, message: messageOf(session, at) });
  if (session !== undefined && program !== undefined) {
    await logLine(at, `continues the session ${session.id}`);
    const ran = await runProgram(step, program, at, session);
    if (!("isSessionLost" in ran) || !ran.isSessionLost) return remember(ran, key, session, at);
    ran.release();
  }
  const { earlier } = at.run.context;
  const lost = session ?? (earlier?.areLost ? earlier.sessions.get(key) : undefined);
  if (lost !== undefined) {
    const note = `the session ${lost.id} could not be continued, so the agent starts a new one`;
    at.run.notes.push(note);
    await logLine(at, note);
  }
  at.run.sessions.delete(key);
  return remember(await runProgram(step, programOf(action, step, at), at), key, undefined, at);
}

/** Keeps the session for a retry of the step in the same attempt. */
function remember(ran: Ran | StepEnd, key: string, last: AgentSession | undefined, at: At): Ran | StepEnd {
  if (ran.kind !== "ran" || ran.report?.session === undefined) return ran;
  const { session: id } = ran.report;
  at.run.sessions.set(key, { id, ...totalsOf(ran.report, last?.id === id ? last : undefined) });
  return ran;
}

/** Stores why the step failed, for the message of its next run. The agent itself may have succeeded. */
export function rememberFailure(step: Step, end: StepEnd, at: At): void {
  const key = sessionKey(at.path);
  const session = step.continueSession && at.run.sessions.get(key);
  if (session && end.kind === "failed") at.run.sessions.set(key, { ...session, failure: end.failure });
}

function totalsOf({ usage }: AgentReport, last: AgentSession | undefined): Pick<AgentSession, "before"> {
  const before = last?.before ?? {};
  if (usage === undefined) return { before };
  return { before: compact({ costUsd: addUsage(before, usage).costUsd, ...addTokens(before, usage) }) };
}

/**
 * The path of a step without attempt numbers, e.g. `step 2 > on_failure`, so that its retries share a
 * session.
 */
export function sessionKey(path: readonly string[]): string {
  return path
    .filter((name) => !/^(?:attempt|again) \d+$/.test(name))
    .map((name) => name.replace(/^(on_failure|on_incomplete) \d+$/, "$1"))
    .join(" > ");
}

const OUTPUT_CHARS_MAX = 8000;

/**
 * The next message of the session: why the last run failed. Undefined if it succeeded; the step's prompt is
 * then used.
 */
function messageOf({ failure, isInterrupted }: ContinuedSession, { run }: At): string | undefined {
  if (isInterrupted) return "The last run was interrupted. Continue where you stopped.";
  if (failure === undefined) return undefined;
  const { errorMessage, stepFailed, stdoutTail = "", stderrTail = "" } = failure;
  const output = (stderrTail.trim() || stdoutTail.trim()).slice(-OUTPUT_CHARS_MAX);
  const parts = [
    `The last attempt failed in ${stepFailed}: ${errorMessage}`,
    output !== "" && !errorMessage.includes(output) ? `The end of its output:\n\n${output}` : "",
    run.context.earlier?.advice ?? "",
    "Correct the cause and finish the task. Your earlier changes are still in this folder.",
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

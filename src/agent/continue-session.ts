/** How agents continue a session: their command line arguments, and how their streams show that they could not. */
import { basename } from "node:path";
import type { AgentReport, SessionTotals } from "./agent-record.ts";

/** An agent session that can be continued. */
export interface AgentSession {
  readonly id: string;
  /** The usage of the session so far, because agents report totals of the whole session. */
  readonly before?: SessionTotals;
}

const SESSION = /^\w[\w.:-]*$/;

/**
 * Returns the command that continues the session; undefined for an unknown program or an id that is not plain
 * text.
 */
export function resumeCommand(command: readonly string[], session: string): readonly string[] | undefined {
  if (!SESSION.test(session)) return undefined;
  switch (basename(command[0] ?? "")) {
    case "claude":
    case "qwen":
    case "gemini":
      return [...command, "--resume", session];
    case "opencode":
      return [...command, "--session", session];
    case "codex": {
      // Options stay before the subcommand, which accepts fewer of them. `-` means that the prompt is read
      // from stdin.
      const isPiped = command.at(-1) === "-";
      return [...(isPiped ? command.slice(0, -1) : command), "resume", session, ...(isPiped ? ["-"] : [])];
    }
  }
  return undefined;
}

/** Whether the command for continuing a session is known for this program. */
export function canResume(program: string): boolean {
  return resumeCommand([program], "x") !== undefined;
}

/** Whether a failed agent ended before doing any work, as happens with an unknown session. */
export function hasNotBegun({ session, usage, end, limit }: AgentReport): boolean {
  if (limit !== undefined) return false;
  if (session === undefined && usage === undefined) return true;
  return end === "failed" && (usage?.turns ?? 0) === 0 && (usage?.outputTokens ?? 0) === 0;
}

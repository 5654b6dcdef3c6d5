/** How agents continue a session: the words of their command lines, and what their streams show if they could not. */
import { basename } from "node:path";
import type { AgentReport, SessionTotals } from "./agent-record.ts";

/** A session of an agent that can go on. */
export interface AgentSession {
  readonly id: string;
  /** What the session has used so far, because agents report totals of the whole session. */
  readonly before?: SessionTotals;
}

const SESSION = /^\w[\w.:-]*$/;

/** Returns the command that continues the session; undefined if the program is not known, or the id is not plain text. */
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
      // Options stay before the subcommand, which takes fewer of them; `-` is the prompt on standard input.
      const isPiped = command.at(-1) === "-";
      return [...(isPiped ? command.slice(0, -1) : command), "resume", session, ...(isPiped ? ["-"] : [])];
    }
  }
  return undefined;
}

/** Whether Redrive knows how the program continues a session. */
export function canResume(program: string): boolean {
  return resumeCommand([program], "x") !== undefined;
}

/** Whether a failed agent that should continue a session ended before any work, as it does for an unknown session. */
export function hasNotBegun({ session, usage, end, limit }: AgentReport): boolean {
  if (limit !== undefined) return false;
  if (session === undefined && usage === undefined) return true;
  return end === "failed" && (usage?.turns ?? 0) === 0 && (usage?.outputTokens ?? 0) === 0;
}

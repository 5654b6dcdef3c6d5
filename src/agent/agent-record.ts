/** What the stream of a running agent has reported so far. The stream formats fill it in. */
import type { AgentTokens, AgentUsage } from "../item/agent-usage.ts";
import { compact } from "../std/json.ts";

/** The last action of an agent, e.g. `Edit` of `src/a.ts`. */
export interface AgentAction {
  readonly tool: string;
  readonly target?: string;
}

export interface AgentError {
  readonly message: string;
  /** The kind of error as named in the stream, e.g. `rate_limit` or `overloaded_error`. */
  readonly kind?: string;
  readonly httpStatus?: number;
}

/** Totals of the whole session, which a resumed agent reports instead of the totals of its own run. */
export type SessionTotals = Omit<AgentUsage, "model" | "turns">;

export interface AgentReport {
  /** The name of the stream's format; absent until a line has identified it. */
  readonly format?: string;
  readonly session?: string;
  readonly usage?: AgentUsage;
  readonly action?: AgentAction;
  /** The final answer, or the last text so far. */
  readonly answer?: string;
  /** How the stream says that the run ended; absent until then. */
  readonly end?: "success" | "failed";
  readonly error?: AgentError;
  /** Set when the account's limit rejected a request. `endsAt` is in milliseconds since the epoch. */
  readonly limit?: { readonly endsAt?: number };
}

const TEXT_CHARS_MAX = 1024 * 1024;
const TARGET_CHARS_MAX = 200;
const SESSION_CHARS_MAX = 200;

export class AgentRecord {
  format: string | undefined;
  session: string | undefined;
  model: string | undefined;
  costUsd: number | undefined;
  tokens: AgentTokens = {};
  turns: number | undefined;
  action: AgentAction | undefined;
  end: "success" | "failed" | undefined;
  error: AgentError | undefined;
  limit: { readonly endsAt?: number } | undefined;
  #text: string | undefined;
  #result: string | undefined;

  /** The first session id is kept, because later lines may belong to subagents. */
  begin(session: string | undefined, model?: string): void {
    if (session !== undefined && session !== "") this.session ??= session.slice(0, SESSION_CHARS_MAX);
    this.model = model ?? this.model;
  }

  act(tool: string, target?: string): void {
    const line = target?.replace(/\s+/g, " ").trim().slice(0, TARGET_CHARS_MAX);
    this.action = compact({ tool: tool.slice(0, TARGET_CHARS_MAX), target: line || undefined });
  }

  say(text: string): void {
    if (text.trim() !== "") this.#text = text.slice(0, TEXT_CHARS_MAX);
  }

  sayMore(text: string): void {
    this.#text = ((this.#text ?? "") + text).slice(0, TEXT_CHARS_MAX);
  }

  beginText(): void {
    this.#text = undefined;
  }

  /** If the result is empty, the last text is used. */
  conclude(end: "success" | "failed", result?: string): void {
    this.end = end;
    this.#result = result ?? this.#result;
  }

  get answer(): string | undefined {
    return this.#result || this.#text || this.#result;
  }

  get lastText(): string | undefined {
    return this.#text;
  }

  report(): AgentReport {
    const usage = compact({
      model: this.model,
      costUsd: this.costUsd,
      ...this.tokens,
      turns: this.turns,
    });
    return compact({
      format: this.format,
      session: this.session,
      usage: Object.keys(usage).length === 0 ? undefined : usage,
      action: this.action,
      answer: this.answer,
      end: this.end,
      error: this.error,
      limit: this.limit,
    });
  }
}

/**
 * Monitors the output of a running agent: keeps its report up to date, and requests the end of an agent that
 * is silent for too long or keeps running after its final message.
 */
import { statSync } from "node:fs";
import { type Output, readRange } from "../attempt/output.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import { formatDuration } from "../std/duration.ts";
import { tryTo } from "../std/try-to.ts";
import { agentFailure, unfinishedFailure } from "./agent-failure.ts";
import type { AgentReport } from "./agent-record.ts";
import { AgentStream, type AgentStreamOptions } from "./agent-stream.ts";

export interface AgentWatchOptions extends AgentStreamOptions {
  readonly stdoutPath: string;
  readonly stderrPath: string;
  /** How long the agent may be silent. Default: 30 minutes for a recognized stream, unlimited for other output. */
  readonly silenceMs?: number | undefined;
  /** How long the agent may keep running after its final message. Default 30 s. */
  readonly outliveMs?: number | undefined;
  /** Called after each change of the report, including the last one. */
  readonly onReport?: ((report: AgentReport) => void) | undefined;
}

const POLL_MS = 250;
const READ_BYTES_MAX = 16 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const SILENCE_MS = 30 * 60 * 1000;
const OUTLIVE_MS = 30 * 1000;

export class AgentWatch {
  readonly #options: AgentWatchOptions;
  readonly #stream: AgentStream;
  readonly #halt = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #at = 0;
  #sizes = "";
  #lastOutput = 0;
  #endedAt: number | undefined;
  #failure: ReportedFailure | undefined;
  #hasOutlived = false;

  constructor(options: AgentWatchOptions) {
    this.#options = options;
    this.#stream = new AgentStream(options);
  }

  /** Aborted when the process must be ended. */
  get halt(): AbortSignal {
    return this.#halt.signal;
  }

  /**
   * Whether the process was ended because it kept running after its final message. That message is then its
   * result.
   */
  get hasOutlived(): boolean {
    return this.#hasOutlived;
  }

  start(): void {
    this.#lastOutput = performance.now();
    this.#timer = setInterval(() => this.poll(), POLL_MS);
  }

  /** Ends the agent with this failure, unless it is already being ended. */
  end(failure: ReportedFailure): void {
    if (this.#halt.signal.aborted) return;
    this.#failure = failure;
    this.#halt.abort();
  }

  poll(): void {
    const now = performance.now();
    if (this.#hasGrown()) {
      this.#lastOutput = now;
      if (this.#readNew()) this.#options.onReport?.(this.#stream.report());
    }
    this.#checkTime(now);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Reads the rest of the output. Must be called after the process has ended and before its files are removed. */
  finish(output: Output): AgentReport {
    this.stop();
    const from = output.fileBytes < this.#at ? 0 : this.#at; // smaller if it was truncated because the disk is full
    if (from < this.#at) this.#stream.skip();
    for (const chunk of output.chunks(from)) this.#stream.push(chunk);
    this.#stream.end();
    const report = this.#stream.report();
    this.#options.onReport?.(report);
    return report;
  }

  /** Returns why the agent failed according to its stream or a limit; undefined if only the exit code decides. */
  failureOf(report: AgentReport, exitCode: number | null, now: number): ReportedFailure | undefined {
    if (this.#failure !== undefined) return this.#failure;
    const reported = agentFailure(report, exitCode !== 0 && !this.#hasOutlived, now);
    if (reported !== undefined && (report.end !== undefined || exitCode !== 0)) return reported;
    if (exitCode === 0 && this.#stream.needsEnd && report.end === undefined) return unfinishedFailure(report);
    return reported;
  }

  #hasGrown(): boolean {
    const { stdoutPath, stderrPath } = this.#options;
    const size = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    const sizes = `${size(stdoutPath)} ${size(stderrPath)}`;
    const hasGrown = sizes !== this.#sizes;
    this.#sizes = sizes;
    return hasGrown;
  }

  #readNew(): boolean {
    const { stdoutPath } = this.#options;
    const size = statSync(stdoutPath, { throwIfNoEntry: false })?.size ?? 0;
    if (size < this.#at) {
      this.#stream.skip();
      this.#at = 0;
    }
    const end = Math.min(size, this.#at + READ_BYTES_MAX);
    if (end < size) this.#sizes = ""; // the rest is read at the next poll
    const start = this.#at;
    while (this.#at < end) {
      const chunk = tryTo(() => readRange(stdoutPath, this.#at, Math.min(CHUNK_BYTES, end - this.#at)));
      if (chunk === undefined || chunk.length === 0) break; // the process has ended in the meantime
      this.#stream.push(chunk);
      this.#at += chunk.length;
    }
    return this.#at > start;
  }

  #checkTime(now: number): void {
    const { silenceMs = this.#stream.needsEnd ? SILENCE_MS : undefined, outliveMs = OUTLIVE_MS } =
      this.#options;
    const hasEnded = this.#stream.report().end !== undefined;
    this.#endedAt = hasEnded ? (this.#endedAt ?? now) : undefined;
    if (this.#endedAt !== undefined) {
      if (now - Math.max(this.#endedAt, this.#lastOutput) < outliveMs || this.#halt.signal.aborted) return;
      this.#hasOutlived = true;
      this.#halt.abort();
    } else if (silenceMs !== undefined && now - this.#lastOutput >= silenceMs) {
      const message = `the agent printed nothing for ${formatDuration(silenceMs)}`;
      this.end({ type: { name: "Timeout" }, message });
    }
  }
}

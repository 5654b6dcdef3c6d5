/**
 * Parses the output of an agent while it is being written. Memory use does not grow with the output, and a
 * truncated stream still yields everything reported before the cut.
 */
import { compact, type JsonObject } from "../std/json.ts";
import { AgentRecord, type AgentReport, type SessionTotals } from "./agent-record.ts";
import { claudeFormat } from "./formats/claude.ts";
import { codexFormat } from "./formats/codex.ts";
import type { AgentFormat, FormatReader } from "./formats/format.ts";
import { geminiFormat } from "./formats/gemini.ts";
import { opencodeFormat } from "./formats/opencode.ts";
import { isReportLine, REPORT_LINES, readReportLine } from "./formats/report-lines.ts";
import { MessageLines } from "./message-lines.ts";
import { costOf, type Prices } from "./prices.ts";

const FORMATS: readonly AgentFormat[] = [claudeFormat, codexFormat, geminiFormat, opencodeFormat];

export interface AgentStreamOptions {
  /** The format of the stream. Default: the first format whose opening line is found. */
  readonly format?: "claude" | undefined;
  readonly prices?: Prices | undefined;
  /** The model from the command line, for streams that do not contain it. */
  readonly model?: string | undefined;
  /** The totals of the session at the end of the previous run, for an agent that continues a session. */
  readonly before?: SessionTotals | undefined;
}

export class AgentStream {
  readonly #options: AgentStreamOptions;
  readonly #record = new AgentRecord();
  readonly #lines = new MessageLines((message) => this.#add(message));
  #reader: FormatReader | undefined;

  constructor(options: AgentStreamOptions = {}) {
    this.#options = options;
    if (options.format === "claude") this.#open(claudeFormat);
  }

  push(chunk: Buffer): void {
    this.#lines.push(chunk);
  }

  /** Must be called at the end of the output, because the last line may lack its newline. */
  end(): void {
    this.#lines.end();
  }

  /** Must be called when bytes are missing between the last chunk and the next one. */
  skip(): void {
    this.#lines.drop();
  }

  /** Whether the format has a final message, so that its absence means that the agent did not finish. */
  get needsEnd(): boolean {
    return this.#reader !== undefined;
  }

  report(): AgentReport {
    this.#reader?.settle?.(this.#options.before);
    const report = this.#record.report();
    const model = report.usage?.model ?? this.#options.model;
    if (report.usage === undefined) return report;
    const costUsd =
      report.usage.costUsd ?? costOf(report.usage, this.#options.prices, [model, report.format]);
    return { ...report, usage: compact({ ...report.usage, model, costUsd }) };
  }

  #open(format: AgentFormat): void {
    this.#record.format = format.name;
    this.#reader = format.open(this.#record);
  }

  #add(message: JsonObject): void {
    if (isReportLine(message)) {
      this.#record.format ??= REPORT_LINES;
      readReportLine(message, this.#record);
      return;
    }
    if (this.#reader === undefined) {
      const format = FORMATS.find((one) => one.isOpening(message));
      if (format === undefined) return;
      this.#open(format);
    }
    this.#reader?.add(message);
  }
}

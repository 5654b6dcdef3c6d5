/** Prints followed output: unchanged for one item, line by line with the item's name for a job. */
import { Transform, type TransformCallback } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { agentLine } from "../../agent/agent-lines.ts";
import type { Followed } from "../../run/follow-logs.ts";
import { stringifyJson } from "../../std/json.ts";
import type { Context } from "../context.ts";
import { clean } from "./text.ts";

const NAME_CHARS_MAX = 24;
const OUTPUTS = ["stdout", "stderr"];
const AGENT = ":agent";

export class LogLines {
  readonly #context: Context;
  readonly #isWholeJob: boolean;
  /** Incomplete lines by item, attempt and stream. */
  readonly #begun = new Map<string, Buffer>();

  /** Decoders for a terminal, which must not receive raw bytes. */
  readonly #decoders: Map<string, StringDecoder> | undefined;

  /** With `isRaw`, bytes are written to the terminal unchanged. */
  constructor(
    context: Context,
    { isWholeJob, isRaw }: { readonly isWholeJob: boolean; readonly isRaw: boolean },
  ) {
    this.#context = context;
    this.#isWholeJob = isWholeJob;
    this.#decoders = context.isTerminal && !isRaw ? new Map() : undefined;
  }

  print(followed: Followed): void {
    const { part } = followed;
    if ("outcome" in part) this.#end(followed, part.outcome);
    else if ("title" in part) {
      this.#writeBegun(followed, OUTPUTS); // the output before a title may lack its line end
      this.#write(followed, { title: part.title }, `== ${part.title} ==`);
    } else this.#output(followed, part);
  }

  #output(followed: Followed, part: Extract<Followed["part"], { stream: string }>): void {
    const { stream, bytes, isAgentStream = false } = part;
    const key = `${keyOf(followed)}:${stream}${isAgentStream ? AGENT : ""}`;
    if (!this.#isWholeJob && !isAgentStream && !this.#context.isJson) {
      this.#context.terminal.stdout.write(this.#plain(key, bytes));
      return;
    }
    for (const line of this.#lines(key, bytes)) {
      const text = isAgentStream ? agentLine(line) : line;
      if (text !== null) this.#write(followed, { stream }, text);
    }
  }

  #plain(key: string, bytes: Buffer): Buffer | string {
    if (this.#decoders === undefined) return bytes;
    const decoder = this.#decoders.get(key) ?? new StringDecoder("utf8");
    this.#decoders.set(key, decoder);
    return cleanLines(decoder.write(bytes));
  }

  #end(followed: Followed, outcome: string): void {
    this.#writeBegun(followed, [...OUTPUTS, ...OUTPUTS.map((stream) => stream + AGENT)]);
    const { of, name = of, attempt } = followed;
    if (this.#context.isJson) this.#json({ item_id: of, attempt: attempt ?? null, outcome });
    else this.#context.note(`Attempt ${attempt} of ${clean(name)}: ${outcome}.`);
  }

  /** Writes incomplete lines. Those of an agent's stream are messages that may still go on, until the attempt ends. */
  #writeBegun(followed: Followed, streams: readonly string[]): void {
    for (const name of streams) {
      const key = `${keyOf(followed)}:${name}`;
      const rest = this.#begun.get(key);
      this.#begun.delete(key);
      const [stream = ""] = name.split(AGENT);
      if (rest && rest.length > 0) this.#write(followed, { stream }, rest.toString());
    }
  }

  #write(
    { of, name: shownAs = of, attempt }: Followed,
    what: Readonly<Record<string, string>>,
    text: string,
  ): void {
    if (this.#context.isJson) {
      this.#json({ item_id: of, attempt: attempt ?? null, ...what, ...(!("title" in what) && { text }) });
      return;
    }
    const isLong = shownAs.length > NAME_CHARS_MAX;
    const name = clean(isLong ? `${shownAs.slice(0, NAME_CHARS_MAX - 1)}…` : shownAs);
    const shown = this.#decoders === undefined ? text : cleanLines(text);
    const lead = this.#isWholeJob ? `${this.#context.paint.dim(`${name} |`)} ` : "";
    for (const line of shown.split("\n")) this.#context.terminal.stdout.write(`${lead}${line}\n`);
  }

  #json(document: Readonly<Record<string, string | number | null>>): void {
    this.#context.terminal.stdout.write(`${stringifyJson(document)}\n`);
  }

  #lines(key: string, bytes: Buffer): string[] {
    const all = Buffer.concat([this.#begun.get(key) ?? Buffer.alloc(0), bytes]);
    const end = all.lastIndexOf(10) + 1;
    this.#begun.set(key, all.subarray(end));
    return end === 0 ? [] : all.toString("utf8", 0, end - 1).split("\n");
  }
}

function keyOf({ of, attempt }: Followed): string {
  return `${of}:${attempt ?? ""}`;
}

/** Keeps line breaks and tabs and removes other control characters. */
export function cleanLines(text: string): string {
  return text.replace(/[^\n\t]+/g, (part) => clean(part.replace(/\r$/, "")));
}

/** Applies `cleanLines` to a byte stream, where a character may be split between chunks. */
export class CleanLines extends Transform {
  readonly #decoder = new StringDecoder("utf8");

  override _transform(bytes: Buffer, _encoding: string, done: TransformCallback): void {
    done(null, cleanLines(this.#decoder.write(bytes)));
  }

  override _flush(done: TransformCallback): void {
    done(null, cleanLines(this.#decoder.end()));
  }
}

/** Prints followed output: of one item as it comes, of a whole job line by line with the item in front. */
import type { Followed } from "../job/follow-logs.ts";
import { agentLine } from "../workflow/agent-lines.ts";
import type { Context } from "./context.ts";

const NAME_CHARS_MAX = 24;

export class LogLines {
  readonly #context: Context;
  readonly #isWholeJob: boolean;
  /** Lines that have not ended yet, by item, attempt and stream. */
  readonly #begun = new Map<string, Buffer>();

  constructor(context: Context, { isWholeJob }: { readonly isWholeJob: boolean }) {
    this.#context = context;
    this.#isWholeJob = isWholeJob;
  }

  print(followed: Followed): void {
    const { part } = followed;
    if ("outcome" in part) {
      this.#end(followed, part.outcome);
      return;
    }
    if ("title" in part) {
      this.#write(followed, { title: part.title }, `== ${part.title} ==`);
      return;
    }
    const { stream, bytes, isAgentStream = false } = part;
    const isPlain = !this.#isWholeJob && !isAgentStream && !this.#context.isJson;
    if (isPlain) {
      this.#context.terminal.stdout.write(bytes);
      return;
    }
    for (const line of this.#lines(`${keyOf(followed)}:${stream}`, bytes)) {
      const text = isAgentStream ? agentLine(line) : line;
      if (text !== null) this.#write(followed, { stream }, text);
    }
  }

  #end(followed: Followed, outcome: string): void {
    for (const stream of ["stdout", "stderr"]) {
      const key = `${keyOf(followed)}:${stream}`;
      const rest = this.#begun.get(key);
      this.#begun.delete(key);
      if (rest && rest.length > 0) this.#write(followed, { stream }, rest.toString());
    }
    const { of, attempt } = followed;
    if (this.#context.isJson) this.#json({ item_id: of, attempt: attempt ?? null, outcome });
    else this.#context.note(`Attempt ${attempt} of ${of}: ${outcome}.`);
  }

  #write({ of, attempt }: Followed, what: Readonly<Record<string, string>>, text: string): void {
    if (this.#context.isJson) {
      const title = what.title;
      this.#json({
        item_id: of,
        attempt: attempt ?? null,
        ...what,
        ...(title === undefined && { text }),
      });
      return;
    }
    const name = of.length > NAME_CHARS_MAX ? `${of.slice(0, NAME_CHARS_MAX - 1)}…` : of;
    const lead = this.#isWholeJob ? `${this.#context.paint.dim(`${name} |`)} ` : "";
    for (const line of text.split("\n")) this.#context.terminal.stdout.write(`${lead}${line}\n`);
  }

  #json(document: Readonly<Record<string, string | number | null>>): void {
    this.#context.terminal.stdout.write(`${JSON.stringify(document)}\n`);
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

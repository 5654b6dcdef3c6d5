/** Renders fixes: previews and results. */
import type { FixMatch } from "../../redrive/fix.ts";
import { diffJson } from "../../redrive/json-diff.ts";
import type { FixOutcome } from "../../run/retry.ts";
import type { Context } from "../context.ts";
import { changeLines } from "./operation.ts";
import { fit } from "./paint.ts";
import { lettersText, listed, some } from "./words.ts";

/** Prints each match immediately, or with `--json` all matches at the end. */
export class FixPreview {
  readonly #context: Context;
  readonly #jobId: string;
  readonly #counts = { selected: 0, changed: 0, refused: 0 };
  readonly #matches: object[] = [];

  constructor(context: Context, jobId: string) {
    this.#context = context;
    this.#jobId = jobId;
  }

  add(match: FixMatch): void {
    this.#counts.selected += 1;
    this.#counts[match.answer.ok ? "changed" : "refused"] += 1;
    if (this.#context.isJson) this.#matches.push(matchToJson(match));
    else this.#context.terminal.stdout.write(this.#textOf(match));
  }

  /** Prints the counts and returns the exit code. */
  end(): number {
    const { selected, changed, refused } = this.#counts;
    const document = {
      operation_id: null,
      job_id: this.#jobId,
      dry_run: true,
      selected,
      changed,
      refused,
      redriven: 0,
      succeeded: 0,
      failed: 0,
      remaining: 0,
      matches: this.#matches,
    };
    return this.#context.answer(document, () => {
      if (selected === 0) return `No fix matches a letter of ${this.#jobId}.\n`;
      const not = refused > 0 ? `; ${refused} would be refused` : "";
      return `Would change ${lettersText(changed)} of ${this.#jobId} and retry them${not}.\n`;
    });
  }

  #textOf({ rule, letter, answer }: FixMatch): string {
    const { paint, columns } = this.#context;
    const title = `${paint.bold(fit(letter.itemId, columns))}  ${paint.dim(rule.name)}\n`;
    if (!answer.ok) return `${title}  ${paint.red(fit(`refused: ${answer.reason}`, columns - 2))}\n`;
    const lines = changeLines(diffJson(letter.itemData, answer.data), { paint, columns: columns - 2 });
    const shown = lines.length > 0 ? lines : [paint.dim("data unchanged, will be retried")];
    return `${title}${shown.map((line) => `  ${line}\n`).join("")}`;
  }
}

function matchToJson({ rule, letter, answer }: FixMatch): object {
  const base = { item_id: letter.itemId, rule: rule.name };
  if (!answer.ok) return { ...base, refused: answer.reason };
  return { ...base, changes: diffJson(letter.itemData, answer.data) };
}

/** Formats the result of each rule. */
export function fixesText(jobId: string, outcomes: readonly FixOutcome[]): string {
  if (outcomes.length === 0) return `No fix matches a letter of ${jobId}.\n`;
  return outcomes.map(outcomeText).join("");
}

function outcomeText({ rule, edit, redrive, refusals }: FixOutcome): string {
  const parts = listed([
    `changed ${lettersText(edit.done)}`,
    redrive && `${redrive.succeeded} succeeded, ${redrive.failed} failed again`,
    some(edit.refused, "refused"),
  ]);
  const why = refusals.map(({ reason, count }) => `  ${count}  ${reason}\n`).join("");
  const undo = redrive && redrive.failed > 0 ? ` To undo its changes: redrive ops undo ${edit.id}` : "";
  return `${rule}: ${parts}.${undo}\n${why}`;
}

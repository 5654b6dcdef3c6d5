/** `redrive dlq evidence`: the files that a letter's attempts named, and their copies for who wants to look at them. */
import { resolve } from "node:path";
import { type Brought, bringEvidence, type NamedEvidence } from "../../dead-letter/evidence-copy.ts";
import { WorkError } from "../../errors.ts";
import { evidenceFileToJson } from "../../item/evidence-file.ts";
import { isFromElsewhere } from "../../item/imported-letter.ts";
import type { Attempt } from "../../item/item.ts";
import type { Letter } from "../../item/letter.ts";
import type { Context } from "../context.ts";
import { evidenceText } from "../evidence-text.ts";
import { EXIT } from "../exit-code.ts";
import { requireLetter } from "../find-letter.ts";
import { countOption, requirePath } from "../option.ts";
import { clean } from "../paint.ts";

interface EvidenceFlags {
  readonly job?: string;
  readonly attempt?: string;
  readonly out?: string;
}

export async function dlqEvidence(context: Context, itemName: string, flags: EvidenceFlags): Promise<number> {
  const attempt = countOption("--attempt", flags.attempt, 1);
  const out =
    flags.out === undefined ? undefined : resolve(context.terminal.cwd, requirePath("--out", flags.out));
  const { letter, attempts } = await context.withStore(async (engine) => {
    const found = await requireLetter(engine, itemName, flags.job);
    return { letter: found, attempts: await engine.listAttempts(found.ref) };
  });
  const named = namedBy(letter, attempts, attempt);
  if (named.length === 0) throw nothingNamed(letter, attempt);
  const brought = out === undefined ? named : await bringEvidence(named, out);
  context.answer({ item_id: letter.itemId, job_id: letter.jobId, files: brought.map(fileToJson) }, () =>
    brought.map((one) => `${clean(lineOf(one))}\n`).join(""),
  );
  return brought.some((one) => "why" in one) ? EXIT.failed : EXIT.done;
}

function namedBy(
  { failureHistory }: Letter,
  attempts: readonly Attempt[],
  attempt: number | undefined,
): readonly NamedEvidence[] {
  const elsewhere = new Set(attempts.filter(isFromElsewhere).map(({ number }) => number));
  return failureHistory
    .filter(({ attemptNumber }) => attempt === undefined || attemptNumber === attempt)
    .flatMap(({ attemptNumber, evidence = [] }) =>
      evidence.map((file) => ({
        attempt: attemptNumber,
        file,
        ...(elsewhere.has(attemptNumber) && { isFromElsewhere: true }),
      })),
    );
}

function nothingNamed({ itemId }: Letter, attempt: number | undefined): WorkError {
  const who = attempt === undefined ? "No attempt" : `Attempt ${attempt}`;
  const named = attempt === undefined ? "named" : "has not named";
  return new WorkError("log_not_found", `${who} of ${itemId} ${named} a file as evidence.`, {
    hint: "A command names files in the list `evidence` of its failure file, a handler with context.evidence(path).",
  });
}

function fileToJson(one: NamedEvidence | Brought) {
  return {
    attempt: one.attempt,
    ...evidenceFileToJson(one.file),
    ...("copy" in one && one.copy !== undefined && { copy: one.copy }),
    ...("why" in one && { not_copied: one.why }),
  };
}

function lineOf(one: NamedEvidence | Brought): string {
  const attempt = `#${one.attempt}  `;
  if ("why" in one) return `${attempt}not copied: ${one.file.path} ${one.why}`;
  return attempt + ("copy" in one && one.copy !== undefined ? one.copy : evidenceText(one.file));
}

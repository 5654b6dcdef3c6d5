/** What became of receipts that were sent: a line for each as it ends, the sum of all, and the exit code. */
import type { Context } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { clean } from "./paint.ts";
import type { SentOutcome, SentReceipt } from "./send-for-person.ts";

export function saySent(context: Context, { key, outcome, isNew, error }: SentReceipt): void {
  if (context.isJson) return;
  const why = error === undefined ? "" : `  ${clean(error)}`;
  const before = isNew || outcome === "conflict" ? "" : "  (sent before)";
  context.terminal.stdout.write(`${outcome.padEnd(9)}  ${clean(key)}${before}${why}\n`);
}

/** The document or the sum, and the exit code: what was refused goes before what waits, and that before what died. */
export function sayAllSent(context: Context, target: string, sent: readonly SentReceipt[]): number {
  const count = (outcome: SentOutcome) => sent.filter((one) => one.outcome === outcome).length;
  const counts = {
    delivered: count("delivered"),
    dead: count("dead"),
    kept: count("kept"),
    waiting: count("waiting"),
    conflicts: count("conflict"),
  };
  const receipts = sent.map(({ isNew, ...one }) => ({ ...one, is_new: isNew }));
  context.answer({ target, sent: sent.length, ...counts, receipts }, () => "");
  if (!context.isJson) {
    if (sent.length !== 1) context.note(sumOf(counts));
    if (counts.dead > 0) context.note(`  redrive dlq list ${target}   what died, and why`);
    if (counts.kept + counts.waiting > 0)
      context.note(`  redrive receipts deliver ${target}   delivers what is kept`);
  }
  if (counts.conflicts > 0) return EXIT.refused;
  if (counts.waiting > 0) return EXIT.notNow;
  return counts.dead > 0 ? EXIT.lettersLeft : EXIT.done;
}

function sumOf(counts: Readonly<Record<string, number>>): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0 ? "No receipts." : some.map(([word, count]) => `${count} ${word}`).join(" · ");
}

/** Reads the commands and outputs that a document shows, and compares them with the real ones. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";

/** An `sh` block and the `text` block that follows it. */
export interface Shown {
  readonly script: string;
  readonly shown: string;
}

/** Every pair of a document. Throws when an `sh` block has no output after it. */
export function shownIn(markdown: string): readonly Shown[] {
  const pairs = markdown.matchAll(/```sh\n(.*?)```(?:(?!```).)*```text\n(.*?)```/gs);
  const found = [...pairs].map(([, script = "", shown = ""]) => ({ script, shown }));
  if (found.length !== markdown.match(/```sh\n/g)?.length) throw new Error("an sh block without its output");
  return found;
}

/** Compares the outputs that a document shows with those that were printed. With REDRIVE_UPDATE_DOCS=1 it updates the document. */
export function compareShown(path: string, steps: readonly Shown[], printed: readonly string[]): void {
  const expected = steps.map(({ shown }) => essence(shown));
  const actual = printed.map(essence);
  if (process.env.REDRIVE_UPDATE_DOCS === undefined) expect(actual).toEqual(expected);
  else if (JSON.stringify(actual) !== JSON.stringify(expected)) update(path, steps, printed);
}

/** Updates every output, so that the ids of jobs are the same on the whole page. */
function update(path: string, steps: readonly Shown[], printed: readonly string[]): void {
  let markdown = readFileSync(path, "utf8");
  let from = 0;
  for (const [index, { script, shown }] of steps.entries()) {
    const start = markdown.indexOf(shown, markdown.indexOf(script, from) + script.length);
    const lines = (printed[index] ?? "").trimEnd().split("\n");
    const output = `${lines.filter((line) => !PROGRESS.test(line)).join("\n")}\n`;
    markdown = markdown.slice(0, start) + output + markdown.slice(start + shown.length);
    from = start + output.length;
  }
  writeFileSync(path, markdown);
}

/** A slow run reports its progress, which a fast one does not; which items are verified together depends on their speed. */
const PROGRESS = /^(?:redrive: \d+ of \d+ done|verify failed with the work of \d+ items)/;

/**
 * The lines in any order, without the parts that differ between runs: names, times, commits, the cut of a message.
 */
export function essence(text: string): string[] {
  return text
    .trim()
    .replace(/^When they failed[\s\S]*$/m, "When they failed") // a run may go on into the next minute, and is a chart then
    .split("\n")
    .filter((line) => !PROGRESS.test(line))
    .map((line) =>
      line
        .replace(/\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{3}Z)?)?/g, "MOMENT")
        .replace(/\b\d\d-\d\d \d\d:\d\d:\d\d\b/g, "MOMENT") // as the error log has it within a year
        .replace(/\b[0-9a-f]{64}\b/g, "DIGEST")
        .replace(/\b[\w.-]+:\d+:[0-9a-z]{6}\/\d+/g, "WORKER")
        .replace(/\b([a-z-]+)-[0-9a-z]{8}\b/g, "$1-ID")
        .replace(/\b\d+(\.\d+)? m?s\b/g, "TIME")
        .replace("first TIME ago, last TIME ago", "TIME ago") // those of one moment have one
        .replace(/\bin \S+\/fix-lint:/, "in FOLDER:")
        .replace(/'\S+\/logs\//, "'HOME/logs/")
        .replace(/\(([0-9a-f]{10})\)|^[0-9a-f]{7} /, "COMMIT ")
        .replace(/\b20\d\d\b/, "YEAR")
        .replace(/ {2,}/g, "  ")
        .replace(/(failed with) [^·]*…$/, "$1…")
        .trimEnd(),
    )
    .sort();
}

/** Go: a function on one line, its file on the next. The goroutine that is printed first is the one that failed. */
import type { Frame, Trace, TraceReader } from "./frame.ts";

export const GO: TraceReader = {
  language: "Go",
  hint: /^goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[/m,
  read,
};

const GOROUTINE = /^goroutine \d+ .{0,80}\[[^\]]{1,80}\]:$/;
const FILE = /^\s+(\S{1,400}\.(?:go|s)):\d+(?: \+0x[\da-f]+)?/;
const HEADLINE = /^(?:panic: |fatal error: |runtime: |http: panic serving )/;
const LOOK_BACK_LINES_MAX = 20;

function read(lines: readonly string[]): Trace | undefined {
  const start = lines.findIndex((line) => GOROUTINE.test(line));
  if (start < 0) return undefined;
  const frames: Frame[] = [];
  let index = start + 1;
  for (; index + 1 < lines.length; index += 2) {
    const file = FILE.exec(lines[index + 1] ?? "")?.[1];
    if (file === undefined) break;
    frames.push(frameOf(lines[index] ?? "", file));
  }
  return { language: "Go", headline: headlineBefore(lines, start), frames, endsAt: index };
}

function headlineBefore(lines: readonly string[], start: number): string {
  const first = Math.max(0, start - LOOK_BACK_LINES_MAX);
  const above = lines.slice(first, start);
  // A panic within a panic is printed below the first: the first is the root.
  const found =
    above.find((line) => HEADLINE.test(line)) ?? above.findLast((line) => line.trim() !== "") ?? "";
  return found.trim();
}

const FOREIGN_FILE =
  /\/(?:go|golang|libexec|\.?goroot)(?:[\d.-]+)?\/src\/|\/pkg\/mod\/|\/vendor\/|^\/usr\/(?:local\/)?(?:lib\/)?go/;
const FOREIGN_FUNCTION =
  /^(?:runtime|reflect|testing|net\/http|sync|syscall|os|internal\/\w+)\.|^panic$|^created by /;

function frameOf(line: string, file: string): Frame {
  const call = line.replace(/\((?:[^()]|\([^()]*\)){0,300}\)$/, "").replace(/ in goroutine \d+$/, "");
  const name = (call.split("/").at(-1) ?? call).replace(/(?:\.func\d+)+(?:\.\d+)*$/, "");
  return { function: name, file, inApp: !FOREIGN_FILE.test(file) && !FOREIGN_FUNCTION.test(call) };
}

/** The `write_file` step: writes an expanded template to a file inside the step's folder, never outside it. */
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, sep } from "node:path";
import { parse, stringify } from "yaml";
import { RedriveError } from "../errors.ts";
import { randomName } from "../std/random.ts";
import { messageOf } from "../std/thrown.ts";
import { tryTo } from "../std/try-to.ts";
import type { Action, Step } from "./model.ts";
import type { At, StepEnd } from "./step-context.ts";
import { logLine, writeTrouble } from "./step-record.ts";
import { expand } from "./variables.ts";

/** The output, for `capture`, is the path as given. */
export async function writeFileStep(
  { path, content, mode, format }: Extract<Action, { kind: "write_file" }>,
  step: Step,
  at: At,
): Promise<StepEnd> {
  const variables = at.scope.all();
  const bytes = Buffer.from(formatted(expand(content, variables), format));
  const end = writeInside(expand(path, variables), [bytes], step, at, mode);
  await logLine(at, end.kind === "done" ? `${bytes.length} bytes` : "failed");
  return end;
}

/** Throws a usage error when the content is not in the format. */
function formatted(text: string, format: "json" | "yaml" | undefined): string {
  if (format === undefined) return text;
  try {
    return format === "json" ? `${JSON.stringify(JSON.parse(text), null, 2)}\n` : stringify(parse(text));
  } catch (error) {
    throw refused(`The content is not valid ${format === "json" ? "JSON" : "YAML"}: ${messageOf(error)}.`);
  }
}

export function writeInside(
  name: string,
  chunks: Iterable<Buffer>,
  { workingDir = "." }: Step,
  at: At,
  mode?: number,
): StepEnd {
  const target = insideRoot(at.run.context.root, name, expand(workingDir, at.scope.all()));
  try {
    writeAtomically(target, chunks, mode);
    return { kind: "done", output: name };
  } catch (error) {
    return writeTrouble(at, name, error);
  }
}

/** Resolves `path`, which need not exist. Throws for absolute paths, `..` and links that lead outside the root. */
export function insideRoot(root: string, path: string, from = "."): string {
  for (const one of [from, path]) {
    if (one.includes("\0")) throw refused("A path cannot contain NUL.");
    if (isAbsolute(one))
      throw refused(`"${one}" is absolute. Write a path relative to the folder of the step.`);
    if (one.split("/").includes("..")) throw refused(`"${one}" leaves the folder; ".." is not allowed.`);
  }
  const real = realPathOf(join(root, from, path));
  if (real === undefined) throw refused(`"${path}" contains a broken link.`);
  const rootReal = realpathSync(root);
  if (real === rootReal || real.startsWith(rootReal + sep)) return real;
  throw refused(`"${path}" is a link that leads out of the folder.`);
}

function refused(problem: string): RedriveError {
  return new RedriveError("usage", problem);
}

/** Follows links in the existing part of the path; the rest is appended unchanged. */
function realPathOf(path: string): string | undefined {
  // If lstat fails for another reason, the later write fails too and reports it.
  const isThere = tryTo(() => lstatSync(path)) !== undefined;
  if (isThere) return tryTo(() => realpathSync(path));
  const parent = realPathOf(dirname(path));
  return parent === undefined ? undefined : join(parent, basename(path));
}

/** Creates the folders. Readers see the old content or the new, never a part. An existing file keeps its mode. */
function writeAtomically(path: string, chunks: Iterable<Buffer>, mode?: number): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomName(8)}.tmp`);
  const keptMode = mode ?? statSync(path, { throwIfNoEntry: false })?.mode;
  try {
    const fd = openSync(temporary, "wx", 0o666);
    try {
      for (const chunk of chunks) for (let at = 0; at < chunk.length; ) at += writeSync(fd, chunk, at);
    } finally {
      closeSync(fd);
    }
    if (keptMode !== undefined) chmodSync(temporary, keptMode & 0o7777);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

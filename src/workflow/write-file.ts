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
import type { Filled } from "../attempt/template.ts";
import { randomName } from "../std/random.ts";
import { tryTo } from "../std/try-to.ts";
import type { Action, Step } from "./model.ts";
import type { At, StepEnd } from "./step-context.ts";
import { hopeless, logLine, writeTrouble } from "./step-record.ts";
import { expand } from "./variables.ts";

/** The output, for `capture`, is the path as given. */
export async function writeFileStep(
  { path, content, mode }: Extract<Action, { kind: "write_file" }>,
  step: Step,
  at: At,
): Promise<StepEnd> {
  const variables = at.scope.all();
  const folder = expand(step.workingDir ?? ".", variables);
  const name = expand(path, variables);
  const text = expand(content, variables);
  if (!folder.ok) return hopeless(at, folder.message);
  if (!name.ok) return hopeless(at, name.message);
  if (!text.ok) return hopeless(at, text.message);
  const target = insideRoot(at.run.context.root, name.value, folder.value);
  if (!target.ok) return hopeless(at, target.message);
  const bytes = Buffer.from(text.value);
  try {
    writeAtomically(target.value, [bytes], mode);
  } catch (error) {
    await logLine(at, "failed");
    return writeTrouble(at, name.value, error);
  }
  await logLine(at, `${bytes.length} bytes`);
  return { kind: "done", output: name.value };
}

/** Resolves `path`, which need not exist. Rejects absolute paths, `..` and links that lead outside the root. */
export function insideRoot(root: string, path: string, from = "."): Filled<string> {
  const refused = wrongPath(from) ?? wrongPath(path);
  if (refused !== undefined) return { ok: false, message: refused };
  const real = realPathOf(join(root, from, path));
  if (real === undefined) return { ok: false, message: `"${path}" goes through a link that leads nowhere.` };
  const rootReal = realpathSync(root);
  const isInside = real === rootReal || real.startsWith(rootReal + sep);
  return isInside
    ? { ok: true, value: real }
    : { ok: false, message: `"${path}" is a link that leads out of the folder.` };
}

function wrongPath(path: string): string | undefined {
  if (path.includes("\0")) return "A path cannot contain NUL.";
  if (isAbsolute(path)) return `"${path}" is an absolute path; it has to be relative to where the step runs.`;
  if (path.split("/").includes("..")) return `"${path}" leaves the folder; ".." is not allowed.`;
  return undefined;
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
export function writeAtomically(path: string, chunks: Iterable<Buffer>, mode?: number): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomName(8)}.tmp`);
  const keptMode = mode ?? statSync(path, { throwIfNoEntry: false })?.mode;
  try {
    const fd = openSync(temporary, "wx", 0o666);
    try {
      for (const chunk of chunks) writeWhole(fd, chunk);
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

function writeWhole(fd: number, chunk: Buffer): void {
  for (let at = 0; at < chunk.length; ) at += writeSync(fd, chunk, at);
}

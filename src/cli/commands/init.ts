/** `redrive init`: a commented workflow that runs as it is, in any folder, and items for it. It overwrites nothing unasked. */
import { writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { WorkError } from "../../errors.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { FIRST_ITEMS, FIRST_WORKFLOW } from "../first-workflow.ts";

interface InitFlags {
  /** Overwrite a workflow that is there. */
  readonly force?: boolean;
}

const DEFAULT_FILE = "workflow.yml";
const ITEMS_FILE = "items.json";

export async function init(
  context: Context,
  file: string = DEFAULT_FILE,
  flags: InitFlags = {},
): Promise<number> {
  const path = resolve(context.terminal.cwd, file);
  const itemsPath = join(context.terminal.cwd, ITEMS_FILE);
  if (basename(path) === ITEMS_FILE && dirname(path) === dirname(itemsPath)) {
    throw new WorkError(
      "usage",
      `${ITEMS_FILE} is where the items go; choose another name for the workflow.`,
    );
  }
  if (!write(path, FIRST_WORKFLOW, flags.force ?? false)) {
    throw new WorkError("usage", `${file} is there already, and was left as it is.`, {
      hint: "Name another file, or write over it with --force.",
    });
  }
  const written = write(itemsPath, FIRST_ITEMS, false) ? [file, ITEMS_FILE] : [file];
  context.answer(
    { written },
    () => `Wrote ${written.join(" and ")}. Next:\n\n  redrive run ${file} --dry-run\n  redrive run ${file}\n`,
  );
  return EXIT.done;
}

/** False when there is a file, which is then left alone. */
function write(path: string, text: string, isForced: boolean): boolean {
  try {
    writeFileSync(path, text, { flag: isForced ? "w" : "wx" });
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    if (code === "EEXIST") return false;
    throw new WorkError("usage", `${path} cannot be written (${code}).`, { cause: error });
  }
}

/** `redrive queue import`: items from a file into a queue, with a word on every row that is wrong. */
import { resolve } from "node:path";
import { WorkError } from "../../errors.ts";
import { compact } from "../../item/failure.ts";
import { type ItemImport, importItems, type RefusedRow } from "../../queue/import-items.ts";
import type { RowFields } from "../../queue/import-row.ts";
import type { ItemFormat } from "../../queue/read-rows.ts";
import { authorOf } from "../author.ts";
import { interruptible } from "../change-letters.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requirePath } from "../option.ts";
import { clean } from "../paint.ts";

interface ImportFlags {
  readonly format?: ItemFormat;
  readonly envelope?: boolean;
  readonly keyField?: string;
  readonly nameField?: string;
  readonly priorityField?: string;
  readonly dueField?: string;
  readonly expiresField?: string;
  readonly laneField?: string;
  readonly typed?: boolean;
  readonly dryRun?: boolean;
}

/** More are counted, and not kept. */
const PROBLEMS_KEPT_MAX = 1000;

export async function queueImport(
  context: Context,
  queue: string,
  path: string,
  flags: ImportFlags,
): Promise<number> {
  const { terminal, isJson } = context;
  const file = path === "-" ? path : resolve(terminal.cwd, requirePath("The path", path));
  const isDry = flags.dryRun ?? false;
  const problems: RefusedRow[] = [];
  const onRefused = (row: RefusedRow) => {
    if (!isJson) context.note(`${path === "-" ? "stdin" : path}:${row.line}: ${clean(row.reason)}`);
    else if (problems.length < PROBLEMS_KEPT_MAX) problems.push(row);
  };
  const fields = fieldsFrom(flags);
  const { result, interrupted } = await interruptible(context, (engine, signal) =>
    importItems(engine, queue, file, {
      author: authorOf(terminal.env),
      isDry,
      isTyped: flags.typed ?? false,
      isEnvelope: flags.envelope ?? false,
      fields,
      stdin: terminal.stdin,
      onRefused,
      signal,
      ...(flags.format && { format: flags.format }),
    }),
  );
  const { brokenOff, ...counts } = result;
  const document = { queue, ...counts, problems: problems.map((row) => ({ ...row })) };
  context.answer(compact({ ...document, dry_run: isDry || undefined, broken_off: brokenOff }), () =>
    importText(queue, result, isDry),
  );
  return interrupted ?? exitCodeOf(result);
}

function fieldsFrom(flags: ImportFlags): RowFields {
  const { keyField, nameField, priorityField, dueField, expiresField, laneField } = flags;
  const fields = compact({
    key: keyField,
    name: nameField,
    priority: priorityField,
    due: dueField,
    expires: expiresField,
    lane: laneField,
  });
  if (flags.envelope && Object.keys(fields).length > 0)
    throw new WorkError("usage", "--envelope and the options for fields do not go together.", {
      hint: "In an envelope the settings have the names key, name, priority, due, expires and lane.",
    });
  return fields;
}

function importText(
  queue: string,
  { read, added, existing, replaced, refused, brokenOff }: ItemImport,
  isDry: boolean,
): string {
  const parts = [`${added} ${isDry ? "would be " : ""}added`];
  if (existing > 0) parts.push(`${existing} there already`);
  if (replaced > 0) parts.push(`${replaced} replaced`);
  if (refused > 0) parts.push(`${refused} refused`);
  const rows = read === 1 ? "1 row" : `${read} rows`;
  const end = brokenOff === undefined ? "" : `Broken off: ${clean(brokenOff)}.\n`;
  return `${rows} for ${queue}: ${parts.join(", ")}.${isDry ? " Nothing was written." : ""}\n${end}`;
}

/** 2 when nothing could be used, 3 when some rows could not. */
function exitCodeOf({ read, refused }: ItemImport): number {
  if (refused === 0) return EXIT.done;
  return refused === read ? EXIT.usage : EXIT.lettersLeft;
}

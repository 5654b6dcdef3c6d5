/** Opens JSON in the user's editor and reads it back. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RedriveError } from "../errors.ts";
import { fileNameOf } from "../item/item.ts";
import { compileRecipe, type Recipe } from "../redrive/recipe.ts";
import { type Json, stringifyJson } from "../std/json.ts";
import { isSameJson } from "../std/json-diff.ts";
import type { SelectedLetters } from "./bulk.ts";
import type { Context } from "./context.ts";
import { userError } from "./exit-code.ts";
import { readJsonText } from "./json-input.ts";

interface EditorTask {
  /** Used for the name of the file. */
  readonly itemId: string;
  readonly data: Json;
  /** Returns the reason if the data is invalid. */
  readonly refuse: (data: Json) => Promise<string | undefined>;
}

/** Returns the edited data. The user may correct invalid text; otherwise the file is kept, and the error names it. */
async function editJson(context: Context, task: EditorTask): Promise<Json> {
  const editor = editorOf(context);
  const folder = mkdtempSync(join(tmpdir(), "redrive-edit-"));
  const file = join(folder, `${fileNameOf(task.itemId)}.json`);
  const text = `${stringifyJson(task.data, 2)}\n`;
  writeFileSync(file, text, { mode: 0o600 });
  for (;;) {
    await runEditor(context, editor, file);
    const answer = await readBack(file, task);
    if (answer.ok || readFileSync(file, "utf8") === text) {
      rmSync(folder, { recursive: true, force: true });
      return answer.ok ? answer.data : task.data;
    }
    context.note(answer.problem);
    if (context.canAnswer && (await context.ask("Edit it again?"))) continue;
    const again = `EDITOR='cp ${file}' redrive dlq edit ${task.itemId}`;
    const hint = `Your text is saved in ${file}. Correct it there, then: ${again}`;
    throw userError("input_invalid", `${answer.problem} Nothing was changed.`, hint);
  }
}

/** Returns the editor command. A shell parses it, because it may have arguments, as with git. */
function editorOf(context: Context): string {
  const { VISUAL, EDITOR } = context.terminal.env;
  const editor = VISUAL?.trim() || EDITOR?.trim() || (context.canAnswer ? "vi" : "");
  if (editor !== "") return editor;
  const hint = "Set one of them, or use --set path=CEL or --patch JSON.";
  throw userError("usage", "There is no editor to open: neither VISUAL nor EDITOR is set.", hint);
}

/** Runs the editor on stderr if stdout is not a terminal, because stdout is reserved for the result. */
async function runEditor({ terminal }: Context, editor: string, file: string): Promise<void> {
  const { env, cwd, stdout } = terminal;
  const child = spawn("sh", ["-c", `trap : INT QUIT; ${editor} "$@"`, editor, file], {
    env,
    cwd,
    stdio: ["inherit", stdout.isTTY ? "inherit" : 2, "inherit"],
  });
  const ended = await ignoringSignals(
    new Promise<string>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve(signal ?? String(code)));
    }),
  );
  if (ended === "0") return;
  const message = `The editor (${editor}) ended with ${ended}. Nothing was changed.`;
  throw userError("usage", message, `Your text is saved in ${file}.`);
}

/** Ignores Ctrl-C while the editor runs: the signal reaches all processes of the terminal but is meant for the editor. */
async function ignoringSignals<T>(ended: Promise<T>): Promise<T> {
  const ignore = () => undefined;
  const signals = ["SIGINT", "SIGQUIT"] as const;
  for (const signal of signals) process.on(signal, ignore);
  try {
    return await ended;
  } finally {
    for (const signal of signals) process.off(signal, ignore);
  }
}

type Answer = { readonly ok: true; readonly data: Json } | { readonly ok: false; readonly problem: string };

async function readBack(file: string, { refuse }: EditorTask): Promise<Answer> {
  try {
    const data = readJsonText(readFileSync(file, "utf8"), file, "");
    const problem = await refuse(data);
    return problem === undefined
      ? { ok: true, data }
      : { ok: false, problem: `The data is not valid: ${problem}.` };
  } catch (error) {
    if (!(error instanceof RedriveError)) throw error;
    return { ok: false, problem: error.message };
  }
}

/** Returns null if nothing was changed. The store is closed during editing; concurrent changes are detected later. */
export async function editByHand(
  context: Context,
  { selection }: SelectedLetters,
  { schemas = [] }: Recipe,
): Promise<Recipe | null> {
  const { itemIds = [] } = selection.filter;
  if (itemIds.length !== 1) {
    const hint = "Give one item, or change all letters with --set path=CEL or --patch JSON.";
    throw userError("usage", "Only one letter can be opened in an editor.", hint);
  }
  const query = { ...selection.filter, limit: 1 };
  const [letter] = (await context.withStore((engine) => engine.listLetters(query))).letters;
  if (letter === undefined) {
    const message = `${itemIds[0]} does not match the other options.`;
    throw userError("item_not_found", message, `Give only the item: redrive dlq edit ${itemIds[0]}`);
  }
  const { itemId, itemData, revision } = letter;
  const check = async (data: typeof itemData) => {
    const amended = (await compileRecipe({ replace: { data, revision }, schemas }))(letter);
    return amended.ok ? undefined : amended.reason;
  };
  const data = await editJson(context, { itemId, data: itemData, refuse: check });
  return isSameJson(data, itemData) ? null : { replace: { data, revision }, schemas };
}

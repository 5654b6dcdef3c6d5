/** `redrive queue add`: adds one item and prints its id. */
import { text } from "node:stream/consumers";
import { WorkError } from "../../errors.ts";
import type { Priority } from "../../item/priority.ts";
import type { Json } from "../../kit/json.ts";
import { type AddedItem, addItems } from "../../queue/add-items.ts";
import { MOMENT_FORMS, parseMoment } from "../../queue/moment.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { readJsonFile, readJsonOption, readJsonText } from "../json-word.ts";
import { shellWord } from "../summary-text.ts";

interface AddFlags {
  readonly data?: string;
  readonly file?: string;
  readonly name?: string;
  readonly priority?: Priority;
  readonly key?: string;
  readonly due?: string;
  readonly expires?: string;
  readonly lane?: string;
}

export async function queueAdd(context: Context, queue: string, flags: AddFlags): Promise<number> {
  const data = await readData(context, flags);
  const { name, priority, key, lane } = flags;
  const [added] = await context.withStore(async (engine) => {
    const now = await engine.now();
    const dueAt = momentOption("--due", flags.due, now);
    const expiresAt = momentOption("--expires", flags.expires, now);
    const item = {
      data,
      ...(name !== undefined && { name }),
      ...(priority !== undefined && { priority }),
      ...(key !== undefined && { key }),
      ...(lane !== undefined && { lane }),
      ...(dueAt !== undefined && { dueAt }),
      ...(expiresAt !== undefined && { expiresAt }),
    };
    return addItems(engine, queue, [item], { author: authorOf(context.terminal.env) });
  });
  return say(context, queue, added ?? { outcome: "refused" });
}

function say(context: Context, queue: string, { outcome, itemId = "", reason, because }: AddedItem): number {
  if (outcome === "refused") {
    throw new WorkError(because === "key_taken" ? "illegal_move" : "input_invalid", `Not added: ${reason}.`, {
      hint:
        because === "key_taken"
          ? `\`redrive queue show ${queue} ${shellWord(itemId) ?? "ITEM"}\` shows it.`
          : "Correct the item and add it again.",
    });
  }
  context.answer({ queue, item_id: itemId, outcome }, () => `${itemId}\n`);
  if (!context.isJson && outcome === "existing") context.note("It was there already, and stays as it was.");
  if (!context.isJson && outcome === "replaced")
    context.note("It was there and waited: it has the new data now.");
  return EXIT.done;
}

async function readData({ terminal }: Context, { data, file }: AddFlags): Promise<Json> {
  const { cwd, stdin } = terminal;
  if (data !== undefined && file !== undefined)
    throw new WorkError(
      "usage",
      "--data and --file do not go together: an item has its data from one place.",
    );
  if (data !== undefined) return readJsonOption(data, { option: "--data", cwd });
  if (file !== undefined && file !== "-") return readJsonFile(file, { option: "--file", cwd });
  if ((stdin as { isTTY?: boolean }).isTTY) {
    throw new WorkError("usage", "No data was given.", {
      hint: `Give it as JSON: --data '{"a": 1}', --data @FILE, --file FILE, or on stdin.`,
    });
  }
  return readJsonText(
    await text(stdin),
    "stdin",
    "Standard input has to be one JSON value; `queue import` takes many.",
  );
}

function momentOption(option: string, word: string | undefined, now: number): number | undefined {
  if (word === undefined) return undefined;
  const ms = parseMoment(word, now);
  if (ms !== undefined) return ms;
  throw new WorkError("usage", `${option}: "${word}" is not ${MOMENT_FORMS}.`);
}

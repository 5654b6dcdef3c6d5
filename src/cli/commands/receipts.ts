/** `redrive receipts target|list|inspect|pause|resume`: manages targets and lists their receipts. */
import {
  listTargets,
  setTarget,
  summariseTarget,
  type TargetSummary,
  targetToJson,
} from "../../delivery/target-settings.ts";
import { isError } from "../../errors.ts";
import { itemViewToJson, readItemView, requireItem } from "../../queue/find-item.ts";
import { requireTarget } from "../../queue/find-job.ts";
import { argument, command } from "../command.ts";
import { EXIT, userError } from "../exit-code.ts";
import { itemStates, word } from "../options.ts";
import { targetOptions, targetSettingsFrom } from "../queue-options.ts";
import { itemText } from "../render/item.ts";
import { targetSettingsText, targetsText, targetText } from "../render/queue.ts";
import { applySettings, listItems, pageOptions, pauseCommands, type StandingKind } from "../standing.ts";

const TARGET_KIND: StandingKind<TargetSummary> = {
  family: "receipts",
  word: "receipt",
  form: "<target>",
  find: requireTarget,
  summarise: summariseTarget,
  toJson: targetToJson,
};

const target = command({
  summary: "Create a receipt target, or change the given settings; without options, show the target.",
  description: "`none` removes a setting.",
  examples: [
    "redrive receipts target billing --url https://billing.example/receipts --token-env BILLING_TOKEN",
    "redrive receipts target billing --retries 8 --on-outage wait",
    "redrive receipts target billing",
  ],
  arguments: { name: argument("<target>", "the target name: letters, digits, dots, dashes, underscores") },
  options: targetOptions,
  run: async (context, { name: id, ...flags }) => {
    const settings = targetSettingsFrom(context, flags);
    if (Object.keys(settings).length === 0) {
      const found = await context.withStore(async (engine) =>
        summariseTarget(engine, await requireTarget(engine, id)),
      );
      return context.answer(targetToJson(found), () => targetText(found, context));
    }
    const { isNew, isChanged, found } = await context.withStore(
      (engine) =>
        applySettings(engine, id, { kind: TARGET_KIND, apply: () => setTarget(engine, id, settings) }),
      { creates: true },
    );
    context.answer({ ...targetToJson(found), is_new: isNew, is_changed: isChanged }, () => {
      if (!isChanged) return `${id} already has these settings.\n`;
      return `${isNew ? "Created the target" : "Changed"} ${id}.\n${targetSettingsText(found)}`;
    });
    if (isNew && !context.isJson) {
      context.note(`To send a receipt:    redrive receipts send ${id} --data '{"task_id": "t-1"}'`);
      context.note(`To keep delivering:   redrive receipts deliver ${id}`);
    }
    return EXIT.done;
  },
});

const list = command({
  isDefault: true,
  summary: "List the targets, or the receipts of a target, oldest first.",
  examples: ["redrive receipts", "redrive receipts list billing --state dead"],
  arguments: { name: argument("[target]", "its name") },
  options: {
    states: itemStates("only receipts in these states: ready, leased, held, done, dead, discarded"),
    ...pageOptions,
  },
  run: async (context, { name, ...flags }) => {
    if (name !== undefined) return listItems(context, { name, ...flags }, TARGET_KIND);
    if (flags.states !== undefined || flags.after !== undefined)
      throw userError("usage", "No target was given.", "Give a target: redrive receipts list TARGET");
    const targets = await context.withStore(listTargets);
    return context.answer({ targets: targets.map(targetToJson) }, () => targetsText(targets, context));
  },
});

const TARGETS_MAX = 1000;

const inspect = command({
  summary: "Show a receipt with all its attempts.",
  examples: ["redrive receipts inspect t-1 --target billing"],
  arguments: { key: argument("<key>", "a receipt key or a unique prefix") },
  options: { target: word("--target <target>", "the receipt's target") },
  run: async (context, { key, target: id }) => {
    const view = await context.withStore(async (engine) => {
      const named = id === undefined ? undefined : (await requireTarget(engine, id)).id;
      const targets = await engine.listJobs({ limit: TARGETS_MAX, kinds: ["target"] });
      const ids = new Set(targets.map((job) => job.id));
      const item = await requireItem(engine, key, named, ({ queue }) => ids.has(queue)).catch((error) => {
        throw asReceiptError(error, key, named);
      });
      if (ids.has(item.queue)) return readItemView(engine, item);
      const message = `There is no receipt ${key}: it is an item of ${item.queue}.`;
      throw userError("item_not_found", message, `Show it: redrive queue show ${item.queue} ${key}`);
    });
    const { itemId, queue } = view.item;
    const document = { key: itemId, target: queue, ...itemViewToJson(view) };
    return context.answer(document, () => itemText(view, context, "receipt"));
  },
});

/** Rewords errors about items, because receipts are stored as items. */
function asReceiptError(error: unknown, key: string, id: string | undefined): unknown {
  if (isError(error, "ambiguous")) {
    const message = error.message.replace("several items", "several receipts");
    return userError("ambiguous", message, "Give a longer prefix of the key, or the target with --target.");
  }
  if (!isError(error, "item_not_found")) return error;
  const message = `There is no receipt ${key}${id ? ` for ${id}` : ""}.`;
  return userError("item_not_found", message, `List them: redrive receipts list ${id ?? "TARGET"}`);
}

const pausing = pauseCommands(TARGET_KIND, {
  pause: "Pause a target: nothing is sent, new receipts are stored.",
  resume: "Resume a target that was paused by a person or because its token was rejected.",
  example: "billing",
  why: "maintenance",
  onPause: () => " New receipts are kept.",
  onResume: (context, { name, counts, workers }) => {
    if (counts.ready > 0 && workers.length === 0 && !context.isJson)
      context.note(`No process delivers receipts now. To deliver: redrive receipts deliver ${name}`);
  },
});

export const commands = { target, list, inspect, ...pausing };

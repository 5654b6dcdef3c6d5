/** Functions for named queues, with argument checks. */
import * as add from "../../queue/add-items.ts";
import * as imports from "../../queue/import-items.ts";
import * as settings from "../../queue/queue-settings.ts";
import * as status from "../../queue/queue-status.ts";
import { anyThat, name } from "../../std/check-input.ts";
import { checked } from "./checked.ts";
import { checkQueueItems } from "./item-check.ts";
import * as s from "./schemas.ts";

const { engine } = s;
/** Accepts any value, because the wrapped function validates it. */
const later = anyThat(() => true, "settings");

/**
 * Creates a queue. Returns an existing queue with the same settings; with other settings it throws `job_changed`. Letters
 * that were imported under this name then belong to the queue.
 */
export const createQueue = checked("createQueue", settings.createQueue, { engine, name, settings: later });

/** Changes only the given settings. Writes an event with the changed ones, or none if nothing changed. */
export const changeQueue = checked("changeQueue", settings.changeQueue, { engine, name, settings: later });

/** Adds items and returns a result for each, in the same order. */
export const addItems = checked("addItems", addChecked, {
  engine,
  queue: name,
  items: later,
  options: s.addItemsOptions.optional(),
});

function addChecked(...[store, queue, items, options]: Parameters<typeof add.addItems>) {
  return add.addItems(store, queue, checkQueueItems(items, "addItems"), options);
}

/** Adds the items of a file (`-` is stdin). Rows with keys are added only once, also if the file is imported again. */
export const importItems = checked("importItems", imports.importItems, {
  engine,
  queue: name,
  path: name,
  options: s.importItemsOptions.optional(),
});

/** All named queues of the store, sorted by name. */
export const listQueues = checked("listQueues", status.listQueues, { engine });

/** The current state of a queue: its items, workers and breaker. */
export const summariseQueue = checked("summariseQueue", status.summariseQueue, { engine, job: s.job });

/** An engine that validates the arguments of library callers. Methods that runners call for each attempt are not checked. */
import * as z from "zod";
import type { Engine, EventQuery, ItemQuery, LetterQuery } from "../engine.ts";
import { LETTER_PARTS } from "../engine.ts";
import type { ErrorQuery } from "../item/error-log.ts";
import { EVENT_TYPES } from "../item/event.ts";
import type { HoldBy, NewNote } from "../item/item.ts";
import { JOB_KINDS, JOB_STATUSES, type NewJob } from "../item/job.ts";
import { ITEM_STATES } from "../item/state.ts";
import {
  count,
  flag,
  listOf,
  name,
  objectOf,
  oneOf,
  optional,
  positive,
  text,
  texts,
  time,
} from "../std/check-input.ts";
import { checked } from "./checked.ts";
import { checkNewItems } from "./item-check.ts";
import { FILTER, ORDER } from "./letter-schemas.ts";
import { ERROR_QUERY, json } from "./schemas.ts";

const newJob = objectOf<NewJob>({ id: name, name, kind: oneOf(JOB_KINDS), spec: json });
const jobPage = objectOf<Parameters<Engine["listJobs"]>[0]>({
  limit: positive,
  ...optional(time, "before"),
  ...optional(listOf(oneOf(JOB_KINDS)), "kinds"),
});
/** Loose, because runners also write progress and events. */
const jobChange = z.looseObject({ ...optional(oneOf(JOB_STATUSES), "status"), ...optional(json, "spec") });
const holdBy = objectOf<HoldBy>({ author: text, ...optional(text, "reason") });
const itemSearch = objectOf<Parameters<Engine["findItems"]>[1]>({
  ...optional(name, "queue"),
  limit: positive,
});
const itemQuery = objectOf<ItemQuery>({
  queue: name,
  limit: count,
  ...optional(listOf(oneOf(ITEM_STATES)), "states"),
  ...optional(texts, "itemIds"),
  ...optional(count, "after"),
});
const letterQuery = objectOf<LetterQuery>({
  ...FILTER,
  ...ORDER,
  limit: count,
  ...optional(name, "queue"),
  ...optional(text, "cursor"),
  ...optional(listOf(oneOf(LETTER_PARTS)), "parts"),
  ...optional(flag, "counted"),
});
const eventQuery = objectOf<EventQuery>({
  after: count,
  limit: positive,
  ...optional(name, "queue"),
  ...optional(listOf(oneOf(EVENT_TYPES)), "types"),
  ...optional(time, "since", "until"),
  ...optional(text, "itemId"),
});
const errorQuery = objectOf<ErrorQuery>({ ...ERROR_QUERY, ...optional(name, "queue") });
const newNote = objectOf<NewNote>({ author: text, text });
/** Callers may build letters without `letterFromJson`; these fields are the minimum. */
const letters = listOf(
  z.looseObject({
    itemId: name,
    itemData: json,
    failureHistory: listOf(z.looseObject({ errorMessage: text })),
  }),
);

/** Returns the engine with checks: invalid arguments give a `usage` error instead of a database error. */
export function checkedEngine(engine: Engine): Engine {
  const held = { queue: name, itemIds: texts, by: holdBy };
  return {
    ...engine,
    createJob: checked("store.createJob", engine.createJob, { job: newJob }),
    findJob: checked("store.findJob", engine.findJob, { idOrName: text }),
    listJobs: checked("store.listJobs", engine.listJobs, { page: jobPage }),
    changeJob: checked("store.changeJob", engine.changeJob, { id: name, change: jobChange }),
    add: async (queue, items, options) => engine.add(queue, checkNewItems(items, "store.add"), options),
    hold: checked("store.hold", engine.hold, held),
    unhold: checked("store.unhold", engine.unhold, held),
    count: checked("store.count", engine.count, { queue: name }),
    findItems: checked("store.findItems", engine.findItems, { idOrPrefix: text, options: itemSearch }),
    listItems: checked("store.listItems", engine.listItems, { query: itemQuery }),
    listLetters: checked("store.listLetters", engine.listLetters, { query: letterQuery }),
    readLetter: checked("store.readLetter", engine.readLetter, { ref: count }),
    listEvents: checked("store.listEvents", engine.listEvents, { query: eventQuery }),
    listErrors: checked("store.listErrors", engine.listErrors, { query: errorQuery }),
    importLetters: checked("store.importLetters", engine.importLetters, { queue: name, letters }),
    addNote: checked("store.addNote", engine.addNote, { ref: count, note: newNote }),
  };
}

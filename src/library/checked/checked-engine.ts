/** An engine that validates the arguments of library callers. Methods that runners call for each attempt are not checked. */
import * as z from "zod";
import {
  type Engine,
  type EventQuery,
  type ItemEventQuery,
  type ItemQuery,
  LETTER_PARTS,
  type LetterAddress,
  type LetterQuery,
} from "../../engine.ts";
import type { ErrorQuery } from "../../item/error-log.ts";
import { EVENT_TYPES } from "../../item/event.ts";
import type { HoldBy, NewNote } from "../../item/item.ts";
import { JOB_KINDS, JOB_STATUSES, type NewJob } from "../../item/job.ts";
import { ITEM_STATES } from "../../item/state.ts";
import * as t from "../../std/check-input.ts";
import { checked } from "./checked.ts";
import { checkNewItems } from "./item-check.ts";
import { FILTER, ORDER } from "./letter-schemas.ts";
import { ERROR_QUERY, json } from "./schemas.ts";

const newJob = t.objectOf<NewJob>({
  id: t.name,
  name: t.name,
  kind: t.oneOf(JOB_KINDS),
  spec: json,
  ...t.optional(t.name, "author"),
});
const jobPage = t.objectOf<Parameters<Engine["listJobs"]>[0]>({
  limit: t.positive,
  ...t.optional(t.time, "before"),
  ...t.optional(t.listOf(t.oneOf(JOB_KINDS)), "kinds"),
});
/** A loose schema, because runners also write progress and events. */
const jobChange = z.looseObject({
  ...t.optional(t.oneOf(JOB_STATUSES), "status"),
  ...t.optional(json, "spec"),
});
const holdBy = t.objectOf<HoldBy>({ author: t.text, ...t.optional(t.text, "reason") });
const itemSearch = t.objectOf<Parameters<Engine["findItems"]>[1]>({
  ...t.optional(t.name, "queue"),
  limit: t.positive,
});
const itemQuery = t.objectOf<ItemQuery>({
  queue: t.name,
  limit: t.count,
  ...t.optional(t.listOf(t.oneOf(ITEM_STATES)), "states"),
  ...t.optional(t.texts, "itemIds"),
  ...t.optional(t.count, "after"),
});
/** Only the outermost part is checked, because conditions come from `storeCondition`. */
const condition = z.looseObject({ is: t.name });
const letterQuery = t.objectOf<LetterQuery>({
  ...FILTER,
  ...ORDER,
  limit: t.count,
  ...t.optional(t.name, "queue"),
  ...t.optional(t.text, "cursor"),
  ...t.optional(t.listOf(t.oneOf(LETTER_PARTS)), "parts"),
  ...t.optional(t.flag, "counted"),
  ...t.optional(condition, "condition"),
});
const eventQuery = t.objectOf<EventQuery>({
  after: t.count,
  limit: t.positive,
  ...t.optional(t.name, "queue"),
  ...t.optional(t.listOf(t.oneOf(EVENT_TYPES)), "types"),
  ...t.optional(t.time, "since"),
  ...t.optional(t.count, "through"),
});
const itemEventQuery = t.objectOf<ItemEventQuery>({
  ...{ queue: t.name, itemId: t.text, times: t.listOf(t.time) },
});
const letterAddress = t.objectOf<LetterAddress>({ queue: t.name, itemId: t.text });
const errorQuery = t.objectOf<ErrorQuery>({ ...ERROR_QUERY, ...t.optional(t.name, "queue") });
const newNote = t.objectOf<NewNote>({ author: t.text, text: t.text });
/** Callers may build letters without `letterFromJson`; these fields are the minimum. */
const letters = t.listOf(
  z.looseObject({
    itemId: t.name,
    itemData: json,
    failureHistory: t.listOf(z.looseObject({ errorMessage: t.text })),
  }),
);

/** Returns the engine with checks: invalid arguments give a `usage` error instead of a database error. */
export function checkedEngine(engine: Engine): Engine {
  const held = { queue: t.name, itemIds: t.texts, by: holdBy };
  return {
    ...engine,
    createJob: checked("store.createJob", engine.createJob, { job: newJob }),
    findJob: checked("store.findJob", engine.findJob, { idOrName: t.text }),
    listJobs: checked("store.listJobs", engine.listJobs, { page: jobPage }),
    changeJob: checked("store.changeJob", engine.changeJob, { id: t.name, change: jobChange }),
    add: async (queue, items, options) => engine.add(queue, checkNewItems(items, "store.add"), options),
    within: (connection) => {
      const within = engine.within(connection);
      return {
        ...within,
        add: async (queue, items, options) => within.add(queue, checkNewItems(items, "store.add"), options),
        listItems: checked("store.listItems", within.listItems, { query: itemQuery }),
        findJob: checked("store.findJob", within.findJob, { idOrName: t.text }),
      };
    },
    hold: checked("store.hold", engine.hold, held),
    unhold: checked("store.unhold", engine.unhold, held),
    count: checked("store.count", engine.count, { queue: t.name }),
    findItems: checked("store.findItems", engine.findItems, { idOrPrefix: t.text, options: itemSearch }),
    listItems: checked("store.listItems", engine.listItems, { query: itemQuery }),
    listLetters: checked("store.listLetters", engine.listLetters, { query: letterQuery }),
    readLetter: checked("store.readLetter", engine.readLetter, { ref: t.count }),
    readLetterRecords: checked("store.readLetterRecords", engine.readLetterRecords, {
      address: letterAddress,
    }),
    listEvents: checked("store.listEvents", engine.listEvents, { query: eventQuery }),
    listItemEvents: checked("store.listItemEvents", engine.listItemEvents, { query: itemEventQuery }),
    listErrors: checked("store.listErrors", engine.listErrors, { query: errorQuery }),
    importLetters: checked("store.importLetters", engine.importLetters, { queue: t.name, letters }),
    addNote: checked("store.addNote", engine.addNote, { ref: t.count, note: newNote }),
  };
}

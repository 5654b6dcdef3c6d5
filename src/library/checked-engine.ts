/**
 * An engine that validates the arguments of library callers. Methods that runners call for each attempt are
 * not checked.
 */
import * as z from "zod";
import type { Engine, EventQuery, ItemQuery, LetterQuery } from "../engine.ts";
import { LETTER_ORDERS, LETTER_PARTS } from "../engine.ts";
import { ERROR_ORIGINS, type ErrorQuery } from "../item/error-log.ts";
import { EVENT_TYPES } from "../item/event.ts";
import type { HoldBy, NewNote } from "../item/item.ts";
import { JOB_KINDS, JOB_STATUSES, type NewJob } from "../item/job.ts";
import { LETTER_AGES } from "../item/letter-query.ts";
import { ITEM_STATES } from "../item/state.ts";
import { checked } from "./checked.ts";
import {
  count,
  durationMs,
  errorClass,
  errorTypeName,
  flag,
  json,
  listOf,
  name,
  objectOf,
  oneOf,
  positive,
  text,
  texts,
  time,
} from "./common-schemas.ts";
import { checkNewItems } from "./item-check.ts";

const newJob = objectOf<NewJob>({ id: name, name, kind: oneOf(JOB_KINDS), spec: json });
const jobPage = objectOf<Parameters<Engine["listJobs"]>[0]>({
  limit: positive,
  before: time.optional(),
  kinds: listOf(oneOf(JOB_KINDS)).optional(),
});
/** Loose, because runners also write progress and events. */
const jobChange = z.looseObject({ status: oneOf(JOB_STATUSES).optional(), spec: json.optional() });
const holdBy = objectOf<HoldBy>({ author: text, reason: text.optional() });
const itemSearch = objectOf<Parameters<Engine["findItems"]>[1]>({ queue: name.optional(), limit: positive });
const itemQuery = objectOf<ItemQuery>({
  queue: name,
  states: listOf(oneOf(ITEM_STATES)).optional(),
  itemIds: texts.optional(),
  after: count.optional(),
  limit: count,
});
const letterQuery = objectOf<LetterQuery>({
  queue: name.optional(),
  itemIds: texts.optional(),
  types: listOf(errorTypeName).optional(),
  classes: listOf(errorClass).optional(),
  signatures: texts.optional(),
  eligible: flag.optional(),
  states: listOf(oneOf(ITEM_STATES)).optional(),
  olderThanMs: durationMs.optional(),
  newerThanMs: durationMs.optional(),
  ageOf: oneOf(LETTER_AGES).optional(),
  attemptsMin: count.optional(),
  attemptsMax: count.optional(),
  text: text.optional(),
  order: oneOf(LETTER_ORDERS).optional(),
  limit: count,
  cursor: text.optional(),
  parts: listOf(oneOf(LETTER_PARTS)).optional(),
  counted: flag.optional(),
});
const eventQuery = objectOf<EventQuery>({
  queue: name.optional(),
  types: listOf(oneOf(EVENT_TYPES)).optional(),
  after: count,
  since: time.optional(),
  limit: positive,
  itemId: text.optional(),
  until: time.optional(),
});
const errorQuery = objectOf<ErrorQuery>({
  queue: name.optional(),
  itemId: text.optional(),
  origin: oneOf(ERROR_ORIGINS).optional(),
  since: time.optional(),
  before: count.optional(),
  limit: positive,
});
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
  return {
    ...engine,
    createJob: checked(engine.createJob, "store.createJob", [["job", newJob]]),
    findJob: checked(engine.findJob, "store.findJob", [["idOrName", text]]),
    listJobs: checked(engine.listJobs, "store.listJobs", [["page", jobPage]]),
    changeJob: checked(engine.changeJob, "store.changeJob", [
      ["id", name],
      ["change", jobChange],
    ]),
    add: async (queue, items, options) => engine.add(queue, checkNewItems(items, "store.add"), options),
    hold: checked(engine.hold, "store.hold", [
      ["queue", name],
      ["itemIds", texts],
      ["by", holdBy],
    ]),
    unhold: checked(engine.unhold, "store.unhold", [
      ["queue", name],
      ["itemIds", texts],
      ["by", holdBy],
    ]),
    count: checked(engine.count, "store.count", [["queue", name]]),
    findItems: checked(engine.findItems, "store.findItems", [
      ["idOrPrefix", text],
      ["options", itemSearch],
    ]),
    listItems: checked(engine.listItems, "store.listItems", [["query", itemQuery]]),
    listLetters: checked(engine.listLetters, "store.listLetters", [["query", letterQuery]]),
    readLetter: checked(engine.readLetter, "store.readLetter", [["ref", count]]),
    listEvents: checked(engine.listEvents, "store.listEvents", [["query", eventQuery]]),
    listErrors: checked(engine.listErrors, "store.listErrors", [["query", errorQuery]]),
    importLetters: checked(engine.importLetters, "store.importLetters", [
      ["queue", name],
      ["letters", letters],
    ]),
    addNote: checked(engine.addNote, "store.addNote", [
      ["ref", count],
      ["note", newNote],
    ]),
  };
}

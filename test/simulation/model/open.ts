/**
 * The model of the simulation: what the engines must do, in plain data, without regard to speed. It shares only the
 * rules of `item/` with the SQL engines, so that their mistakes appear as differences.
 */
import type { Engine } from "../../../src/engine.ts";
import { RedriveError } from "../../../src/errors.ts";
import type { Clock } from "../../../src/std/clock.ts";
import { advance } from "./advance.ts";
import { listArrivals } from "./arrivals.ts";
import { correct, listCorrections, removeCorrection } from "./corrections.ts";
import { listCounters } from "./counters.ts";
import { readDocument, writeDocument } from "./documents.ts";
import { listErrors } from "./errors.ts";
import { listEvents } from "./events.ts";
import { changeGroup, listGroupRecords } from "./group-records.ts";
import { listGroups } from "./groups.ts";
import { hold, unhold } from "./hold.ts";
import { importLetters } from "./import.ts";
import { add } from "./intake.ts";
import { changeJob, createJob, findJob } from "./jobs.ts";
import { heartbeat, listHolders, listLeases, registerHolder, revoke, unregisterHolder } from "./lease.ts";
import { addNote, listLetters, readLetter } from "./letters.ts";
import { count, findItems, listAmendments, listAttempts, listItems, listNotes } from "./look.ts";
import {
  beginOperation,
  changeOperation,
  closeOperation,
  findOperation,
  listOperations,
} from "./operations.ts";
import { regroup } from "./regroup.ts";
import { enlist, listRefusals, listSelected } from "./selection.ts";
import { settleAndLease } from "./settle-and-lease.ts";
import { newStore, type Store } from "./store.ts";

/** The part of the contract that the simulation calls. */
export type Simulated = Omit<
  Engine,
  | "watchClock"
  | "url"
  | "can"
  | "now"
  | "requireUsable"
  | "listJobs"
  | "deleteJob"
  | "watch"
  | "within"
  | "writeProgress"
  | "writeAgentRuns"
  | "listAgentRuns"
  | "sumAgentUsage"
  | "listResults"
  | "earliestFailure"
  | "readGroup"
  | "newestEvent"
  | "listItemEvents"
  | "readLetterRecords"
  | "readRows"
  | "writeRows"
  | "deleteRows"
  | "info"
  | "pageGroups"
  | "recordChange"
>;

/** Opens a new, empty store. */
export function openModel(clock: Clock): Simulated {
  const store = newStore(clock);

  /** A step as a method of the engine. It runs synchronously; only its result is asynchronous. */
  const step =
    <Given extends unknown[], Answer>(work: (store: Store, ...given: Given) => Answer) =>
    async (...given: Given): Promise<Answer> => {
      requireOpen(store);
      store.now = store.clock.now();
      return work(store, ...given);
    };

  return {
    createJob: step(createJob),
    findJob: step(findJob),
    changeJob: step(changeJob),
    add: step(add),
    hold: step(hold),
    unhold: step(unhold),
    registerHolder: step(registerHolder),
    heartbeat: step(heartbeat),
    revoke: step(revoke),
    unregisterHolder: step(unregisterHolder),
    listHolders: step(listHolders),
    listLeases: step(listLeases),
    settleAndLease: step(settleAndLease),
    count: step(count),
    findItems: step(findItems),
    listItems: step(listItems),
    listNotes: step(listNotes),
    listErrors: step(listErrors),
    listCounters: step(listCounters),
    listAttempts: step(listAttempts),
    listLetters: step(listLetters),
    readLetter: step(readLetter),
    listGroups: step(listGroups),
    listArrivals: step(listArrivals),
    listEvents: step(listEvents),
    listGroupRecords: step(listGroupRecords),
    changeGroup: step(changeGroup),
    correct: step(correct),
    removeCorrection: step(removeCorrection),
    listCorrections: step(listCorrections),
    regroup: step(regroup),
    importLetters: step(importLetters),
    addNote: step(addNote),
    listAmendments: step(listAmendments),
    beginOperation: step(beginOperation),
    enlist: step(enlist),
    listSelected: step(listSelected),
    listRefusals: step(listRefusals),
    advance: step(advance),
    changeOperation: step(changeOperation),
    findOperation: step(findOperation),
    listOperations: step(listOperations),
    closeOperation: step(closeOperation),
    readDocument: step(readDocument),
    writeDocument: step(writeDocument),
    catchUp: async () => false,
    check: async () => [],
    close: async () => {
      store.closed = true;
    },
  };
}

function requireOpen(store: Store): void {
  if (!store.closed) return;
  throw new RedriveError("store_unavailable", `The model was closed.`, { hint: "Open it again." });
}

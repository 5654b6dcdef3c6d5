/**
 * The in-memory engine: the whole contract in plain data, for tests and as the oracle that other engines are
 * compared with. It keeps nothing after `close`.
 */
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { assert } from "../../kit/assert.ts";
import { type Clock, systemClock } from "../../kit/clock.ts";
import { advance } from "./advance.ts";
import { listArrivals } from "./arrivals.ts";
import { check } from "./check.ts";
import { correct, listCorrections, removeCorrection } from "./corrections.ts";
import { listCounters } from "./counters.ts";
import { deleteJob } from "./delete-job.ts";
import { readDocument, writeDocument } from "./documents.ts";
import { listErrors } from "./errors.ts";
import { listEvents, newestEvent } from "./events.ts";
import { exchange } from "./exchange.ts";
import { listGroups } from "./groups.ts";
import { hold, unhold } from "./hold.ts";
import { importLetters } from "./import.ts";
import { add } from "./intake.ts";
import { changeJob, createJob, findJob, listJobs } from "./jobs.ts";
import { beat, enter, leave, listHolders, listLeases, revoke } from "./lease.ts";
import { addNote, earliestFailure, listLetters, readLetter } from "./letters.ts";
import {
  count,
  findItems,
  info,
  listAmendments,
  listAttempts,
  listItems,
  listNotes,
  listResults,
} from "./look.ts";
import { listMarks, markGroup, readGroup } from "./marks.ts";
import {
  beginOperation,
  changeOperation,
  closeOperation,
  findOperation,
  listOperations,
} from "./operations.ts";
import { regroup } from "./regroup.ts";
import { enlist, listRefusals, listSelected } from "./selection.ts";
import { newStore, requireQueue, type Store } from "./store.ts";

/** All of them may be left out. */
export interface MemoryEngineOptions {
  /** Times leases and due times. Default: the system's clock. */
  readonly clock?: Clock;
  /** What the engine calls itself. Default `memory:`. */
  readonly url?: string;
}

/** Opens a new, empty store. */
export function openMemoryEngine(options: MemoryEngineOptions = {}): Engine {
  const store = newStore(options.url ?? "memory:", options.clock ?? systemClock);

  /** A step as a method of the engine. It runs in one go: the answer waits, the work does not. */
  const step =
    <Given extends unknown[], Answer>(work: (store: Store, ...given: Given) => Answer) =>
    async (...given: Given): Promise<Answer> => {
      requireOpen(store);
      store.now = store.clock.now();
      return work(store, ...given);
    };

  return {
    url: store.url,
    can: {
      sharedByProcesses: false,
      sharedByMachines: false,
      wakes: false,
      copy: false,
      findItemEvents: false,
    },
    requireUsable: step(() => undefined),
    now: step(({ now }) => now),
    createJob: step(createJob),
    findJob: step(findJob),
    listJobs: step(listJobs),
    changeJob: step(changeJob),
    deleteJob: step(deleteJob),
    add: step(add),
    hold: step(hold),
    unhold: step(unhold),
    enter: step(enter),
    beat: step(beat),
    revoke: step(revoke),
    leave: step(leave),
    listHolders: step(listHolders),
    listLeases: step(listLeases),
    exchange: step(exchange),
    watch: step(watch),
    count: step(count),
    findItems: step(findItems),
    listItems: step(listItems),
    listNotes: step(listNotes),
    listErrors: step(listErrors),
    listCounters: step(listCounters),
    listResults: step(listResults),
    listAttempts: step(listAttempts),
    listLetters: step(listLetters),
    readLetter: step(readLetter),
    listGroups: step(listGroups),
    listArrivals: step(listArrivals),
    earliestFailure: step(earliestFailure),
    listEvents: step(listEvents),
    readGroup: step(readGroup),
    listMarks: step(listMarks),
    markGroup: step(markGroup),
    correct: step(correct),
    removeCorrection: step(removeCorrection),
    listCorrections: step(listCorrections),
    regroup: step(regroup),
    importLetters: step(importLetters),
    addNote: step(addNote),
    listAmendments: step(listAmendments),
    newestEvent: step(newestEvent),
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
    readRows: async () => cannotBeCopied(),
    writeRows: async () => cannotBeCopied(),
    deleteRows: async () => cannotBeCopied(),
    catchUp: async () => false,
    check: step(check),
    info: step(info),
    close: async () => {
      store.closed = true;
    },
  };
}

function requireOpen(store: Store): void {
  if (!store.closed) return;
  throw new WorkError("store_unavailable", `The store ${store.url} was closed.`, { hint: "Open it again." });
}

function watch(store: Store, queue: string, ring: () => void): () => Promise<void> {
  const end = store.bell.on(requireQueue(store, queue).name, ring);
  return async () => end();
}

/** Nothing of it outlives the process, so there is nothing to copy. */
function cannotBeCopied(): never {
  assert(false, "a store in memory says that its rows cannot be copied");
}

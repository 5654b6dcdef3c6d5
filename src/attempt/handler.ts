/** The contract of a handler, which does the work of one attempt. */
import { parse } from "node:path";
import { RedriveError } from "../errors.ts";
import type { LeasedItem, NewNote } from "../item/item.ts";
import type { Outcome } from "../item/settlement.ts";
import { classify } from "../retry/classify.ts";
import { describeThrown, readException } from "../retry/thrown.ts";
import { compact, type Json, parseJson, stringifyJson } from "../std/json.ts";
import type { QueuedLaunch } from "./launch.ts";
import { abortSignalOf, type StopSignal } from "./stop-signal.ts";

/** The context that a handler gets together with its item. */
export interface AttemptContext {
  /** The number of this attempt, from 1, counted over all redrives of the item. */
  readonly attempt: number;
  /** The runner's slot of this attempt, from 1. */
  readonly slot: number;
  readonly agentId: string;
  /** Aborted when the runner stops or has lost its leases. The handler must then end and return `released`. */
  readonly signal: AbortSignal;
  /** The same as `signal`, for a handler that ends processes: cheaper. Default: `signal`. */
  readonly stop?: StopSignal | undefined;
  /** False when the lease may have expired, e.g. after a stall. The handler must then start nothing and return `released`. */
  readonly mayStart: () => boolean;
  /**
   * Set if the attempt was leased ahead, so that its command may wait in the launcher. Absent: it starts
   * immediately.
   */
  readonly queued?: QueuedLaunch | undefined;
  /**
   * Runs work that waits for other attempts. Meanwhile another item may use the slot; the lease is kept.
   * Absent if the runner has no `waitingMax`.
   */
  readonly withoutSlot?: WithoutSlot | undefined;
  /** Adds a note to the item, regardless of the outcome. */
  readonly note: (text: string) => void;
  /** Reports a file as evidence. If the attempt fails, the failure records its digest, size and type. */
  readonly evidence: (path: string) => void;
  /**
   * Reports the progress of the attempt as a small JSON value. The last value is stored at most once a
   * second.
   */
  readonly progress: (value: Json) => void;
}

export type WithoutSlot = <T>(work: () => Promise<T>) => Promise<T>;

/** One attempt at one item. An exception is recorded as a failure. */
export type Handler = (item: LeasedItem, context: AttemptContext) => Promise<Outcome>;

/** Runs the handler. Never throws: an exception becomes a failed outcome. */
export async function perform(
  item: LeasedItem,
  handler: Handler,
  attempt: OpenAttempt,
  { now, evidenceFolder }: { readonly now: () => number; readonly evidenceFolder?: string | undefined },
): Promise<Outcome> {
  const startedAt = now();
  try {
    const outcome = await handler(item, attempt);
    return attempt.paths === null ? outcome : await withEvidence(outcome, attempt, evidenceFolder);
  } catch (thrown) {
    const failed = failureOf(thrown, item, attempt, { startedAt, now: now() });
    return withEvidence(failed, attempt, evidenceFolder);
  }
}

function failureOf(
  thrown: unknown,
  item: LeasedItem,
  attempt: OpenAttempt,
  { startedAt, now }: { readonly startedAt: number; readonly now: number },
): Outcome {
  const { stackTrace, context: trail, ...facts } = describeThrown(thrown);
  const read = readException(thrown, now);
  const { type, step = "handler", source, evidence = [], retryAfterMs } = read;
  for (const path of evidence) attempt.evidence(path);
  const { class: errorClassOf, message: reportedMessage } = read;
  const reported = compact({ type: type && { name: type }, class: errorClassOf, message: reportedMessage });
  const { errorType, errorClass, message } = classify({ ...facts, reported });
  const failure = compact({
    attemptNumber: item.attempt,
    timestamp: now,
    errorType,
    errorClass,
    errorMessage: message,
    errorContext: trail,
    stackTrace,
    agentId: attempt.agentId,
    stepFailed: step,
    durationMs: Math.max(0, now - startedAt), // the clock may have been set back
    source,
  });
  return { kind: "failed", failure, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** A handler function runs with the rights of its process, so it may report any regular file. */
async function withEvidence(
  outcome: Outcome,
  attempt: OpenAttempt,
  keepIn: string | undefined,
): Promise<Outcome> {
  const { paths } = attempt;
  if (outcome.kind !== "failed" || paths === null) return outcome;
  const { signal } = attempt;
  const { collectEvidence } = await import("./evidence.ts");
  const cwd = process.cwd();
  const found = await collectEvidence(paths, { cwd, folders: [parse(cwd).root], signal, keepIn });
  const { evidence = [], ...failure } = outcome.failure;
  return { ...outcome, failure: { ...failure, evidence: [...evidence, ...found] } };
}

const NOTES_MAX = 100;
const NOTE_CHARS_MAX = 4000;
/** The maximum number of paths that an attempt can report. Not all are recorded; the rest is only counted. */
const PATHS_MAX = 10_000;

interface OpenAttemptOptions
  extends Omit<AttemptContext, "note" | "evidence" | "progress" | "signal" | "stop"> {
  readonly stop: StopSignal;
  readonly author: string;
  readonly onProgress?: ((value: Json) => void) | undefined;
}

/** A running attempt. The runner creates one for every lease, so it allocates nothing in advance. */
export class OpenAttempt implements AttemptContext {
  readonly attempt: number;
  readonly slot: number;
  readonly agentId: string;
  readonly stop: StopSignal;
  readonly mayStart: () => boolean;
  readonly queued: QueuedLaunch | undefined;
  readonly withoutSlot: WithoutSlot | undefined;
  readonly #author: string;
  readonly #onProgress: ((value: Json) => void) | undefined;
  #notes: NewNote[] | null = null;
  #notesLeftOut = 0;
  #paths: Set<string> | null = null;

  constructor(options: OpenAttemptOptions) {
    this.attempt = options.attempt;
    this.slot = options.slot;
    this.agentId = options.agentId;
    this.stop = options.stop;
    this.mayStart = options.mayStart;
    this.queued = options.queued;
    this.withoutSlot = options.withoutSlot;
    this.#author = options.author;
    this.#onProgress = options.onProgress;
  }

  get signal(): AbortSignal {
    return abortSignalOf(this.stop);
  }

  /** If notes were omitted, an additional note has their number. */
  get notes(): readonly NewNote[] | null {
    if (this.#notes === null || this.#notesLeftOut === 0) return this.#notes;
    const text = `${this.#notesLeftOut} more notes of this attempt were dropped: at most ${NOTES_MAX} are kept.`;
    return [...this.#notes, { author: this.#author, text }];
  }

  get paths(): readonly string[] | null {
    return this.#paths && [...this.#paths];
  }

  /** Bound, like `evidence`, so that a handler can destructure its context. */
  get note(): (text: string) => void {
    return (text) => this.#addNote(String(text).trim());
  }

  get evidence(): (path: string) => void {
    return (path) => this.#addPath(String(path));
  }

  get progress(): (value: Json) => void {
    return (value) => this.#onProgress?.(checkedProgress(value));
  }

  #addNote(text: string): void {
    if (text === "") return;
    this.#notes ??= [];
    if (this.#notes.length < NOTES_MAX) this.#notes.push({ author: this.#author, text: shortened(text) });
    else this.#notesLeftOut += 1;
  }

  #addPath(path: string): void {
    this.#paths ??= new Set();
    if (this.#paths.size < PATHS_MAX) this.#paths.add(path);
  }
}

/** The maximum size of a progress value as JSON text. */
const PROGRESS_BYTES_MAX = 4096;

function checkedProgress(value: Json): Json {
  const text = stringifyJson(value) as string | undefined;
  if (text === undefined) throw new RedriveError("usage", "The progress cannot be stored as JSON.");
  const bytes = Buffer.byteLength(text);
  if (bytes <= PROGRESS_BYTES_MAX) return parseJson(text) as Json;
  throw new RedriveError(
    "usage",
    `The progress is ${bytes} bytes of JSON; the limit is ${PROGRESS_BYTES_MAX}.`,
  );
}

function shortened(text: string): string {
  if (text.length <= NOTE_CHARS_MAX) return text;
  return `${text.slice(0, NOTE_CHARS_MAX - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

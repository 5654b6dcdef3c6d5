/** One attempt while it runs: who runs it, and what it has said so far. The runner makes one for every lease. */
import type { NewNote } from "../item/item.ts";
import type { AttemptContext } from "./handler.ts";

export interface AttemptPlace {
  /** The number of the attempt. */
  readonly attempt: number;
  readonly slot: number;
  readonly agentId: string;
  readonly signal: AbortSignal;
  readonly mayStart: () => boolean;
  /** Who its notes are by. */
  readonly author: string;
}

const NOTES_MAX = 100;
const NOTE_CHARS_MAX = 4000;
/** Far fewer are recorded; how many were named is told. */
const PATHS_MAX = 10_000;

export class OpenAttempt implements AttemptContext {
  readonly attempt: number;
  readonly slot: number;
  readonly agentId: string;
  readonly signal: AbortSignal;
  readonly mayStart: () => boolean;
  readonly #author: string;
  /** Null while there are none: most attempts say nothing, and there are many. */
  #notes: NewNote[] | null = null;
  /** How many came after them. */
  #notesLeftOut = 0;
  #paths: Set<string> | null = null;

  constructor({ attempt, slot, agentId, signal, mayStart, author }: AttemptPlace) {
    this.attempt = attempt;
    this.slot = slot;
    this.agentId = agentId;
    this.signal = signal;
    this.mayStart = mayStart;
    this.#author = author;
  }

  /** Of those that are left out, the last tells. */
  get notes(): readonly NewNote[] | null {
    if (this.#notes === null || this.#notesLeftOut === 0) return this.#notes;
    const text = `${this.#notesLeftOut} more notes of this attempt were left out: ${NOTES_MAX} are kept.`;
    return [...this.#notes, { author: this.#author, text }];
  }

  /** The files that were named as evidence. */
  get paths(): readonly string[] | null {
    return this.#paths && [...this.#paths];
  }

  /** Made when it is asked for, and bound, as `evidence` is: a handler may take both out of its context. */
  get note(): (text: string) => void {
    return (text) => this.#addNote(String(text).trim());
  }

  get evidence(): (path: string) => void {
    return (path) => this.#addPath(String(path));
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

/** Never ends in half a character. */
function shortened(text: string): string {
  if (text.length <= NOTE_CHARS_MAX) return text;
  return `${text.slice(0, NOTE_CHARS_MAX - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

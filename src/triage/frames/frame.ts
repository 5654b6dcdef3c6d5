/** What a stack trace is made of, whatever language wrote it. */

/** One call. Line numbers are left out on purpose: they move with every edit. */
export interface Frame {
  /** Empty for a function without a name and for code outside of functions. */
  readonly function: string;
  readonly file?: string;
  /** Whether it belongs to the program itself, and not to its runtime or to a library. */
  readonly inApp: boolean;
}

/** A stack trace at its root cause. */
export interface Trace {
  readonly language: string;
  /** The line that names the failure, e.g. `TypeError: x is not a function`; empty when there is none. */
  readonly headline: string;
  /** The innermost call first. */
  readonly frames: readonly Frame[];
  /** The index of its last line: of several traces the one that ends last is taken. */
  readonly endsAt: number;
  /** How many application frames tell it from others; 2 when it is not said. */
  readonly framesMax?: number;
}

/** Reads the traces of one language. */
export interface TraceReader {
  readonly language: string;
  /** Without a match of this, the text has no trace of this language. */
  readonly hint: RegExp;
  readonly read: (lines: readonly string[]) => Trace | undefined;
}

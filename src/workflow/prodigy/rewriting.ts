/** The shared state of the rewrite rules: what is known about the file, and the notes to report. */
import type { Node, YAMLSeq } from "../../yaml/edit-yaml.ts";
import type { FileAccess } from "./other-files.ts";

/** A note on part of the file. A problem makes the file invalid; a warning describes a different meaning. */
export interface Note {
  readonly kind: "warning" | "problem";
  readonly at: Node;
  readonly message: string;
}

export interface RewriteOptions {
  /** Looks up an environment variable, for settings such as `max_parallel: "$WORKERS"`. */
  readonly environment?: (name: string) => string | undefined;
  /** The profile whose variables apply. */
  readonly profile?: string | undefined;
  /** Names of variables from the command line. */
  readonly variables?: readonly string[];
  /**
   * Whether the workflow is about to run. Otherwise, values missing from the environment cause only a
   * warning.
   */
  readonly isRun?: boolean;
  /** How to read other files that the workflow names. Without it, such a workflow is refused. */
  readonly files?: FileAccess;
}

export class Rewriting {
  readonly notes: Note[] = [];
  readonly options: RewriteOptions;
  /** Environment variables that the workflow itself sets. */
  readonly environment = new Map<string, string | undefined>();
  /** Names of captures, and ids of steps. */
  readonly names = new Set<string>();
  /** Captures whose names have a meaning here, with the names that they have got. */
  readonly renamed = new Map<string, string>();
  /** Steps whose exit code, success and standard error can be read, by id or capture name. */
  readonly stepNames = new Set<string>();
  /** Variables that the workflow does not define and that `--var` may set. */
  readonly assumed = new Set<string>();
  /** Captures that are numbers. */
  readonly numbers = new Set<string>();
  /** Scripts that compute the value of an environment variable. */
  readonly computedVariables = new Map<string, string>();
  /** Default values of parameters, which the command line can override. */
  readonly defaults = new Map<string, string>();
  /** For each step of the file, the number of its first rewritten step. Undefined without steps. */
  stepStarts: readonly number[] | undefined;
  /**
   * Whether `mode` or `commands` at the top level shows that the file was written for Prodigy, so that
   * Prodigy's defaults apply.
   */
  hasTheirDefaults = false;
  /** Whether the workflow has steps instead of a map phase. */
  isSequence = false;
  /** Whether a part of the workflow is in a file that could not be read, so that other problems may only be consequences. */
  isIncomplete = false;
  /** Whether anything was written in the predecessor's format. */
  isProdigy = false;

  readonly #steps: (node: Node | undefined, rewriting: Rewriting) => YAMLSeq | undefined;

  /** `steps` rewrites a list of steps; it is passed here because steps contain handlers, which contain steps. */
  constructor(
    options: RewriteOptions,
    steps: (node: Node | undefined, rewriting: Rewriting) => YAMLSeq | undefined,
  ) {
    this.options = options;
    this.#steps = steps;
  }

  rewriteSteps(node: Node | undefined): YAMLSeq | undefined {
    return this.#steps(node, this);
  }

  /** Records that part of the file was in Prodigy's format. */
  touch(): void {
    this.isProdigy = true;
  }

  warn(at: Node, message: string): void {
    this.isProdigy = true;
    this.notes.push({ kind: "warning", at, message });
  }

  refuse(at: Node, message: string): void {
    this.isProdigy = true;
    this.notes.push({ kind: "problem", at, message });
  }

  /** Returns a capture name that the workflow does not use yet. */
  newName(base: string): string {
    for (let number = 1; ; number++) {
      const name = `${base}_${number}`;
      if (this.names.has(name)) continue;
      this.names.add(name);
      return name;
    }
  }

  /** Reads a variable as a step would see it. */
  variable(name: string): string | undefined {
    return this.environment.get(name) ?? this.options.environment?.(name);
  }
}

/** What the rules of a rewriting share: what is known about the file, and the notes that they leave. */
import type { Node, YAMLSeq } from "../../yaml/edit-yaml.ts";
import type { FileAccess } from "./other-files.ts";

/** A remark on a construct of the file. A problem refuses the file; a warning names a meaning that differs. */
export interface Note {
  readonly kind: "warning" | "problem";
  readonly at: Node;
  readonly message: string;
}

export interface RewriteOptions {
  /** Looks up a variable of the environment, for settings such as `max_parallel: "$WORKERS"`. */
  readonly environment?: (name: string) => string | undefined;
  /** The profile whose variables apply. */
  readonly profile?: string | undefined;
  /** Names of variables from the command line. */
  readonly variables?: readonly string[];
  /** Whether the workflow is about to run. Otherwise what is only missing in the environment is a warning. */
  readonly isRun?: boolean;
  /** How to read other files that the workflow names. Without it, such a workflow is refused. */
  readonly files?: FileAccess;
}

export class Rewriting {
  readonly notes: Note[] = [];
  readonly options: RewriteOptions;
  /** Variables that the workflow itself puts into the environment. */
  readonly environment = new Map<string, string | undefined>();
  /** Names that steps capture, and ids of steps. */
  readonly names = new Set<string>();
  /** Steps whose exit code, success and error output can be read: by id or by the name of their capture. */
  readonly stepNames = new Set<string>();
  /** Variables that nothing in the workflow defines, and that `--var` may set. */
  readonly assumed = new Set<string>();
  /** Captures that are numbers. */
  readonly numbers = new Set<string>();
  /** Scripts that print the value of a variable of the environment. */
  readonly computedVariables = new Map<string, string>();
  /** Values of parameters that the command line may replace. */
  readonly defaults = new Map<string, string>();
  /** For each step of the file, the number of its first step here. Undefined without steps. */
  stepStarts: readonly number[] | undefined;
  /** Whether the file says at its top that it was written for Prodigy, with `mode` or `commands`, so that its defaults apply. */
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

  /** Notes that a construct of the predecessor was translated. */
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

  /** Returns a name for a capture that the workflow does not use. */
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

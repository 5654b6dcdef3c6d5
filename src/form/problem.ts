/** What is wrong with a YAML file that a person wrote, where, and what was probably meant. */

/** One error of a file. */
export interface FormProblem {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** E.g. `map.agent_template[0].timeout`; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
  /** The key, value or variable that was probably meant. */
  readonly suggestion?: string;
}

/** A problem before its line and column are known. */
export interface Finding {
  readonly path: readonly PropertyKey[];
  /** Told at the key, instead of the value. */
  readonly atKey?: boolean;
  readonly message: string;
  readonly suggestion?: string | undefined;
  /** Text inside the value where the problem is. */
  readonly word?: string | undefined;
  /** The value lacks one of these keys; no problem of its own when one of them was only misspelt. */
  readonly lacks?: readonly string[];
  /** An unknown key. */
  readonly isUnknownKey?: boolean;
}

/** `file:12:5: map.filer: unknown key "filer". Did you mean filter?` */
export function problemText(problem: FormProblem, file: string): string {
  const { line, column, path, message, suggestion } = problem;
  const meant = suggestion === undefined ? "" : `. Did you mean ${suggestion}?`;
  return `${file}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}${meant}`;
}

/** `map.agent_template[0]` */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      return index === 0 ? String(step) : `.${String(step)}`;
    })
    .join("");
}

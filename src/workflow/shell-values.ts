/** Builds an `sh` script that reads values from variables, so that a quoting mistake never executes data. */
import { lookUpWords, type Placeholder, templateParts } from "../attempt/template.ts";
import { RedriveError } from "../errors.ts";
import { type QuotingContext, quotingContexts } from "./quoting-context.ts";
import { fillPart, isValue, type Variables } from "./variables.ts";

export interface ShellScript {
  readonly text: string;
  readonly env: Readonly<Record<string, string>>;
  /** Values too large for the environment. Each is written to a file, and the key is the variable with its path. */
  readonly files: Readonly<Record<string, string>>;
}

/** Throws a usage error when a variable has no value, or when its value could be run at its position. */
export function fillScript(template: string, variables: Variables): ShellScript {
  const parts = templateParts(template);
  const written = parts.map((part) => (isValue(part) ? null : fillPart(part, variables)));
  const placeholders = parts.filter(isValue);
  const contexts = quotingContexts(written);
  const values = parts.flatMap((part, index) => {
    if (!isValue(part)) return [];
    const isWord =
      contexts[placeholders.indexOf(part)]?.kind === "bare" && beginsWord(written.slice(0, index));
    return [(isWord ? lookUpWords(part, variables) : undefined) ?? fillPart(part, variables)];
  });
  const withNul = placeholders[values.findIndex((value) => [value].flat().join("").includes("\0"))];
  const problem = withNul
    ? `${withNul.written} contains a NUL character, which shells do not support.`
    : problemsOf(placeholders, contexts)[0]?.message;
  if (problem !== undefined) throw new RedriveError("usage", problem);
  return scriptOf(written, values, contexts);
}

interface TemplateProblem {
  readonly written: string;
  readonly message: string;
}

/** Reports every position where a value is rejected, whatever the value is. Raw values are treated as plain words. */
export function shellProblems(template: string): TemplateProblem[] {
  const parts = templateParts(template).filter(
    (part) => typeof part === "string" || part.kind === "placeholder",
  );
  const written = parts.map((part) => (typeof part === "string" ? part : isValue(part) ? null : "x"));
  return problemsOf(parts.filter(isValue), quotingContexts(written));
}

function problemsOf(values: readonly Placeholder[], contexts: readonly QuotingContext[]): TemplateProblem[] {
  return values.flatMap(({ written }, index) => {
    const context = contexts[index];
    if (context?.kind !== "refused") return [];
    const why = context.why.replaceAll(/\bIT\b/g, () => written);
    return [{ written, message: `${written} cannot be used here: ${why}.` }];
  });
}

/** Child processes inherit the environment, and a large one leaves too little room for their arguments. */
const VALUE_BYTES_MAX = 64 * 1024;
const ALL_BYTES_MAX = 256 * 1024;

/**
 * Whether the value begins a word. After `name=` or `>`, only the first of several words would belong there.
 */
function beginsWord(before: readonly (string | null)[]): boolean {
  const text = before.at(-1) ?? "";
  return text === "" ? before.length <= 1 : /[\s;&|(]$/.test(text) && !/[<>]\s*$/.test(text);
}

/** A list expands to one word per element, a text to one word. */
function scriptOf(
  written: readonly (string | null)[],
  values: readonly (string | readonly string[])[],
  contexts: readonly QuotingContext[],
): ShellScript {
  const prefix = prefixFor(written);
  const env: Record<string, string> = {};
  const files: Record<string, string> = {};
  let bytes = 0;
  let loading = "";
  const store = (name: string, value: string) => {
    const size = Buffer.byteLength(value);
    if (size <= VALUE_BYTES_MAX && bytes + size <= ALL_BYTES_MAX) {
      env[name] = value;
      bytes += size;
      return;
    }
    const file = `${name}_FILE`;
    files[file] = value;
    // A substitution drops trailing line ends, so an x is appended and removed again. All on line 1, to keep line numbers.
    loading += `${name}=$(cat "$${file}"; printf x); ${name}=\${${name}%x}; `;
  };
  const references = values.map((value, index) => {
    const name = `${prefix}${index + 1}`;
    if (typeof value === "string") {
      store(name, value);
      return reference(name, contexts[index]);
    }
    for (const [place, word] of value.entries()) store(`${name}_${place + 1}`, word);
    return value.map((_, place) => reference(`${name}_${place + 1}`, contexts[index])).join(" ");
  });
  let count = 0;
  const text = written.map((part) => part ?? references[count++]).join("");
  return { text: loading + text, env, files };
}

function prefixFor(written: readonly (string | null)[]): string {
  const text = written.join("");
  let prefix = "RD_";
  while (text.includes(prefix)) prefix += "_";
  return prefix;
}

function reference(name: string, context: QuotingContext | undefined): string {
  const quoted = `"\${${name}}"`;
  if (context?.kind === "double") return `\${${name}}`;
  return context?.kind === "single" ? `'${quoted}'` : quoted;
}

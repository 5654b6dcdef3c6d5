/** What the tests of stack traces ask of a text. */
import { countFrames, readTrace } from "../../../src/triage/frames/trace.ts";
import { previewText } from "../../../src/triage/preview.ts";

/** The pattern of a program that failed with this output, without its type. */
export function patternOf(output: string): string {
  return previewText(output).pattern.replace(/^Unknown::/, "");
}

/** The language of the trace in a text, and its functions. */
export function traceOf(output: string): {
  readonly language: string | undefined;
  readonly headline: string;
  readonly counted: readonly string[];
  readonly skipped: readonly string[];
} {
  const trace = readTrace(output);
  if (!trace) return { language: undefined, headline: "", counted: [], skipped: [] };
  const { counted, skipped } = countFrames(trace);
  return {
    language: trace.language,
    headline: trace.headline,
    counted: counted.map((frame) => frame.function),
    skipped: skipped.map((frame) => frame.function),
  };
}

/**
 * A description of whatever a function threw. It may be null, a symbol, a proxy that throws, an error whose message
 * throws or whose causes go in a circle: describing it never throws itself.
 */
import { compact } from "../item/failure.ts";
import { oneLine } from "../triage/clean.ts";

/** Fits into the signs of `classify`, apart from the trace and the trail. */
export interface Thrown {
  /** One line, never empty. */
  readonly message: string;
  readonly stackTrace?: string;
  /** The messages of the causes, outermost first. */
  readonly context?: readonly string[];
  /** The errno name that it or its nearest cause has, e.g. `ECONNRESET`. */
  readonly errno?: string;
  /** The HTTP status that it or its nearest cause has. */
  readonly httpStatus?: number;
}

const MESSAGE_CHARS_MAX = 600;
const STACK_CHARS_MAX = 16_384;
const CAUSES_MAX = 10;

/** Its message, trace, causes, and the codes that `classify` can use. */
export function describeThrown(value: unknown): Thrown {
  const chain = causesOf(value);
  const stack = read(value, "stack");
  return compact({
    message: messageOf(value),
    stackTrace: typeof stack === "string" ? stack.slice(0, STACK_CHARS_MAX) : undefined,
    context: chain.length > 1 ? chain.slice(1).map(messageOf) : undefined,
    errno: firstOf(chain, errnoOf),
    httpStatus: firstOf(chain, httpStatusOf),
  });
}

/** The value and its causes, each one once. */
function causesOf(value: unknown): readonly unknown[] {
  const chain = new Set([value]);
  for (
    let cause = read(value, "cause");
    cause !== undefined && cause !== null;
    cause = read(cause, "cause")
  ) {
    if (chain.has(cause) || chain.size > CAUSES_MAX) break;
    chain.add(cause);
  }
  return [...chain];
}

function messageOf(value: unknown): string {
  const message = read(value, "message");
  const name = read(value, "name");
  if (typeof message === "string" && message.trim() !== "") return oneLine(message, MESSAGE_CHARS_MAX);
  if (typeof name === "string" && name.trim() !== "") return oneLine(name, MESSAGE_CHARS_MAX);
  return `threw ${describe(value)}`;
}

function describe(value: unknown): string {
  try {
    if (typeof value === "function") return "a function";
    const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
    return oneLine(text, MESSAGE_CHARS_MAX) || "an empty text";
  } catch {
    return `a value of type ${typeof value} that cannot be shown`;
  }
}

/** A property of anything; undefined when there is none or reading it throws. */
function read(value: unknown, key: string): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function firstOf<T>(chain: readonly unknown[], find: (value: unknown) => T | undefined): T | undefined {
  for (const value of chain) {
    const found = find(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

function errnoOf(value: unknown): string | undefined {
  const code = read(value, "code");
  return typeof code === "string" && /^E[A-Z0-9_]{2,30}$/.test(code) ? code : undefined;
}

function httpStatusOf(value: unknown): number | undefined {
  const status = read(value, "status") ?? read(value, "statusCode");
  return typeof status === "number" && status >= 400 && status <= 599 ? status : undefined;
}

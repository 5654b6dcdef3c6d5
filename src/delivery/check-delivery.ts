/** Whether the way to the other side makes sense: its address, headers, token and limits. Pure; refuses with what to write instead. */
import { validateHeaderName, validateHeaderValue } from "node:http";
import { WorkError } from "../errors.ts";
import { compact } from "../item/failure.ts";
import { requireNumber } from "../queue/settings.ts";
import { DELIVERY_PROTOCOLS, type DeliveryProtocol, type DeliverySpec, type TokenSource } from "./spec.ts";

/** How receipts get to the other side, as people say it. What is left out keeps its default, or what it was; null takes it away. */
export interface DeliverySettings {
  /** `http` posts JSON, `mcp` calls a tool, `function` is code of this process. Default `http`. */
  readonly protocol?: DeliveryProtocol;
  /** Where receipts are sent to; `http` and `mcp` need it. */
  readonly url?: string;
  /** Sent along with every receipt; they replace those that were. Nothing secret: they are kept in the store. */
  readonly headers?: Readonly<Record<string, string>> | null;
  /** Where the token is, never the token itself. Default: none is sent. */
  readonly token?: TokenSource | null;
  /** The tool that `mcp` calls. Default `asyncgate.complete`. */
  readonly tool?: string;
  /** The argument of the tool that takes the idempotency key. Default: it is in `_meta` only. */
  readonly keyArgument?: string | null;
  /** For one try. Default 10 s. */
  readonly timeoutMs?: number;
  /** The longest answer that is read. Default 1 MiB. */
  readonly answerBytesMax?: number;
  /** The header that has the idempotency key. Default `Idempotency-Key`. */
  readonly idHeader?: string;
  /** Receipts with the same value in this field are delivered one after the other. Default: in any order. */
  readonly orderField?: string | null;
}

/** The way with what is given, or a `usage` error. */
export function checkDelivery(before: DeliverySpec, settings: DeliverySettings): DeliverySpec {
  const { protocol = before.protocol, url = before.url } = settings;
  const { timeoutMs = before.timeoutMs, answerBytesMax = before.answerBytesMax } = settings;
  const { tool = before.tool, idHeader = before.idHeader } = settings;
  if (!DELIVERY_PROTOCOLS.includes(protocol))
    throw wrong(`protocol of a target is "${protocol}".`, `There are: ${DELIVERY_PROTOCOLS.join(", ")}.`);
  requireUrl(protocol, url);
  requireNumber("timeoutMs", timeoutMs, { min: 1, max: 3_600_000 });
  requireNumber("answerBytesMax", answerBytesMax, { min: 1, max: 1_073_741_824, isWhole: true });
  if (tool.trim() === "")
    throw wrong("tool of a target is empty.", "Name the tool, e.g. asyncgate.complete.");
  requireHeader(idHeader, "key");
  const headers = given(settings.headers, before.headers) ?? {};
  for (const [name, value] of Object.entries(headers)) requireHeader(name, value);
  const token = given(settings.token, before.token);
  if (token !== undefined) requireToken(token);
  return compact({
    protocol,
    url,
    headers: Object.keys(headers).length > 0 ? headers : undefined,
    token,
    tool,
    keyArgument: given(settings.keyArgument, before.keyArgument) || undefined,
    timeoutMs,
    answerBytesMax,
    idHeader,
    orderField: given(settings.orderField, before.orderField) || undefined,
  });
}

/** Undefined keeps what was there, null takes it away. */
function given<T>(value: T | null | undefined, before: T | undefined): T | undefined {
  return value === undefined ? before : (value ?? undefined);
}

function requireUrl(protocol: DeliverySpec["protocol"], text: string | undefined): void {
  if (text === undefined) {
    if (protocol === "function") return;
    throw wrong(
      "The target has no url.",
      "Say where its receipts go, e.g. https://asyncgate.example/complete.",
    );
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw wrong(
      "url of a target is no http or https address.",
      "Write it in full, e.g. https://asyncgate.example/complete.",
    );
  if (url.username !== "" || url.password !== "")
    throw wrong("url of a target has a user or a password in it, and the store would keep it.", TOKEN_HINT);
}

const TOKEN_HINT = 'Say where the token is: token: {env: "NAME"} or {file: "PATH"}.';
/** Those that keep a secret, and those that the connection makes itself. */
const SECRET = ["authorization", "proxy-authorization", "cookie"];
const OWN = [
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "content-type",
  "expect",
  "upgrade",
  "te",
  "trailer",
];

function requireHeader(name: string, value: string): void {
  const word = name.toLowerCase();
  if (SECRET.includes(word))
    throw wrong(`The header ${name} is a secret, and the store would keep it.`, TOKEN_HINT);
  if (OWN.includes(word))
    throw wrong(`The header ${name} cannot be set.`, "Leave it out: the delivery writes it.");
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw wrong(
      `"${name}" cannot be sent as a header.`,
      "Names have letters, digits and dashes; values are one line of text.",
    );
  }
}

function requireToken(token: TokenSource): void {
  const [name, text] = Object.entries(token)[0] ?? [];
  if (
    Object.keys(token).length === 1 &&
    (name === "env" || name === "file") &&
    typeof text === "string" &&
    text !== ""
  )
    return;
  throw wrong("token of a target is not the place of one.", TOKEN_HINT);
}

function wrong(message: string, hint: string): WorkError {
  return new WorkError("usage", message, { hint });
}

/**
 * Converts errors of `pg` and the server into errors with instructions for the user. Passwords never appear
 * in them.
 */
import pg from "pg";
import { type ErrorCode, RedriveError } from "../../errors.ts";
import { storeChanged } from "../store-version.ts";
import { maskPassword } from "./address.ts";
import { foundVersion, SCHEMA_VERSION } from "./migrate.ts";

/** Whether the transaction conflicted with another one and can be retried. */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error);
  return error instanceof Conflict || code === "40001" || code === "40P01";
}

/** Another transaction inserted the same row at the same time: the retry will find it. */
class Conflict extends Error {}

/** For a step that has checked first: if the row exists nevertheless, it was inserted in the meantime. */
export async function asConflict<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (isTaken(error)) throw new Conflict("another transaction created the row", { cause: error });
    throw error;
  }
}

/** Whether a unique index was violated. */
export function isTaken(error: unknown): boolean {
  return codeOf(error) === "23505" || (error instanceof RedriveError && codeOf(error.cause) === "23505");
}

/** Returns an error that makes the transaction retry, like a conflict reported by the server. */
export function lostRace(what: string): Error {
  return Object.assign(new Error(what), { code: "40001" });
}

/** Whether the connection was lost, so that the outcome of the last statement is unknown. */
export function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error);
  if (code === undefined) return isClientSideLoss(error);
  return /^(08...|57P0[1-5])$/.test(code) || SYSTEM_CODES.has(code);
}

/** Whether the server did not answer in time on an open connection. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === undefined && error.message === "Query read timeout";
}

/** Whether the server is a standby or read-only. Other connections to it are useless too. */
export function isReadOnlyServer(error: unknown): boolean {
  return ["0A000", "25006"].includes(codeOf(error) ?? "");
}

/** The error for a server that does not accept writes although the URL requires it. */
export function readOnlyServer(): Error {
  return Object.assign(new Error("the server is read-only"), { code: "25006" });
}

/** The error for bytes that do not follow the protocol. 08P01 is PostgreSQL's code for it. */
export function unreadableAnswer(cause: unknown): Error {
  const said = cause instanceof Error ? `: ${cause.message}` : "";
  return Object.assign(new Error(`the response does not follow the PostgreSQL protocol${said}`, { cause }), {
    code: "08P01",
  });
}

/** Errors after which the connection is still good: conflicts, invalid values, lock and statement timeouts. */
const ORDINARY = /^(22...|23...|40...|54...|55P03|57014)$/;

/** A connection is discarded after an unexpected error: a new one may reach another server and has fresh plans. */
export function isUnexpected(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && SQLSTATE.test(code) && !ORDINARY.test(code);
}

/** Whether the user may not call a function, or the server lacks it. */
export function isMissingRight(error: unknown): boolean {
  return ["42501", "42883"].includes(codeOf(error) ?? "");
}

/** Whether the server was asked about a transaction id that it has not assigned yet. */
export function isUnknownTransaction(error: unknown): boolean {
  return codeOf(error) === "22023";
}

/**
 * Converts errors of the server and the network to a `RedriveError`. Other errors are bugs and are not
 * converted.
 */
export function storeError(error: unknown, store: string): unknown {
  if (error instanceof RedriveError) return error;
  const version = foundVersion(error);
  if (version !== undefined) return storeChanged(store, SCHEMA_VERSION, version);
  const meaning = meaningOf(error);
  if (meaning === undefined) return error;
  const [code, what, hint] = meaning;
  const said = error instanceof Error && error.message !== "" ? ` (${maskPassword(error.message)})` : "";
  return new RedriveError(code, `The store ${store} ${what}${said}.`, { hint, cause: error });
}

type Meaning = readonly [ErrorCode, string, string];

const WAIT = "Running work resumes automatically when the server is back; nothing was lost.";
const UNREACHABLE: Meaning = [
  "store_unavailable",
  "cannot be reached",
  `Check that the server is running and that the URL has the right host and port. ${WAIT}`,
];
const NO_TLS: Meaning = [
  "store_unavailable",
  "cannot be reached over TLS",
  "Enable TLS on the server, or remove sslmode from the URL.",
];
const UNTRUSTED: Meaning = [
  "store_unavailable",
  "has a certificate that is not trusted",
  "Give its certificate authority with ?sslrootcert=FILE; ?sslmode=no-verify trusts any server.",
];
/**
 * Waiting does not help, because the same values would be rejected again. A runner settles the other items
 * without them.
 */
const REFUSED_DATA: Meaning = [
  "input_invalid",
  "rejects the values",
  "Check the data of the items: size, characters and numbers.",
];
const NO_FILE: Meaning = [
  "usage",
  "needs a file that cannot be read",
  "Correct sslrootcert, sslcert or sslkey in the URL.",
];
const READ_ONLY: Meaning = [
  "store_unavailable",
  "is read-only: the server is a standby or a replica",
  `Promote it, or point the URL at the primary server. ${WAIT}`,
];
/** An unknown error may be temporary: running work waits and reports it. */
const UNKNOWN: Meaning = [
  "store_unavailable",
  "reports an unexpected error",
  `Check the server log. ${WAIT}`,
];
const NO_SECRET: Meaning = [
  "store_denied",
  "wants a password",
  "Put it into the URL (with %XX for special characters) or into PGPASSWORD.",
];

const SYSTEM_CODES = new Set([
  ...["ECONNRESET", "ECONNREFUSED", "ETIMEDOUT", "EPIPE", "EHOSTUNREACH", "ENETUNREACH", "ENETDOWN"],
  ...["ENOTFOUND", "EAI_AGAIN", "ENOENT", "ECONNABORTED", "EHOSTDOWN", "EADDRNOTAVAIL"],
]);

/** Codes of the server: their class begins with a digit or is one of these. */
const SQLSTATE = /^(\d[0-9A-Z]|F0|HV|P0|XX)[0-9A-Z]{3}$/;

/** Errors by SQLSTATE: the exact code first, then its class. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  "08": ["store_unavailable", "lost its connection", WAIT],
  "08P01": [
    "store_unavailable",
    "does not respond like PostgreSQL",
    "Check that the URL has the host and port of a PostgreSQL server.",
  ],
  "0A000": READ_ONLY,
  "22": REFUSED_DATA,
  "23": REFUSED_DATA,
  "28": [
    "store_denied",
    "rejects the user",
    "Check the user and password in the URL (or PGUSER and PGPASSWORD), and pg_hba.conf on the server.",
  ],
  "3D000": [
    "store_denied",
    "is in a database that does not exist",
    "Create the database with createdb, or correct the URL.",
  ],
  "40": ["store_busy", "cancelled the transaction because of another one", "Try again."],
  "42501": [
    "store_denied",
    "denies access to this user",
    "Grant the user CREATE on the database, or all rights on the schema and its tables.",
  ],
  "53100": [
    "store_full",
    "cannot be written: the server's disk is full",
    "Free some space on the server; nothing was lost, and work resumes automatically.",
  ],
  "53": [
    "store_unavailable",
    "has no capacity for another connection or query",
    "Lower ?pool= in the URL, raise max_connections, or use a connection pooler.",
  ],
  "25006": READ_ONLY,
  "54": REFUSED_DATA,
  "25P03": ["store_unavailable", "ended an idle transaction", WAIT],
  "55P03": [
    "store_busy",
    "was locked by another process for too long",
    "Try again when the other process is done.",
  ],
  "57014": ["store_busy", "did not answer in time", "Try again when the server is less busy."],
  "57P": ["store_unavailable", "is shutting down, starting or restarting", WAIT],
  "58": ["store_unavailable", "reports a system error", "Check the server log, then try again."],
  XX001: ["store_corrupt", "is damaged", "Check the server log, and restore the database from a backup."],
  XX002: ["store_corrupt", "has a damaged index", "Check the server log; REINDEX may help."],
};

function meaningOf(error: unknown): Meaning | undefined {
  const code = codeOf(error);
  if (error instanceof Error && Reflect.get(error, "syscall") === "open") return NO_FILE;
  if (code === undefined && error instanceof pg.DatabaseError) return UNKNOWN; // a server always sends a code, so this error is unknown
  if (code === undefined) return isClientSideLoss(error) ? clientSideMeaning(error) : undefined;
  if (/^(ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)) return UNTRUSTED;
  if (SYSTEM_CODES.has(code) || code.startsWith("ERR_SSL")) return UNREACHABLE;
  if (!SQLSTATE.test(code)) return undefined;
  return MEANINGS[code] ?? MEANINGS[code.slice(0, 3)] ?? MEANINGS[code.slice(0, 2)] ?? UNKNOWN;
}

function clientSideMeaning(error: unknown): Meaning {
  const said = error instanceof Error ? error.message : "";
  if (/not support SSL/i.test(said)) return NO_TLS;
  return /password must be/i.test(said) ? NO_SECRET : UNREACHABLE;
}

/** Errors of `pg` itself have no code. */
function isClientSideLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return true; // every address of the host refused
  return /connection (terminated|ended|error|timeout)|timeout expired|read timeout|timeout exceeded|not queryable|SSL|SASL|password must be/i.test(
    error.message,
  );
}

export function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" ? code : undefined;
}

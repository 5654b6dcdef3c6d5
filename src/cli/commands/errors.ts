/** `redrive errors`: the error log, a page of it or as it grows. */
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import type { ErrorEntry } from "../../item/error-entry.ts";
import type { Json, JsonObject } from "../../kit/json.ts";
import {
  type ErrorLogQuery,
  type ErrorPage,
  errorToBody,
  errorToJson,
  followErrors,
  readErrors,
} from "../../watch/error-log.ts";
import type { Context } from "../context.ts";
import type { ERROR_FORMATS } from "../error-commands.ts";
import { type ErrorFlags, errorQueryFrom } from "../error-query.ts";
import { errorLine, errorTable, nextErrorsCommand } from "../error-text.ts";
import { EXIT } from "../exit-code.ts";
import { listenForInterrupts } from "../interrupt.ts";
import { countOption } from "../option.ts";
import { type Shorten, shortIds } from "../short-names.ts";

interface Flags extends ErrorFlags {
  readonly cursor?: string;
  readonly follow?: boolean;
  readonly format: (typeof ERROR_FORMATS)[number];
}

const PAGE_DEFAULT = 20;

export async function errors(context: Context, flags: Flags): Promise<number> {
  const limit = countOption("--limit", flags.limit, 1) ?? PAGE_DEFAULT;
  const before = countOption("--cursor", flags.cursor, 1);
  if (flags.follow && before !== undefined)
    throw new WorkError("usage", "--cursor goes back in the log and --follow goes on: give one of them.");
  return context.withStore(
    async (engine) => {
      const query = {
        ...(await errorQueryFrom(engine, flags)),
        limit,
        ...(before !== undefined && { before }),
      };
      if (flags.follow) await follow(context, engine, { query, document: documentOf(context, flags) });
      else {
        const page = await readErrors(engine, query);
        const ids = context.isTerminal ? page.errors.flatMap(({ itemId }) => itemId ?? []) : [];
        const idOf = await shortIds(engine, ids);
        context.terminal.stdout.write(pageText(context, { flags, page, idOf }));
      }
      return EXIT.done;
    },
    { mustExist: flags.follow ?? false },
  );
}

type ToDocument = (entry: ErrorEntry) => JsonObject;

/** Undefined for a table. */
function documentOf({ isJson }: Context, { format }: Flags): ToDocument | undefined {
  if (format === "error-body") return errorToBody;
  return isJson || format === "json" ? errorToJson : undefined;
}

interface Following {
  readonly query: ErrorLogQuery;
  readonly document: ToDocument | undefined;
}

async function follow(context: Context, engine: Engine, { query, document }: Following): Promise<void> {
  const { stdout } = context.terminal;
  const interrupt = listenForInterrupts(() => undefined);
  for await (const entry of followErrors(engine, query, { stop: interrupt.signal })) {
    if (!stdout.writable) break; // its reader has seen enough
    stdout.write(document ? `${JSON.stringify(document(entry))}\n` : errorLine(entry, context));
  }
  interrupt.dispose();
}

interface Page {
  readonly flags: Flags;
  readonly page: ErrorPage;
  readonly idOf: Shorten;
}

function pageText(context: Context, { flags, page: { errors: found, next }, idOf }: Page): string {
  const { paint, columns } = context;
  const document = documentOf(context, flags);
  if (document === errorToBody) return jsonText(found.map(document));
  if (document !== undefined)
    return jsonText({ errors: found.map(document), next: next === null ? null : String(next) });
  if (found.length === 0) return "No errors.\n";
  const more =
    next === null ? "" : `${paint.dim("Next page:")} ${paint.cyan(nextErrorsCommand(flags, next))}\n`;
  return errorTable(found, { paint, columns, idOf }) + more;
}

function jsonText(document: Json): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

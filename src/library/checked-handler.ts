/**
 * A program's handler behind a check of the outcome that it returns. One that does not fit is a failure of the attempt: the
 * item is tried again or becomes a letter that says why, and the runner goes on.
 */
import * as z from "zod";
import type { Handler } from "../attempt/handler.ts";
import type { Outcome } from "../item/outcome.ts";
import { checkInput } from "./check-input.ts";
import { durationMs, json, text, thing } from "./common-schemas.ts";
import { failure } from "./letter-schemas.ts";

const counts = z.array(text).optional();
const log = text.optional();

const outcome = z.discriminatedUnion(
  "kind",
  [
    z.looseObject({ kind: z.literal("succeeded"), result: json.optional(), log, counts }),
    z.looseObject({
      kind: z.literal("failed"),
      failure,
      retryAfterMs: durationMs.optional(),
      artifacts: thing.optional(),
      log,
      counts,
    }),
    z.looseObject({ kind: z.literal("released"), why: text, log, counts }),
  ],
  { error: 'expected an outcome such as { kind: "succeeded" }' },
);

/** The same handler, which throws when it does not return an outcome. */
export function checkedHandler(handler: Handler): Handler {
  return async (item, context) => {
    const returned: Outcome = await handler(item, context);
    checkInput(outcome, returned, { caller: "handler", name: "outcome" });
    return returned;
  };
}

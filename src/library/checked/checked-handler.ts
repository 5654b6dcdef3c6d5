/** Validates the outcome that a caller's handler returns. An invalid outcome fails the attempt, not the runner. */
import * as z from "zod";
import type { Handler } from "../../attempt/handler.ts";
import type { Outcome } from "../../item/settlement.ts";
import { checkInput, durationMs, text, texts } from "../../std/check-input.ts";
import { failure } from "./letter-schemas.ts";
import { json, thing } from "./schemas.ts";

const counts = texts.optional();
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

/** Wraps a handler so that it throws if it does not return a valid outcome. */
export function checkedHandler(handler: Handler): Handler {
  return async (item, context) => {
    const returned: Outcome = await handler(item, context);
    checkInput(outcome, returned, { caller: "handler", name: "outcome" });
    return returned;
  };
}

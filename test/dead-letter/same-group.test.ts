/** Failures that are the same, byte for byte, are one group whatever data their items have, on every way to a letter. */
import { describe, expect, test } from "vitest";
import { settlementOf } from "../../src/dead-letter/bury.ts";
import { completeLetter } from "../../src/dead-letter/import-export/imported-letters.ts";
import { agentResultToDlqItem, extendedLetter } from "../../src/dead-letter/reported-letter.ts";
import type { Failure } from "../../src/item/failure.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import type { Json, JsonObject } from "../../src/std/json.ts";
import { failures } from "../item/arbitraries.ts";
import { fc } from "../support/properties.ts";
import { failureOf } from "../support/settlements.ts";

const words = fc.constantFrom(
  ..."request timeout failed exit code error sh 1 101 ORD-1042 PO12345 a/b.csv e1.mjs rome order item-17 'x'".split(
    " ",
  ),
);
const messages = fc.array(words, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(" "));

interface Case {
  readonly failure: Failure;
  readonly data: readonly [Json, Json];
}

/** A failure, and the data of two items: values that are whole words or any part of the message, or anything else. */
const cases: fc.Arbitrary<Case> = fc.tuple(failures, messages).chain(([failure, errorMessage]) => {
  const part = fc
    .tuple(fc.nat(errorMessage.length), fc.nat(errorMessage.length))
    .map(([one, other]) => errorMessage.slice(Math.min(one, other), Math.max(one, other)));
  const value = fc.oneof(part, fc.constantFrom(...errorMessage.split(" ")), fc.string(), fc.integer());
  const data: fc.Arbitrary<Json> = fc.oneof(value, fc.array(value), fc.dictionary(fc.string(), value));
  return fc.record({
    failure: fc.constant({ ...failure, errorMessage }),
    data: fc.tuple(data, data),
  });
});

function leased(data: Json): LeasedItem {
  const itemId = typeof data === "string" && data !== "" ? data : "i1";
  return {
    ref: 1,
    attempt: 1,
    queue: "q",
    itemId,
    data,
    attemptsCounted: 0,
    lostCount: 0,
    revision: 1,
    redriveCount: 0,
    index: 0,
    startedAt: 0,
  };
}

const WAYS: Readonly<Record<string, (failure: Failure, data: Json) => string | undefined>> = {
  "buried by a runner": (failure, data) =>
    settlementOf(leased(data), {
      outcome: { kind: "failed", failure },
      verdict: { kind: "bury", reason: "out of retries" },
    }).death?.signature,
  "reported to a DlqManager": (report, data) => {
    const { itemId } = leased(data);
    return extendedLetter({ jobId: "j", item: { itemId, data }, report, now: 0 }).errorSignature;
  },
  "made of an agent's result": ({ errorMessage: message }, data) =>
    agentResultToDlqItem(
      { status: "failed", itemId: leased(data).itemId, message, durationMs: 1, at: 0 },
      data,
      1,
    )?.errorSignature,
  imported: ({ errorMessage, errorType }, data) => {
    const failure: JsonObject = { error_message: errorMessage, error_type: errorType.name };
    const letter = { item_id: leased(data).itemId, item_data: data, failure_history: [failure] };
    return completeLetter(letter, 0).errorSignature;
  },
};

describe.each(Object.entries(WAYS))("a failure %s", (_name, signatureOn) => {
  test("invariant 8: has the same group whatever the item's data", () => {
    fc.assert(
      fc.property(cases, ({ failure, data: [one, other] }) => {
        expect(signatureOn(failure, one)).toBe(signatureOn(failure, other));
      }),
      { numRuns: 500 },
    );
  });

  test("invariant 8: has one group for the data of a request, a timeout and anything else", () => {
    const failure = failureOf({ ref: 1, attempt: 1 }, { errorMessage: "request timeout" });
    const kinds = ["request", "timeout", "other"].map((kind) => signatureOn(failure, { kind }));
    expect(new Set(kinds).size).toBe(1);
    expect(kinds[0]).toMatch(/^[0-9a-f]{16}$/);
  });
});

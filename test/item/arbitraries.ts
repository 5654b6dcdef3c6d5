/** Random failures and letters for property tests of the codecs. */
import { ERROR_CLASSES, ERROR_TYPE_NAMES } from "../../src/item/error-type.ts";
import type { Failure } from "../../src/item/failure.ts";
import { type Letter, RESOLUTION_KINDS } from "../../src/item/letter.ts";
import { ITEM_STATES } from "../../src/item/state.ts";
import type { Json } from "../../src/std/json.ts";
import { fc } from "../support/properties.ts";

const time = fc.integer({ min: 0, max: 4_102_444_800_000 });
const text = fc.string({ unit: "grapheme" });
const data = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json);
const errorType = fc.oneof(
  fc.record({ name: fc.constantFrom(...ERROR_TYPE_NAMES) }),
  fc.record({ name: fc.constantFrom(...ERROR_TYPE_NAMES), fields: fc.dictionary(text, fc.integer()) }),
);

const word = fc.string({ unit: "grapheme", minLength: 1 });
const evidenceFile = fc.record(
  {
    path: text,
    sha256: text,
    bytes: fc.nat(),
    mediaType: text,
    host: text,
    missing: fc.constant(true as const),
    kept: text,
    problem: text,
  },
  { requiredKeys: ["path"] },
);

export const failures: fc.Arbitrary<Failure> = fc.record(
  {
    attemptNumber: fc.nat(),
    timestamp: time,
    errorType,
    errorClass: fc.constantFrom(...ERROR_CLASSES),
    errorMessage: text,
    errorContext: fc.array(text),
    stackTrace: text,
    agentId: text,
    stepFailed: text,
    durationMs: fc.nat(),
    jsonLogLocation: text,
    exitCode: fc.integer({ min: 0, max: 255 }),
    signal: fc.constantFrom("SIGKILL", "SIGTERM"),
    stdoutTail: text,
    stderrTail: text,
    log: text,
    evidence: fc.array(evidenceFile),
    source: fc.record({ executionId: word, flow: word, subflow: word, action: word, actionName: word }),
  },
  {
    requiredKeys: [
      "attemptNumber",
      "timestamp",
      "errorType",
      "errorClass",
      "errorMessage",
      "agentId",
      "stepFailed",
      "durationMs",
    ],
  },
);

const artifacts = fc.record(
  { worktreePath: text, branchName: text, head: text, uncommittedChanges: text, errorLogs: text },
  { requiredKeys: ["worktreePath", "branchName"] },
);
const lateResult = fc.record({ at: time, attemptNumber: fc.nat(), outcome: text, note: text });

const required = {
  itemId: text,
  itemData: data,
  firstAttempt: time,
  lastAttempt: time,
  // Each counted failure becomes a record when the letter is imported.
  failureCount: fc.nat({ max: 20 }),
  failureHistory: fc.array(failures, { maxLength: 4 }),
  errorSignature: text,
  errorPattern: text,
  reprocessEligible: fc.boolean(),
  manualReviewRequired: fc.boolean(),
  jobId: text,
  queue: text,
  state: fc.constantFrom(...ITEM_STATES),
  reason: text,
  revision: fc.nat(),
  redriveCount: fc.nat(),
};

const amendments = fc.record(
  { revision: fc.nat(), at: time, author: text, rule: text, note: text, operationId: text, before: data },
  { requiredKeys: ["revision", "at", "author", "before"] },
);
const notes = fc.record({ at: time, author: text, text });
const resolution = fc.record(
  { kind: fc.constantFrom(...RESOLUTION_KINDS), at: time, author: text, reason: text, operationId: text },
  { requiredKeys: ["kind", "at"] },
);

export const letters: fc.Arbitrary<Letter> = fc.record(
  {
    ...required,
    worktreeArtifacts: artifacts,
    poison: fc.boolean(),
    lateResults: fc.array(lateResult, { maxLength: 3 }),
    amendments: fc.array(amendments, { maxLength: 3 }),
    notes: fc.array(notes, { maxLength: 3 }),
    resolution,
  },
  { requiredKeys: Object.keys(required) as (keyof typeof required)[] },
);

/** Letters as a store of ours exports them: what is told twice in a letter is told in the same way. */
export const storedLetters: fc.Arbitrary<Letter> = letters
  .filter(({ itemId, failureHistory }) => itemId !== "" && failureHistory.length > 0)
  .map(({ lateResults, amendments, notes, resolution, poison, ...letter }) => {
    const history = letter.failureHistory.map((failure, place) => ({
      ...failure,
      attemptNumber: 2 * place + 1,
    }));
    const isDiscarded = resolution?.kind === "discard";
    return {
      ...letter,
      failureHistory: history,
      failureCount: history.length,
      state: resolution ? (isDiscarded ? "discarded" : "done") : "dead",
      revision: 1 + (amendments?.length ?? 0),
      errorSignature: `${history.at(-1)?.errorType.name}::${letter.errorPattern}`,
      ...(poison && { poison }),
      ...(lateResults?.length && { lateResults }),
      ...(amendments?.length && {
        amendments: amendments.map((amendment, place) => ({ ...amendment, revision: place + 2 })),
      }),
      ...(notes?.length && { notes }),
      ...(resolution && { resolution }),
    };
  });

/** From the records of a file to letters: what kind of record each one is, and whether it can come in. */
import { idProblem } from "../../intake/field.ts";
import { Identity } from "../../intake/identity.ts";
import type { Letter } from "../../item/letter.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { completeLetter } from "./complete.ts";
import { isErrorBody, isSameItem, letterOfBodies } from "./error-body.ts";
import type { ImportFormat } from "./format.ts";
import { shapeProblem } from "./letter-shape.ts";
import { originOf } from "./parse-record.ts";
import type { Place, RawRecord, Refusal } from "./reading.ts";
import { isReceipt, letterOfReceipt } from "./receipt.ts";

/** A letter that can come in, and from where. */
export interface FoundLetter {
  readonly letter: Letter;
  readonly place: Place;
  readonly bytes: number;
}

export interface LetterReaderOptions {
  readonly format?: ImportFormat;
  /** Puts every letter into this job. */
  readonly job?: string;
  /** The job of letters that name none. */
  readonly defaultJob: string;
  /** The job of receipts that name none. */
  readonly receiptsJob: string;
  readonly now: number;
}

const UNKNOWN_FIELDS_MAX = 20;

/** Takes records one after the other. Failures of one item that follow one another become one letter. */
export class LetterReader {
  /** Names of fields that mean nothing here, and were dropped. */
  readonly unknownFields = new Set<string>();
  /** How many letters came with the signature of another program. */
  foreignSignatures = 0;
  readonly #options: LetterReaderOptions;
  readonly #names = new Map<string, Identity>();
  /** Error bodies of one item. */
  #bodies: JsonObject[] = [];
  #bodiesFrom: RawRecord | undefined;

  constructor(options: LetterReaderOptions) {
    this.#options = options;
  }

  /** What this record completes: nothing yet, a letter or a refusal, or what was waiting and it. */
  *take(record: RawRecord): Generator<FoundLetter | Refusal> {
    const { data } = record;
    if (isJsonObject(data) && this.#kindOf(data) === "error-body") return yield* this.#takeBody(record, data);
    yield* this.rest();
    if (!isJsonObject(data)) yield { place: record.place, why: "not an object" };
    else if (this.#kindOf(data) !== "receipts") yield this.#letter(data, record);
    else if (!("receipt" in data)) yield { place: record.place, why: "it has no receipt" };
    else yield this.#letter(letterOfReceipt(data, this.#options.receiptsJob), record);
  }

  /** What still waits for more of its kind. */
  *rest(): Generator<FoundLetter | Refusal> {
    const [bodies, from] = [this.#bodies, this.#bodiesFrom];
    this.#bodies = [];
    this.#bodiesFrom = undefined;
    if (from !== undefined) yield this.#letter(letterOfBodies(bodies, this.#options.now), from);
  }

  #kindOf(json: JsonObject): "letter" | "error-body" | "receipts" {
    const { format } = this.#options;
    if (format === "error-body" || format === "receipts") return format;
    if (isErrorBody(json)) return "error-body";
    return isReceipt(json) ? "receipts" : "letter";
  }

  *#takeBody(record: RawRecord, body: JsonObject): Generator<FoundLetter | Refusal> {
    if (!("Error Message" in body)) return yield { place: record.place, why: "it has no Error Message" };
    const [first] = this.#bodies;
    if (first === undefined || !isSameItem(first, body)) yield* this.rest();
    this.#bodies.push(body);
    this.#bodiesFrom ??= record;
  }

  #letter(json: JsonObject, { place, bytes, folderJob }: RawRecord): FoundLetter | Refusal {
    const unknown: string[] = [];
    const why = shapeProblem(json, (field) => unknown.push(field));
    if (why !== undefined) return { place, why };
    for (const field of unknown) this.#noteUnknown(field);
    const letter = completeLetter(json, this.#options.now);
    const jobId = this.#options.job ?? (letter.jobId || folderJob || this.#options.defaultJob);
    const problem = jobId === letter.jobId ? undefined : idProblem(jobId);
    if (problem !== undefined)
      return { place, why: `the name of its folder or file, which would be its job, ${problem}` };
    if (letter.sourceSignature !== undefined && !json.source_signature) this.foreignSignatures += 1;
    const itemId = letter.itemId || this.#nameFor(jobId, letter, place);
    return { letter: { ...letter, itemId, jobId, queue: jobId }, place, bytes };
  }

  /** By content, never by its place in the file; the second of the same content in a job is `…-2`. */
  #nameFor(jobId: string, { itemData }: Letter, { file, line = 1 }: Place): string {
    const names = this.#names.get(jobId) ?? new Identity(originOf(file), {});
    this.#names.set(jobId, names);
    return names.itemOf({ data: itemData, line })?.itemId ?? "";
  }

  #noteUnknown(field: string): void {
    if (this.unknownFields.size < UNKNOWN_FIELDS_MAX) this.unknownFields.add(field);
  }
}

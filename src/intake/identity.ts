/**
 * What a record is called. By a field of its own, or by its content: the same content has the same name in every run,
 * wherever it stands in the input. Position never counts.
 */
import { hash } from "node:crypto";
import type { NewItem } from "../item/item.ts";
import { canonicalJson, type Json } from "../kit/json.ts";
import { toBase32 } from "../kit/random.ts";
import { fieldOf, idFrom } from "./field.ts";
import type { Origin } from "./origin.ts";
import type { IntakeRecord } from "./record.ts";
import { KEY_BYTES, SeenTable } from "./seen-table.ts";

export interface IdentityOptions {
  /** The field whose value is the id; `a.b` reaches inside. Default: the id is made from the content. */
  readonly idField?: string;
  /** true: drop a record whose content was seen before; a field: drop one whose value there was. Default: keep all. */
  readonly distinct?: boolean | string;
}

export class Identity {
  readonly #origin: Origin;
  readonly #idField: string | undefined;
  readonly #distinct: boolean | string;
  readonly #contents = new SeenTable();
  readonly #values = new SeenTable();
  /** Filled anew for every record, so that a million records do not make a million buffers. */
  readonly #key = new Uint8Array(KEY_BYTES);

  constructor(origin: Origin, options: IdentityOptions) {
    this.#origin = origin;
    this.#idField = options.idField;
    this.#distinct = options.distinct ?? false;
  }

  /** The item of a record, or undefined when `distinct` drops it. */
  itemOf(record: IntakeRecord): NewItem | undefined {
    if (this.#isRepeated(record)) return undefined;
    const { data } = record;
    if (this.#idField !== undefined) return { itemId: idFrom(record, this.#idField, this.#origin), data };
    if (this.#distinct === true) return { itemId: toBase32(this.#key), data };
    return { itemId: this.#contentId(data), data };
  }

  #isRepeated(record: IntakeRecord): boolean {
    if (this.#distinct === false) return false;
    if (this.#distinct === true) return this.#contents.count(this.#hash(record.data)) > 1;
    return this.#values.count(this.#hash(fieldOf(record, this.#distinct, this.#origin))) > 1;
  }

  /** The hash; the second record of the same content gets `-2`, the third `-3`. */
  #contentId(data: Json): string {
    const nth = this.#contents.count(this.#hash(data));
    return nth === 1 ? toBase32(this.#key) : `${toBase32(this.#key)}-${nth}`;
  }

  #hash(value: Json): Uint8Array {
    return hashInto(this.#key, value);
  }
}

/** The id that the first item of this content has when no field names it. */
export function contentId(data: Json): string {
  return toBase32(hashInto(new Uint8Array(KEY_BYTES), data));
}

/** Whether an id has the form of one that was made, from the content or at random: nobody chose it. */
export function isGeneratedId(id: string): boolean {
  return GENERATED.test(id);
}

const GENERATED = /^[0-9a-hjkmnp-tv-z]{16}(?:-\d+)?$/;

function hashInto(key: Uint8Array, value: Json): Uint8Array {
  // As a string of bytes: a buffer for each digest would cost four times as much.
  const digest = hash("sha256", canonicalJson(value), "binary");
  for (let index = 0; index < KEY_BYTES; index++) key[index] = digest.charCodeAt(index);
  return key;
}

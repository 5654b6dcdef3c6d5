/**
 * A letter as an expression sees it that hands the whole of it around: each field is made when it is looked at. What was
 * looked at and not read is told, so that the letters can be read once more, with that.
 */
import type { LetterPart } from "../engine.ts";
import { LETTER_FIELDS, type Letter, type LetterField, letterFieldsToJson } from "../item/letter.ts";
import type { Json, JsonObject } from "../kit/json.ts";
import { partOf } from "./named-parts.ts";

export interface Reading {
  readonly parts: ReadonlySet<LetterPart>;
  /** A field of a part was looked at that is not among them. The answer is worth nothing then. */
  readonly onMissing: (part: LetterPart) => void;
}

export function lazyLetter(letter: Letter, { parts, onMissing }: Reading): JsonObject {
  const made = new Set<PropertyKey>();
  const make = (json: Record<string, Json>, key: PropertyKey): void => {
    if (made.has(key) || !isField(key)) return;
    made.add(key);
    const part = partOf(key);
    if (part !== undefined && !parts.has(part)) onMissing(part);
    Object.assign(json, letterFieldsToJson(letter, [key]));
  };
  return new Proxy<Record<string, Json>>(
    {},
    {
      get(json, key) {
        make(json, key);
        return Reflect.get(json, key);
      },
      has(json, key) {
        make(json, key);
        return Reflect.has(json, key);
      },
      getOwnPropertyDescriptor(json, key) {
        make(json, key);
        return Reflect.getOwnPropertyDescriptor(json, key);
      },
      ownKeys(json) {
        for (const field of LETTER_FIELDS) make(json, field);
        return Reflect.ownKeys(json);
      },
    },
  );
}

const FIELDS: ReadonlySet<PropertyKey> = new Set(LETTER_FIELDS);

function isField(key: PropertyKey): key is LetterField {
  return FIELDS.has(key);
}

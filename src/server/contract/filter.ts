/**
 * Schemas that several routes share: letter filters and pages. Their fields are named like the command line
 * options.
 */
import * as z from "zod";
import { ERROR_CLASSES, ERROR_TYPE_NAMES, type ErrorTypeName } from "../../item/error-type.ts";
import { LETTER_STATES } from "../../item/state.ts";

const NAME_MAX = 512;
const LIST_MAX = 1000;
const TEXT_MAX = 4000;

/** An id or a name in a path or a query. */
export const name = z.string().min(1).max(NAME_MAX);
/** An item's id, which may be any text. */
export const itemId = z.string().min(1).max(4096);
export const duration = z
  .string()
  .min(1)
  .max(32)
  .meta({ description: "a duration: 90s, 15m, 2h, 7d", examples: ["2h"] });
/** A short text written by a person, such as a reason or a note. */
export const sentence = z.string().trim().min(1).max(TEXT_MAX);

/** The name of a person. */
export const person = z.string().trim().min(1).max(200);

export const PAGE_MAX = 500;
export const PAGE_DEFAULT = 50;
export const limit = z.number().int().min(1).max(PAGE_MAX).optional().meta({ default: PAGE_DEFAULT });
export const cursor = z
  .string()
  .min(1)
  .max(4096)
  .optional()
  .meta({ description: "the `next` value of the previous page" });

/** The cursor of a list whose rows are numbered. */
export const rowCursor = z
  .string()
  .regex(/^\d{1,16}$/)
  .optional();

/** The body of a request to pause. */
export const pauseReason = z.strictObject({ reason: sentence.optional() });

const errorType = z.enum(ERROR_TYPE_NAMES as readonly [ErrorTypeName, ...ErrorTypeName[]]);

/** The states of letters; `resolved` is a letter whose item is done. */
const states = z.array(z.enum([...LETTER_STATES, "resolved", "all"])).min(1);

/** Selects letters. All given conditions must hold. */
export const letterFilter = z.strictObject({
  job: name.optional().meta({ description: "letters of this job (id or name)" }),
  queue: name.optional().meta({ description: "letters of this queue" }),
  ids: z.array(itemId).min(1).max(LIST_MAX).optional().meta({ description: "only letters of these items" }),
  group: z
    .array(name)
    .min(1)
    .max(LIST_MAX)
    .optional()
    .meta({ description: "signatures, unique prefixes, or names of groups" }),
  type: z.array(errorType).min(1).optional(),
  class: z.array(z.enum(ERROR_CLASSES)).min(1).optional(),
  state: states.optional().meta({ description: "default: dead, ready, leased, held" }),
  older_than: duration.optional(),
  newer_than: duration.optional(),
  age_of: z.enum(["first", "last"]).optional(),
  attempts_min: z.number().int().min(0).optional(),
  attempts_max: z.number().int().min(0).optional(),
  eligible: z.boolean().optional().meta({ description: "letters that may be retried without force" }),
  search: z
    .string()
    .min(1)
    .max(TEXT_MAX)
    .optional()
    .meta({ description: "the last message contains this text, ignoring case" }),
  filter: z
    .string()
    .min(1)
    .max(TEXT_MAX)
    .optional()
    .meta({ description: "a CEL expression over item, letter and failure" }),
});

/** The parsed fields of `letterFilter`. */
export type LetterFilterWords = z.output<typeof letterFilter>;

/**
 * A condition on letters that a store evaluates itself. It has three values, as in SQL: a condition is unknown for a letter
 * if the store cannot be certain of the answer, for example because a field is missing or has another type. The caller
 * evaluates those letters.
 */

/** The columns of a letter that conditions can use. Times are in milliseconds. */
export const CONDITION_FIELDS = {
  text: ["itemId", "queue", "errorSignature", "errorPattern", "state", "reason"],
  number: ["failureCount", "revision", "redriveCount", "firstAttempt", "lastAttempt"],
  flag: ["reprocessEligible", "manualReviewRequired", "poison"],
} as const;

export type TextField = (typeof CONDITION_FIELDS.text)[number];
export type NumberField = (typeof CONDITION_FIELDS.number)[number];
export type FlagField = (typeof CONDITION_FIELDS.flag)[number];

/** A value inside the item's data: the keys that lead to it. */
export interface DataValue {
  readonly of: "data";
  readonly path: readonly string[];
}

/** A field of the last failure, by its JSON name. */
export interface FailureValue {
  readonly of: "failure";
  readonly field: string;
}

export type TextValue = DataValue | FailureValue | { readonly of: "letter"; readonly field: TextField };
export type FlagValue = DataValue | { readonly of: "letter"; readonly field: FlagField };
export type NumberValue =
  | DataValue
  | FailureValue
  | { readonly of: "letter"; readonly field: NumberField }
  | {
      /** Arithmetic on whole numbers; unknown for others. */
      readonly of: "result";
      readonly operator: (typeof ARITHMETIC)[number];
      readonly left: NumberValue | number;
      readonly right: NumberValue | number;
    };

export const ARITHMETIC = ["+", "-", "*", "%"] as const;
export const COMPARISONS = ["==", "<", "<=", ">", ">="] as const;
export type Comparison = (typeof COMPARISONS)[number];
export const TEXT_TESTS = ["contains", "startsWith", "endsWith"] as const;
export type TextTest = (typeof TEXT_TESTS)[number];

/**
 * See the file header. Texts are compared by code points. An empty list is true for `all` and false for
 * `any`.
 */
export type LetterCondition =
  | { readonly is: "all" | "any"; readonly of: readonly LetterCondition[] }
  | { readonly is: "not"; readonly of: LetterCondition }
  /** `yes` if `when` is true, `no` if it is false, otherwise unknown. */
  | {
      readonly is: "choice";
      readonly when: LetterCondition;
      readonly yes: LetterCondition;
      readonly no: LetterCondition;
    }
  | { readonly is: "constant"; readonly value: boolean }
  /** The store cannot evaluate this part. */
  | { readonly is: "unknown" }
  /** True for the letters for which the other condition is unknown, otherwise false. */
  | { readonly is: "undecided"; readonly of: LetterCondition }
  | {
      readonly is: "text";
      readonly value: TextValue;
      readonly test: Comparison | TextTest;
      readonly with: string;
    }
  | {
      readonly is: "number";
      readonly value: NumberValue;
      readonly test: Comparison;
      readonly with: number;
    }
  | { readonly is: "flag"; readonly value: FlagValue }
  | { readonly is: "null"; readonly value: DataValue }
  /** Whether the data has the last key of the path. */
  | { readonly is: "present"; readonly value: DataValue };

/**
 * Whether the condition can be unknown only because a value is missing or has another type, which is rare.
 */
export function isDecidable(condition: LetterCondition): boolean {
  switch (condition.is) {
    case "unknown":
      return false;
    case "all":
    case "any":
      return condition.of.every(isDecidable);
    case "not":
    case "undecided":
      return isDecidable(condition.of);
    case "choice":
      return [condition.when, condition.yes, condition.no].every(isDecidable);
    default:
      return true;
  }
}

/** Whether a store can leave out letters by the condition. */
export function canBeFalse(condition: LetterCondition): boolean {
  return canBe(condition, false);
}

function canBe(condition: LetterCondition, value: boolean): boolean {
  switch (condition.is) {
    case "unknown":
      return false;
    case "constant":
      return condition.value === value;
    case "not":
      return canBe(condition.of, !value);
    case "choice":
      return isDecidable(condition.when) && (canBe(condition.yes, value) || canBe(condition.no, value));
    case "all":
    case "any":
      // One decided part decides `all` (if false) or `any` (if true); the opposite needs every part.
      return value === (condition.is === "any")
        ? condition.of.some((part) => canBe(part, value))
        : condition.of.every((part) => canBe(part, value));
    default:
      return true;
  }
}

/** Keys that conditions can use. Others are refused, because keys are part of the SQL text. */
export function isConditionKey(key: string): boolean {
  return /^[A-Za-z_]\w{0,99}$/.test(key) && key !== "__proto__";
}

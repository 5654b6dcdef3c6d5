import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ERROR_CLASSES,
  ERROR_TYPE_NAMES,
  errorTypeFromJson,
  errorTypeToJson,
  isErrorClass,
  isErrorTypeName,
  reviewOf,
} from "../../src/item/error-type.ts";

describe("an error type as JSON", () => {
  test("it is a name, or a name with fields", () => {
    expect(errorTypeToJson({ name: "Timeout" })).toBe("Timeout");
    const failed = { name: "CommandFailed", fields: { exit_code: 101 } } as const;
    expect(errorTypeToJson(failed)).toEqual({ CommandFailed: { exit_code: 101 } });
  });

  test("both forms read back as they were", () => {
    const fields = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer()));
    fc.assert(
      fc.property(
        fc.constantFrom(...ERROR_TYPE_NAMES),
        fc.option(fields, { nil: undefined }),
        (name, given) => {
          const type = given === undefined ? { name } : { name, fields: given };
          expect(errorTypeFromJson(errorTypeToJson(type))).toEqual(type);
        },
      ),
    );
  });

  test("a name that is not known is kept within Unknown", () => {
    expect(errorTypeFromJson("QuantumError")).toEqual({ name: "Unknown", fields: { type: "QuantumError" } });
    expect(errorTypeFromJson({ QuantumError: { spin: 1 } })).toEqual({
      name: "Unknown",
      fields: { spin: 1, type: "QuantumError" },
    });
  });

  test("what is no type at all is Unknown", () => {
    for (const json of [null, 3, [], {}]) expect(errorTypeFromJson(json)).toEqual({ name: "Unknown" });
  });
});

describe("review", () => {
  test("permission, business and validation failures need a person", () => {
    const needing = ERROR_TYPE_NAMES.filter(
      (name) =>
        reviewOf({ errorType: { name }, errorClass: "unknown", errorMessage: "x" }).manualReviewRequired,
    );
    expect(needing.sort()).toEqual([
      "BusinessException",
      "CommitValidationFailed",
      "PermissionError",
      "ValidationFailed",
    ]);
  });

  test("a message that says critical needs a person; one that says uncritical does not", () => {
    expect(
      reviewOf({ errorType: { name: "Unknown" }, errorClass: "unknown", errorMessage: "CRITICAL: disk" })
        .manualReviewRequired,
    ).toBe(true);
    expect(
      reviewOf({ errorType: { name: "Unknown" }, errorClass: "unknown", errorMessage: "uncritical" })
        .manualReviewRequired,
    ).toBe(false);
  });

  test("what is permanent or needs a person is not eligible, everything else is", () => {
    for (const errorClass of ERROR_CLASSES) {
      const { reprocessEligible } = reviewOf({
        errorType: { name: "CommandFailed" },
        errorClass,
        errorMessage: "x",
      });
      expect(reprocessEligible).toBe(errorClass !== "permanent");
      expect(
        reviewOf({ errorType: { name: "PermissionError" }, errorClass, errorMessage: "x" }).reprocessEligible,
      ).toBe(false);
    }
  });
});

test("names are known exactly, inherited ones are not", () => {
  expect(["Timeout", "timeout", "constructor"].map(isErrorTypeName)).toEqual([true, false, false]);
  expect(["outage", "Outage", "toString"].map(isErrorClass)).toEqual([true, false, false]);
});

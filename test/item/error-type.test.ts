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
import { fc } from "../support/properties.ts";

describe("an error type as JSON", () => {
  test("it is a name, or a name with fields", () => {
    expect(errorTypeToJson({ name: "Timeout" })).toBe("Timeout");
    const failed = { name: "CommandFailed", fields: { exit_code: 101 } } as const;
    expect(errorTypeToJson(failed)).toEqual({ CommandFailed: { exit_code: 101 } });
  });

  test("both forms are read back unchanged", () => {
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

  test("an unknown name is kept within Unknown", () => {
    expect(errorTypeFromJson("QuantumError")).toEqual({ name: "Unknown", fields: { type: "QuantumError" } });
    expect(errorTypeFromJson({ QuantumError: { spin: 1 } })).toEqual({
      name: "Unknown",
      fields: { spin: 1, type: "QuantumError" },
    });
  });

  test("a value that is not a type is Unknown", () => {
    for (const json of [null, 3, [], {}]) expect(errorTypeFromJson(json)).toEqual({ name: "Unknown" });
  });
});

describe("review", () => {
  test("permission, business and validation failures need manual review", () => {
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

  test("a message that contains critical needs manual review; one that contains uncritical does not", () => {
    expect(
      reviewOf({ errorType: { name: "Unknown" }, errorClass: "unknown", errorMessage: "CRITICAL: disk" })
        .manualReviewRequired,
    ).toBe(true);
    expect(
      reviewOf({ errorType: { name: "Unknown" }, errorClass: "unknown", errorMessage: "uncritical" })
        .manualReviewRequired,
    ).toBe(false);
  });

  test("a permanent failure, or one that needs manual review, is not eligible; all others are", () => {
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

test("names are matched exactly, and inherited ones are unknown", () => {
  expect(["Timeout", "timeout", "constructor"].map(isErrorTypeName)).toEqual([true, false, false]);
  expect(["outage", "Outage", "toString"].map(isErrorClass)).toEqual([true, false, false]);
});

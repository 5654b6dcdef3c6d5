/** A receipt as it is kept: plain JSON, and the line that it stands in. Pure. */
import { WorkError } from "../errors.ts";
import { findField } from "../intake/field.ts";
import { asText, type Json } from "../kit/json.ts";

/** The receipt as JSON will have it, so that what is compared and sent later is what was meant now. */
export function receiptOf(value: unknown): Json {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw noJson(error instanceof Error ? error.message : String(error));
  }
  if (text === undefined) throw noJson(`it is ${typeof value}`);
  return JSON.parse(text) as Json;
}

/** The line of receipts that it belongs to; undefined when it has nothing in the field, or no field was named. */
export function orderOf(receipt: Json, field: string | undefined): string | undefined {
  const value = field === undefined ? undefined : findField(receipt, field);
  return value === undefined || value === null ? undefined : asText(value);
}

function noJson(why: string): WorkError {
  return new WorkError("usage", `The receipt cannot be written as JSON: ${why}.`);
}

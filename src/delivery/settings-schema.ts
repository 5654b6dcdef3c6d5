/** What settings of targets may be. Loaded when settings are checked, because it loads zod. */
import * as z from "zod";
import { COMMON_SETTINGS, retries } from "../queue/settings-schema.ts";
import {
  anyThat,
  checkInput,
  nullable,
  numberFrom,
  objectOf,
  oneOf,
  optional,
  text,
  wholeNumber,
} from "../std/check-input.ts";
import { DELIVERY_PROTOCOLS } from "./protocol.ts";
import type { TargetSettings } from "./target-settings.ts";

export const targetSettings = {
  ...COMMON_SETTINGS,
  ...optional(oneOf(DELIVERY_PROTOCOLS), "protocol"),
  ...optional(text, "url", "idHeader"),
  ...optional(text.regex(/\S/, { error: "expected the name of a tool, such as asyncgate.complete" }), "tool"),
  ...nullable(z.record(z.string(), text), "headers"),
  ...nullable(text, "keyArgument", "orderField"),
  ...optional(numberFrom(1, 3_600_000), "timeoutMs"),
  ...optional(wholeNumber(1, 1_073_741_824), "answerBytesMax"),
  ...optional(retries, "retries"),
  ...optional(numberFrom(0, 60), "backoffBase"),
  // Checked by hand: an error must not repeat a token that was given instead of its location.
  token: anyThat(() => true, "the location of a token").optional(),
};

export function checkTargetSettings(settings: TargetSettings): void {
  checkInput(objectOf<TargetSettings>(targetSettings), settings, { caller: "target", name: "settings" });
}

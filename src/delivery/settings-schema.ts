/** Validates the settings of targets. Imported only when settings are checked, because it loads zod. */
import * as z from "zod";
import { COMMON_SETTINGS, retries } from "../queue/settings-schema.ts";
import * as t from "../std/check-input.ts";
import { DELIVERY_PROTOCOLS } from "./protocol.ts";
import type { TargetSettings } from "./target-settings.ts";

export const targetSettings = {
  ...COMMON_SETTINGS,
  ...t.optional(t.oneOf(DELIVERY_PROTOCOLS), "protocol"),
  ...t.nullable(t.text, "url"),
  ...t.optional(t.text, "idHeader"),
  ...t.optional(
    t.text.regex(/\S/, { error: "expected the name of a tool, such as asyncgate.complete" }),
    "tool",
  ),
  ...t.nullable(z.record(z.string(), t.text), "headers"),
  ...t.nullable(t.text, "keyArgument", "orderField"),
  ...t.optional(t.numberFrom(1, 3_600_000), "timeoutMs"),
  ...t.optional(t.wholeNumber(1, 1_073_741_824), "answerBytesMax"),
  ...t.optional(retries, "retries"),
  ...t.optional(t.numberFrom(0, 60), "backoffBase"),
  // Checked in `requireToken`, because an error must not print a token that was given instead of its location.
  token: t.anyThat(() => true, "a token location").optional(),
};

export function checkTargetSettings(settings: TargetSettings): void {
  t.checkInput(t.objectOf<TargetSettings>(targetSettings), settings, { caller: "target", name: "settings" });
}

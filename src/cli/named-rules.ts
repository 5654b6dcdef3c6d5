/** Which fixes a command is to use. */
import { WorkError } from "../errors.ts";
import { nearest } from "../kit/nearest.ts";
import type { FixRule } from "../redrive/fix-rule.ts";

/** All of them, or those that were named; a name that is none is an error. */
export function rulesNamed(
  rules: readonly FixRule[],
  names: readonly string[] | undefined,
): readonly FixRule[] {
  if (rules.length === 0) {
    throw new WorkError("usage", "There are no fixes in the settings.", {
      hint: "Write some under `fixes:` in redrive.yml, each with a name, a match and a change.",
    });
  }
  if (names === undefined) return rules;
  const known = rules.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return rules.filter(({ name }) => names.includes(name));
  const meant = nearest(unknown, known);
  throw new WorkError(
    "usage",
    `--rule: there is no fix "${unknown}"${meant ? `; did you mean ${meant}?` : "."}`,
    {
      hint: `There are: ${known.join(", ")}.`,
    },
  );
}

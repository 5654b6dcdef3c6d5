/**
 * Measures each rule that decides whether a word is variable: how much every set loses without it, and the score of each
 * set with only those rules that help the other sets (leave one set out).
 */

import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { betterLabels } from "./grouping-score.mjs";

const SOURCE = `
export { canonicalPattern } from "./src/triage/canonical/canonical-pattern.ts";
export { VARIABLE_REASONS } from "./src/triage/canonical/variable-words.ts";
export { normalise } from "./src/triage/normalise.ts";`;

/** A rule with a smaller effect on the mean of the other sets is kept as it is. */
const EFFECT_MIN = 0.0005;

/** `sets` are the labelled rows by the name of their set. */
export async function measureRules(sets) {
  const { canonicalPattern, VARIABLE_REASONS, normalise } = await loaded();
  const names = Object.keys(sets);
  const patterns = Object.fromEntries(
    names.map((name) => [name, sets[name].map(({ text }) => normalise(text))]),
  );
  const scoreOf = (name, without) =>
    betterLabels(
      sets[name],
      patterns[name].map((pattern) => canonicalPattern(pattern, undefined, without)),
    ).score;
  const full = Object.fromEntries(names.map((name) => [name, scoreOf(name, new Set())]));
  const rules = Object.keys(VARIABLE_REASONS).filter((rule) => rule !== "mask");
  const effects = Object.fromEntries(
    rules.map((rule) => [
      rule,
      Object.fromEntries(
        names.map((name) => [name, meanOf(full[name]) - meanOf(scoreOf(name, new Set([rule])))]),
      ),
    ]),
  );
  const leftOut = Object.fromEntries(
    names.map((name) => {
      const harmful = rules.filter((rule) => {
        const others = names.filter((other) => other !== name);
        return others.reduce((sum, other) => sum + effects[rule][other], 0) / others.length < -EFFECT_MIN;
      });
      return [name, { score: scoreOf(name, new Set(harmful)), harmful }];
    }),
  );
  return { full, effects, leftOut };
}

function meanOf({ ga, fga }) {
  return (ga + fga) / 2;
}

async function loaded() {
  const { outputFiles } = await build({
    stdin: { contents: SOURCE, resolveDir: fileURLToPath(new URL("..", import.meta.url)), loader: "ts" },
    bundle: true,
    platform: "node",
    format: "esm",
    write: false,
    logLevel: "error",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

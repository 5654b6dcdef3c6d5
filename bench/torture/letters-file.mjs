/** Writes files of letters and items that do not come from the store under test. */
import { writeFileSync } from "node:fs";

/** Writes `count` letters as JSON Lines; returns them by id in their expected form. */
export function writeLetters(path, chance, count) {
  const letters = new Map();
  for (let n = 0; n < count; n += 1) {
    const failures = chance.between(1, 4);
    const letter = {
      item_id: `letter-${n}`,
      item_data: { n, text: "x".repeat(chance.between(0, 400)), deep: { list: [n, String(n), null] } },
      failure_count: failures,
      failure_history: Array.from({ length: failures }, (_, index) => failureOf(n, index + 1)),
    };
    letters.set(letter.item_id, letter);
  }
  writeFileSync(path, [...letters.values()].map((letter) => `${JSON.stringify(letter)}\n`).join(""));
  return letters;
}

function failureOf(n, attempt) {
  return {
    attempt_number: attempt,
    timestamp: new Date(1_790_000_000_000 + n * 1000 + attempt).toISOString(),
    error_type: n % 3 === 0 ? "Timeout" : "ServerError",
    error_message: `host-${n % 7} did not answer request ${n}`,
    agent_id: "agent",
    step_failed: "send",
    duration_ms: n,
  };
}

/** Writes `count` items with keys as JSON Lines, for `queue import --envelope`. */
export function writeItems(path, count) {
  const items = Array.from({ length: count }, (_, n) => ({ key: `item-${n}`, data: { n } }));
  writeFileSync(path, items.map((item) => `${JSON.stringify(item)}\n`).join(""));
  return items.map(({ key }) => key);
}

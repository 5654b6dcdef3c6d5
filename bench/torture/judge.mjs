/**
 * Compares the store with the ledger that the commands wrote. A pure function: takes both as data and returns one sentence
 * for each violated guarantee.
 */

/**
 * `items` from the store: `{ itemId, state, attempts: [{ number, outcome, endedAt }] }`; `ledger` from `readLedger`;
 * `inputIds`: all ids in the input of the map.
 */
export function judge({ inputIds, items, ledger }) {
  const lines = Map.groupBy ? Map.groupBy(ledger, ({ item }) => item) : groupByItem(ledger);
  const known = new Map(items.map((item) => [item.itemId, item]));
  return [
    ...lost(inputIds, known),
    ...strangers(lines, known),
    ...items.flatMap((item) => judgeItem(item, lines.get(item.itemId) ?? [])),
  ];
}

function groupByItem(ledger) {
  const groups = new Map();
  for (const line of ledger) {
    const group = groups.get(line.item);
    if (group === undefined) groups.set(line.item, [line]);
    else group.push(line);
  }
  return groups;
}

function lost(inputIds, known) {
  return inputIds
    .filter((id) => !known.has(id))
    .map((id) => `${id} was in the input and is not in the store`);
}

function strangers(lines, known) {
  return [...lines.keys()]
    .filter((id) => !known.has(id))
    .map((id) => `${id} was started and is not in the store`);
}

function judgeItem(item, lines) {
  const starts = lines.filter(({ what }) => what === "start");
  const dones = new Set(lines.filter(({ what }) => what === "done").map(({ attempt }) => attempt));
  return [
    ...startsWithoutRecord(item, starts),
    ...startedTwice(item, starts),
    ...unearned(item, dones),
    ...repeated(item, starts),
    ...unsettled(item),
  ];
}

function startsWithoutRecord({ itemId, attempts }, starts) {
  const recorded = new Set(attempts.map(({ number }) => number));
  return starts
    .filter(({ attempt }) => !recorded.has(attempt))
    .map(({ attempt, pid }) => `${itemId} attempt ${attempt} was started (pid ${pid}) and has no record`);
}

function startedTwice({ itemId }, starts) {
  const seen = new Map();
  const twice = [];
  for (const { attempt, pid } of starts) {
    if (seen.has(attempt))
      twice.push(`${itemId} attempt ${attempt} was started twice (pids ${seen.get(attempt)}, ${pid})`);
    seen.set(attempt, pid);
  }
  return twice;
}

/** A success in the store that the command did not write. */
function unearned({ itemId, state, attempts }, dones) {
  const successes = attempts.filter(({ outcome }) => outcome === "succeeded");
  const problems = successes
    .filter(({ number }) => !dones.has(number))
    .map(
      ({ number }) => `${itemId} attempt ${number} is recorded as a success and never said that it was done`,
    );
  if (state === "done" && successes.length !== 1)
    problems.push(`${itemId} is done with ${successes.length} successes on record`);
  if (state !== "done" && successes.length > 0)
    problems.push(`${itemId} is ${state} and has a success on record`);
  return problems;
}

/** Ledger and store use the same clock in two processes, so times may differ by rounding. */
const ROUNDING_MS = 1;

function repeated({ itemId, attempts }, starts) {
  const success = attempts.find(({ outcome }) => outcome === "succeeded");
  if (success === undefined) return [];
  return starts
    .filter(({ attempt, at }) => attempt > success.number || at > success.endedAt + ROUNDING_MS)
    .map(
      ({ attempt, at }) =>
        `${itemId} attempt ${attempt} was started ${Math.round(at - success.endedAt)} ms after attempt ${success.number} was acknowledged`,
    );
}

/** At the end every item is done or dead, and every attempt has ended. */
function unsettled({ itemId, state, attempts }) {
  const problems = attempts
    .filter(({ outcome, endedAt }) => outcome === "running" || endedAt === undefined)
    .map(({ number }) => `${itemId} attempt ${number} has no end on record`);
  if (state !== "done" && state !== "dead") problems.push(`${itemId} is still ${state} at the end`);
  return problems;
}

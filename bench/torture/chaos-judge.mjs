/**
 * What the judge of a map does not look at: whether the ends of attempts are what the commands said, whether the books of
 * the store agree with one another, and how soon the work went on after each strike. Pure: data in, sentences out.
 */

/** One sentence for each promise that was broken. `items` and `ledger` as in `judge.mjs`; see `chaos-judge.d.mts`. */
export function judgeChaos(testimony) {
  return [
    ...judgeEnds(testimony),
    ...judgeBooks(testimony),
    ...judgeLate(testimony),
    ...judgeStalls(testimony),
    ...judgeRecovery(testimony),
  ];
}

/** The longest stretch in which no command began or ended, outages of the server not counted: `{ ms, from }`. */
export function longestStall({ ledger, outages, strikes }) {
  const until = Math.max(0, ...strikes.map(({ at }) => at));
  const times = ledger.map(({ at }) => at).filter((at) => at <= until);
  let longest = { ms: 0, from: 0 };
  for (let index = 1; index < times.length; index += 1) {
    const [from, to] = [times[index - 1], times[index]];
    const ms = to - from - outageWithin(outages, from, to);
    if (ms > longest.ms) longest = { ms, from };
  }
  return longest;
}

/** How long it took until what killed workers had was taken back, and until it was begun again: longest of each. */
export function slowestRecovery(testimony) {
  const all = recoveries(testimony).filter(({ isFrozen }) => !isFrozen);
  const longest = (list, what) => Math.round(Math.max(0, ...list.map((one) => one[what] ?? 0)));
  const firsts = all.filter(({ isFirst }) => isFirst);
  return {
    recovered: all.length,
    takenBackMs: longest(all, "takenBackMs"),
    firstsMs: longest(firsts, "againMs"),
    againMs: longest(all, "againMs"),
  };
}

/** Of each attempt that was lost with a worker that was killed or frozen. */
function recoveries({ items, ledger, outages, strikes, buried }) {
  const starts = new Map(
    ledger.filter(({ what }) => what === "start").map((line) => [`${line.item}/${line.attempt}`, line.at]),
  );
  return items.flatMap(({ itemId, priority, attempts }) =>
    attempts
      .filter(({ outcome }) => outcome === "lost")
      .flatMap(({ number, holder, endedAt }) => {
        const strike = strikes.findLast(
          (one) => one.pid !== undefined && holder.includes(`:${one.pid}:`) && one.at < endedAt,
        );
        if (strike === undefined) return [];
        const after = (time) => time - strike.at - outageWithin(outages, strike.at, time);
        const next = buried.has(`${itemId}/${number}`) ? undefined : starts.get(`${itemId}/${number + 1}`);
        return {
          attempt: `${itemId}/${number}`,
          isFirst: priority === "high",
          isFrozen: strike.what === "freezeWorker",
          takenBackMs: after(endedAt),
          ...(next !== undefined && { againMs: after(next) }),
        };
      }),
  );
}

/** What an attempt said of its end is what is on record, unless it was cut off. */
function judgeEnds({ items, ledger, killedCommands = new Set() }) {
  const starts = new Map(
    ledger.filter(({ what }) => what === "start").map((line) => [`${line.item}/${line.attempt}`, line.pid]),
  );
  // One that was killed before its first line has left no trace of its own.
  const wasKilled = (name) =>
    starts.has(name) ? killedCommands.has(starts.get(name)) : killedCommands.size > 0;
  const said = new Set(
    ledger
      .map(({ what, item, attempt }) => `${what} ${item}/${attempt}`)
      .filter((one) => !/^start/.test(one)),
  );
  return items.flatMap(({ itemId, attempts }) =>
    attempts
      .filter(({ outcome }) => outcome === "failed")
      .flatMap(({ number }) => {
        const name = `${itemId}/${number}`;
        if (wasKilled(name)) return [];
        if (said.has(`done ${name}`)) return [`${name} said that it was done and is recorded as failed`];
        return said.has(`failed ${name}`) ? [] : [`${name} is recorded as failed and never said so`];
      }),
  );
}

/** Records, events and counters tell of the same number of attempts. */
function judgeBooks({ items, events, counters, operations }) {
  const problems = [];
  const outcomes = tally(items.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome)));
  const started = items.reduce((sum, { attempts }) => sum + attempts.length, 0);
  const compare = (what, count, records) => {
    if (count !== records) problems.push(`${count} ${what}, and ${records} are on record`);
  };
  compare("events tell of a started attempt", events.attempt_started ?? 0, started);
  compare("events tell of a success", events.attempt_succeeded ?? 0, outcomes.succeeded ?? 0);
  for (const outcome of ["succeeded", "failed", "lost", "released"])
    compare(`${outcome} attempts were counted`, counters[`attempts.${outcome}`] ?? 0, outcomes[outcome] ?? 0);
  for (const { id, kind, selected, succeeded, failed, refused, endedAt } of operations) {
    if (endedAt === undefined) problems.push(`${kind} ${id} has not ended`);
    const sum = succeeded + failed + refused;
    if (sum !== selected) problems.push(`${kind} ${id} selected ${selected}, and accounts for ${sum}`);
  }
  return problems;
}

/** What a worker reports that lost its lease is evidence; what is on record because of that very report is none. */
function judgeLate({ items, late }) {
  const outcomes = new Map(
    items.flatMap(({ itemId, attempts }) =>
      attempts.map(({ number, outcome }) => [`${itemId}/${number}`, outcome]),
    ),
  );
  return late
    .filter(({ attempt, outcome }) => outcomes.get(attempt) === outcome)
    .map(({ attempt, outcome }) => `${attempt} is recorded as ${outcome}, and was reported late once more`);
}

function judgeStalls(testimony) {
  const { ms, from } = longestStall(testimony);
  if (ms <= testimony.recoveryMsMax) return [];
  const before = testimony.strikes.findLast(({ at }) => at <= from + ms);
  return [`nothing was worked for ${Math.round(ms)} ms around ${before?.what} at ${before?.at}`];
}

/** A frozen worker is known to be gone only when its lease is over, and somebody has looked. */
const LEASE_MS = 8000;

/** What is taken back waits for its turn like any other; only what is first in line is begun at once. */
function judgeRecovery(testimony) {
  return recoveries(testimony).flatMap(({ attempt, isFirst, isFrozen, takenBackMs, againMs = 0 }) => {
    const limitMs = testimony.recoveryMsMax + (isFrozen ? LEASE_MS : 0);
    const told = (what, ms) =>
      ms > limitMs ? [`${attempt} was lost with its worker and not ${what} for ${Math.round(ms)} ms`] : [];
    return [...told("taken back", takenBackMs), ...(isFirst ? told("begun again", againMs) : [])];
  });
}

function outageWithin(outages, from, to) {
  return outages.reduce(
    (sum, outage) => sum + Math.max(0, Math.min(to, outage.to) - Math.max(from, outage.from)),
    0,
  );
}

function tally(words) {
  const counts = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

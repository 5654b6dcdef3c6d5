/**
 * Additional checks for chaos runs: recorded outcomes match what the commands wrote, the store's totals are consistent, and
 * work resumes soon after each strike. Pure functions without I/O.
 */

/** Returns one sentence for each violated guarantee. `items` and `ledger` as in `judge.mjs`; see `chaos-judge.d.mts`. */
export function judgeChaos(testimony) {
  return [
    ...judgeEnds(testimony),
    ...judgeBooks(testimony),
    ...judgeLate(testimony),
    ...judgeStalls(testimony),
    ...judgeRecovery(testimony),
  ];
}

/** The longest time without a start or an end of a command, outages of the server excluded: `{ ms, from }`. */
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

/** The longest times until leases of killed workers were reclaimed, and until their items were started again. */
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

/** The recovery times of all attempts that were lost with a killed or frozen worker. */
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

/** Checks that the recorded outcome of an attempt is the one its command wrote, unless the command was killed. */
function judgeEnds({ items, ledger, killedCommands = new Set() }) {
  const starts = new Map(
    ledger.filter(({ what }) => what === "start").map((line) => [`${line.item}/${line.attempt}`, line.pid]),
  );
  // A command that was killed before its first line has written nothing.
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

/** Checks that records, events and counters have the same number of attempts. */
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

/** Checks that no late result repeats the recorded outcome of its attempt. */
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

/** A frozen worker is detected only after its lease has expired and a reaper has checked. */
const LEASE_MS = 8000;

/** Reclaimed items wait for their turn, so only an item that is first in its queue must start at once. */
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

/** The steps of the simulated operators: operations of every kind, changes of them, imported letters, notes. */
import type { StoredLetter } from "../../src/engine.ts";
import type { Letter } from "../../src/item/letter.ts";
import {
  type LetterStep,
  type NewOperation,
  OPERATION_KINDS,
  type Operation,
  type OperationKind,
  type OperationStep,
  type SelectedLetter,
} from "../../src/item/operation.ts";
import { failureOf } from "../support/settlements.ts";
import type { Chance } from "./chance.ts";
import { randomFilter, randomOrder, randomStatesFilter } from "./filters.ts";
import { pairsOf } from "./twins.ts";
import { type Action, newName, QUEUES, type World } from "./world.ts";

/** The frequency of each. */
export const OPERATION_ACTIONS: readonly (readonly [times: number, name: string, action: Action])[] = [
  [3, "begin", begin],
  [1, "undo", undo],
  [3, "enlist", enlist],
  [12, "advance", advance],
  [5, "advance some", advanceSome],
  [2, "change operation", changeOperation],
  [1, "cancel", cancel],
  [3, "close", close],
  [1, "note", note],
  [1, "export", exportLetters],
  [2, "import", importLetters],
];

/** Actions that are more frequent than deletions. */
const OFTEN: readonly OperationKind[] = [
  ...(["redrive", "redrive", "redrive"] as const),
  ...(["edit", "edit", "discard", "discard", "restore", "requeue"] as const),
];

async function begin(world: World): Promise<void> {
  const { chance } = world;
  const kind = chance.pick([...OPERATION_KINDS, ...OFTEN]);
  const isUsual = chance.happens(0.7);
  const states = kind === "clear" ? { states: ["done", "discarded"] as const } : {};
  const filter = isUsual ? { ...randomFilter(chance), ...states } : randomStatesFilter(chance);
  const isEnlisted = chance.happens(0.2);
  await beginAs(world, { kind, filter, ...(isEnlisted && { selection: "enlisted" as const }) });
}

/** Undoes an operation with the reverse kind, or with a wrong one. */
async function undo(world: World): Promise<void> {
  const { chance } = world;
  const undone = await pickOperation(world, hasDone);
  const isDiscard = undone.kind === "discard" || undone.kind === "requeue";
  const kind = isDiscard ? "restore" : chance.pick(["edit", "discard", "purge"] as const);
  await beginAs(world, { kind, filter: {}, undoes: undone.id }, undone.queue);
}

type Asked = Pick<NewOperation, "kind" | "filter" | "selection" | "undoes">;

async function beginAs(world: World, asked: Asked, inQueue?: string): Promise<void> {
  const { twins, chance } = world;
  const id = newName(world, "operation");
  const queue = inQueue ?? chance.pick(QUEUES);
  const by = { author: "ada", plan: { by: "simulation" }, force: chance.happens(0.2) };
  const reason = asked.kind === "discard" && chance.happens(0.8) ? { reason: "not ours" } : {};
  const begun = await twins.same((engine) =>
    engine.beginOperation({ id, queue, ...asked, ...by, ...reason }),
  );
  if (begun) world.operations = [...world.operations, { id, kind: asked.kind, queue }];
}

/** Searches letters as a caller above the store does, and enlists some of those that were found, now or before. */
async function enlist(world: World): Promise<void> {
  const { twins, chance } = world;
  const { id, queue } = await pickOperation(world, isSelecting);
  const query = { ...randomStatesFilter(chance), limit: 12, order: randomOrder(chance) };
  const elsewhere = chance.happens(0.9) ? { queue } : {};
  const page = await twins.same((engine) => engine.listLetters({ ...query, ...elsewhere }));
  const found = pairsOf<StoredLetter>(page && { oracle: page.oracle.letters, subject: page.subject.letters });
  const chosen = chance.some(found);
  const cursor = chance.happens(0.4) ? null : newName(world, "place");
  await twins.same((engine, side) =>
    engine.enlist(id, { letterSequences: chosen.map((pair) => pair[side].letterSequence), cursor }),
  );
}

async function advance(world: World): Promise<void> {
  const { twins, chance } = world;
  const { id, kind } = await pickOperation(world, isPending);
  if (kind === "edit") return advanceSome(world);
  const isDeletion = kind === "purge" || kind === "evict" || kind === "clear";
  const max = chance.pick(isDeletion ? [1, 2] : [1, 2, 5, 20]);
  const step: OperationStep = { max, ...randomExtras(chance, kind) };
  await twins.same((engine) => engine.advance(id, step));
}

/** Names letters: some pending ones, some that were processed before, refusing a few. */
async function advanceSome(world: World): Promise<void> {
  const { twins, chance } = world;
  const { id, kind } = await pickOperation(world, isPending);
  const status = chance.happens(0.8) ? { status: "pending" as const } : {};
  const selected = pairsOf<SelectedLetter>(
    await twins.same((engine) => engine.listSelected(id, { ...status, limit: 12 })),
  );
  const steps = chance.some(selected).map((pair) => ({ pair, does: randomLetterStep(chance, kind) }));
  const extras = randomExtras(chance, kind);
  await twins.same((engine, side) =>
    engine.advance(id, {
      letters: steps.map(({ pair, does }) => ({ letterSequence: pair[side].letterSequence, ...does })),
      ...extras,
    }),
  );
}

function randomLetterStep(chance: Chance, kind: string): Omit<LetterStep, "letterSequence"> {
  if (chance.happens(0.2)) return { refuse: chance.pick(["the schema says no", "not today"]) };
  if (kind === "requeue") return chance.happens(0.5) ? { data: { version: 3 } } : {};
  if (kind !== "edit") return {};
  return {
    data: chance.pick([null, { version: 1 }, { version: 2 }, { version: chance.below(100) }, "ü", [1, [2]]]),
    ...(chance.happens(0.3) && { rule: "rule-1" }),
    ...(chance.happens(0.3) && { note: "a note" }),
  };
}

function randomExtras(chance: Chance, kind: string): Pick<OperationStep, "due" | "progress"> {
  const due = { delayMs: chance.pick([0, 700]), sinceBurialMs: chance.pick([[], [500], [100, 2000, 9000]]) };
  return {
    ...(chance.happens(0.3) && { progress: { step: chance.below(9) } }),
    ...(kind === "redrive" && chance.happens(0.3) && { due }),
  };
}

async function changeOperation(world: World): Promise<void> {
  const { twins, chance } = world;
  const { id } = await pickOperation(world, isOpen);
  const change = chance.pick([
    { status: "paused" },
    { status: "paused", progress: { paused: true } },
    { status: "open" },
    { status: "open" },
    { refuseRest: "enough" },
    { progress: { stage: 2 } },
  ] as const);
  await twins.same((engine) => engine.changeOperation(id, change));
}

/** Mostly a redrive with running letters. */
async function cancel(world: World): Promise<void> {
  const { id } = await pickOperation(world, isAtWork);
  await world.twins.same((engine) => engine.changeOperation(id, { status: "cancelled" }));
}

async function close(world: World): Promise<void> {
  const { twins } = world;
  const { id } = await pickOperation(world, isOpen);
  await twins.same((engine) => engine.closeOperation(id));
}

/** Mostly an operation that can do it; else a recent or an unknown one. */
async function pickOperation(
  { twins, chance, operations }: World,
  can: (operation: Operation) => boolean,
): Promise<World["operations"][number]> {
  const known = (await twins.same((engine) => engine.listOperations({})))?.oracle ?? [];
  const able = known.filter(can).slice(-6);
  if (able.length > 0 && chance.happens(0.85)) return chance.pick(able);
  return chance.pick([...operations.slice(-4), { id: "operation-0", kind: "redrive", queue: QUEUES[0] }]);
}

const isPending = ({ status, selected, done, refused }: Operation) =>
  status === "open" && selected > done + refused;
const isSelecting = ({ status }: Operation) => status === "selecting";
const hasDone = ({ kind, done }: Operation) => kind !== "redrive" && done > 0;
const isAtWork = ({ kind, done, succeeded, failed }: Operation) =>
  kind === "redrive" && done > succeeded + failed;
const isOpen = ({ endedAt }: Operation) => endedAt === undefined;

/** On any item, whether a letter or not. */
async function note({ twins, chance }: World): Promise<void> {
  const queue = chance.pick(QUEUES);
  const items = pairsOf(await twins.same((engine) => engine.findItems("", { queue, limit: 1000 })));
  if (items.length === 0) return;
  const item = chance.pick(items);
  const text = chance.pick(["looks bad", "it was the disk"]);
  await twins.same((engine, side) => engine.addNote(item[side].ref, { author: "ada", text }));
}

/** Exports the current letters for a later import. */
async function exportLetters(world: World): Promise<void> {
  const { twins, chance } = world;
  const query = { ...randomStatesFilter(chance), limit: 8, order: randomOrder(chance) };
  const page = await twins.same((engine) => engine.listLetters(query));
  const letters = (page?.oracle.letters ?? []).map(
    ({ ref: _ref, letterSequence: _burial, ...letter }) => letter,
  );
  world.archive = [...letters, ...world.archive].slice(0, 20);
}

/** Letters of any time and queue, some with a longer history than before. */
async function importLetters(world: World): Promise<void> {
  const { twins, chance, archive } = world;
  const queue = chance.pick(QUEUES);
  const letters = chance
    .some(archive)
    .slice(0, 6)
    .map((letter) => (chance.happens(0.3) ? longer(chance, letter) : letter));
  await twins.same((engine) => engine.importLetters(queue, letters));
}

/** As if it had been attempted elsewhere: the same failure or another, sometimes after attempts without one. */
function longer(chance: Chance, letter: Letter): Letter {
  const last = letter.failureHistory.at(-1);
  const attempt = (last?.attemptNumber ?? 0) + 1 + chance.below(3);
  const isSame = chance.happens(0.5);
  const failure = failureOf({ ref: 0, attempt }, isSame ? { ...last, attemptNumber: attempt } : {});
  return {
    ...letter,
    failureHistory: [...letter.failureHistory, failure],
    lastAttempt: failure.timestamp,
    ...(!isSame && {
      errorSignature: "4444444444444444",
      errorPattern: "CommandFailed::attempt <num> failed",
    }),
  };
}

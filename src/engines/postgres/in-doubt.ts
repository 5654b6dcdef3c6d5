/**
 * Handles steps whose COMMIT was sent but not answered, if the server cannot report their status. The runner
 * repeats the step: committed settlements are neither stale nor applied twice, and the new answer includes
 * the leases of the lost one.
 */
import type { SettleAndLease, SettleAndLeaseResult } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import type { Lease, LeasedItem, Settlement } from "../../item/item.ts";
import { assertSettlement } from "../../item/settlement.ts";
import { type AutocommitStep, autocommitStepOf, stepAutocommit } from "./autocommit-step.ts";
import { takeUnanswered } from "./lease.ts";
import { PlainLeases } from "./plain-leases.ts";
import { CommitInDoubt, type Session, type Tx } from "./session.ts";
import { settleAndLease } from "./settle-and-lease.ts";

/** A step that may or may not have been committed. */
interface InDoubt {
  readonly settled: readonly Settlement[];
  readonly leased: readonly LeasedItem[];
  /** The number of the step, sent without a transaction, whose answer was lost. */
  readonly unanswered: number | undefined;
}

/** After this long without an answer, the runner uses another connection. */
const STEP_MS_MAX = 30_000;

export class SettleAndLeaseSteps {
  readonly #session: Session;
  /** Settlements in doubt by lease, because the runner may repeat the step as another holder. */
  readonly #settled = new Map<string, Settlement>();
  /** Leases in doubt, by holder. */
  readonly #leased = new Map<string, readonly LeasedItem[]>();
  /** The number of each holder's last step without a transaction, if it was not answered. */
  readonly #unanswered = new Map<string, number>();
  readonly #plain = new PlainLeases();
  #turn = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  async settleAndLease(holderId: string | null, request: SettleAndLease): Promise<SettleAndLeaseResult> {
    for (const settlement of request.settle) assertSettlement(settlement);
    const inDoubt = this.#inDoubtOf(holderId, request);
    const step = inDoubt === null ? autocommitStepOf(holderId, request, this.#plain) : undefined;
    if (step !== undefined) return this.#autocommit(step);
    try {
      const answer = await this.#session.writePipelined(
        (tx) =>
          inDoubt === null
            ? settleAndLease(tx, holderId, request, this.#plain)
            : resolve(tx, { holderId, request, inDoubt }),
        { timeoutMs: STEP_MS_MAX },
      );
      this.#forget(holderId, request);
      return answer;
    } catch (error) {
      if (error instanceof CommitInDoubt)
        this.#remember(holderId, request, error.answer as SettleAndLeaseResult);
      throw error;
    }
  }

  async #autocommit(step: AutocommitStep): Promise<SettleAndLeaseResult> {
    const { lessee, request } = step;
    this.#turn += 1;
    const asked = { plain: this.#plain, turn: this.#turn };
    let answer: SettleAndLeaseResult | null;
    try {
      answer = await this.#session.writeAutocommit((tx) => stepAutocommit(tx, step, asked), {
        timeoutMs: STEP_MS_MAX,
      });
    } catch (error) {
      // After any error, the step may have been committed, unless the holder no longer exists.
      if (!isGone(error)) this.#rememberStep(step, asked.turn);
      throw error;
    }
    if (answer !== null) {
      this.#plain.forget(request.settle);
      return answer;
    }
    this.#rememberStep(step, asked.turn);
    return this.settleAndLease(lessee.holderId, request);
  }

  #rememberStep({ lessee, request }: AutocommitStep, turn: number): void {
    this.#rememberSettled(request.settle);
    this.#unanswered.set(lessee.holderId, turn);
  }

  #inDoubtOf(holderId: string | null, { settle }: SettleAndLease): InDoubt | null {
    const settled = settle.flatMap(({ lease }) => this.#settled.get(keyOf(lease)) ?? []);
    const leased = this.#leased.get(holderId ?? "") ?? [];
    const unanswered = this.#unanswered.get(holderId ?? "");
    const isClear = settled.length === 0 && leased.length === 0 && unanswered === undefined;
    return isClear ? null : { settled, leased, unanswered };
  }

  #remember(holderId: string | null, { settle }: SettleAndLease, { leased }: SettleAndLeaseResult): void {
    this.#rememberSettled(settle);
    const before = this.#leased.get(holderId ?? "") ?? [];
    if (leased.length > 0) this.#leased.set(holderId ?? "", [...before, ...leased]);
  }

  #rememberSettled(settle: readonly Settlement[]): void {
    for (const settlement of settle) {
      const key = keyOf(settlement.lease);
      if (!this.#settled.has(key)) this.#settled.set(key, settlement);
    }
  }

  #forget(holderId: string | null, { settle }: SettleAndLease): void {
    for (const { lease } of settle) this.#settled.delete(keyOf(lease));
    this.#leased.delete(holderId ?? "");
    this.#unanswered.delete(holderId ?? "");
    this.#plain.forget(settle);
  }
}

async function resolve(
  tx: Tx,
  asked: { readonly holderId: string | null; readonly request: SettleAndLease; readonly inDoubt: InDoubt },
): Promise<SettleAndLeaseResult> {
  const { holderId, request, inDoubt } = asked;
  await tx.begun();
  const isSettled = await settledOf(tx, inDoubt.settled);
  const leased = await leasedOf(tx, holderId, inDoubt);
  const { lease } = request;
  const max = Math.max(0, (lease?.max ?? 0) - leased.length);
  const answer = await settleAndLease(tx, holderId, {
    ...request,
    // Items whose lease was in a lost answer are not running. If the runner wants no more items, they are
    // released.
    settle: [
      ...request.settle.filter((settlement) => !isSettled.has(keyOf(settlement.lease))),
      ...(lease ? [] : leased.map(givenBack)),
    ],
    ...(lease && { lease: { ...lease, max } }),
  });
  return lease ? { ...answer, leased: [...leased, ...answer.leased] } : answer;
}

function isGone(error: unknown): boolean {
  return error instanceof RedriveError && error.code === "lease_lost";
}

function keyOf({ ref, attempt }: Lease): string {
  return `${ref}/${attempt}`;
}

function givenBack({ ref, attempt }: LeasedItem): Settlement {
  return { lease: { ref, attempt }, outcome: "released", verdict: { kind: "release" } };
}

/** Returns settlements whose attempts already ended with the same outcome, because these were committed. */
async function settledOf(tx: Tx, settlements: readonly Settlement[]): Promise<ReadonlySet<string>> {
  const rows = await tx.all<Lease>(
    `SELECT a.ref, a.number AS attempt FROM unnest(?::bigint[], ?::integer[], ?::text[]) AS s (ref, number, outcome)
            JOIN attempts a ON a.ref = s.ref AND a.number = s.number AND a.outcome = s.outcome`,
    settlements.map(({ lease }) => lease.ref),
    settlements.map(({ lease }) => lease.attempt),
    settlements.map(({ outcome }) => outcome),
  );
  return new Set(rows.map(keyOf));
}

/** Leases of the holder that were not returned to it. */
async function leasedOf(
  tx: Tx,
  holderId: string | null,
  { leased, unanswered }: InDoubt,
): Promise<readonly LeasedItem[]> {
  const held = await heldOf(tx, holderId, leased);
  if (holderId === null || unanswered === undefined) return held;
  const found = await takeUnanswered(tx, holderId, unanswered);
  return [...new Map([...held, ...found].map((item) => [keyOf(item), item])).values()];
}

/** The given leases that the holder still has. */
async function heldOf(tx: Tx, holderId: string | null, leased: readonly LeasedItem[]): Promise<LeasedItem[]> {
  if (holderId === null || leased.length === 0) return [];
  const rows = await tx.all<Lease>(
    `SELECT i.ref, i.attempts AS attempt
       FROM unnest(?::bigint[], ?::integer[]) AS l (ref, number)
            JOIN items i ON i.ref = l.ref AND i.attempts = l.number AND i.state = 'leased'
            JOIN holders h ON h.no = i.holder
      WHERE h.id = ?`,
    leased.map(({ ref }) => ref),
    leased.map(({ attempt }) => attempt),
    holderId,
  );
  const held = new Set(rows.map(keyOf));
  return leased.filter((item) => held.has(keyOf(item)));
}

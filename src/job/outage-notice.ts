/** Tells a person when a target stops taking receipts and when it takes them again, once each, however many receipts fail. */
import type { Settlement } from "../item/item.ts";

export class OutageNotice {
  readonly #name: string;
  readonly #onNotice: (notice: string) => void;
  #isOut = false;

  constructor(name: string, onNotice: (notice: string) => void) {
    this.#name = name;
    this.#onNotice = onNotice;
  }

  settled({ outcome, verdict, failure }: Settlement): void {
    if (outcome === "succeeded" && this.#isOut) {
      this.#isOut = false;
      this.#onNotice(`${this.#name} answers again.`);
    }
    if (failure === undefined || this.#isOut) return;
    const isParked = verdict.kind === "park";
    const isOutage = failure.errorClass === "throttled" || failure.errorClass === "outage";
    if (!isParked && !(isOutage && verdict.kind === "retry")) return;
    this.#isOut = true;
    const then = isParked
      ? "they wait without spending a try"
      : "they are tried again, and become letters when their tries are used up";
    this.#onNotice(`${this.#name} does not take receipts now (${failure.errorMessage}): ${then}.`);
  }
}

/** What is damaged in a store, and what was saved of it. */
import type { Problem } from "./store-look.ts";

/** What could be read of a table. */
export interface TableDamage {
  readonly table: string;
  readonly rows: number;
  /** Stretches of rows that could not be read. */
  readonly gaps: number;
}

/** What was changed because something else was lost. */
export interface Repair {
  readonly what: string;
  readonly rows: number;
}

/** What is wrong with a file, and what can be saved of it. */
export interface DamageReport {
  readonly problems: readonly Problem[];
  /** Empty when nothing can be read. */
  readonly tables: readonly TableDamage[];
}

/** What was saved and what was lost. */
export interface SalvageReport {
  readonly tables: readonly TableDamage[];
  /** By the counters of the queues: items that were in the store and could not be saved. Undefined when the counters are lost, too. */
  readonly lostItems: number | undefined;
  readonly repairs: readonly Repair[];
  /** What is still wrong in the new store. */
  readonly problems: readonly Problem[];
}

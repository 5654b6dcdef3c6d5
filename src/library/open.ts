/** Opens a store and returns the entry object of the library. */

import * as z from "zod";
import { openStore } from "../engines/open.ts";
import { authorText } from "../item/author.ts";
import type { LimitSettings } from "../redrive/limits.ts";
import type { ClassRule } from "../retry/class-rule.ts";
import { runnerSettings } from "../runner/run-options.ts";
import * as t from "../std/check-input.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { authoredEngine } from "../store/authored-engine.ts";
import { homeOf, storeUrlOf } from "../store/home.ts";
import type { GroupRule } from "../triage/grouping.ts";
import { classRules, clock, groupRules, limitSettings } from "./checked/schemas.ts";
import type { OpenContext } from "./context.ts";
import { Listeners } from "./listeners.ts";
import type { Middleware } from "./middleware.ts";
import { middlewares } from "./queue-options.ts";
import { Redrive } from "./redrive.ts";
import type { WorkerEvents } from "./reporter.ts";
import { ResultWaiters } from "./results.ts";
import { callback, type Shape } from "./values.ts";

/** The options of `open`. */
export interface OpenOptions {
  /** The folder for the embedded store, archives and logs. Default: `REDRIVE_HOME`, or `~/.redrive`. */
  readonly home?: string;
  /** The author of changes that this program makes. Default `program`. */
  readonly author?: string;
  /** Middleware around each attempt of this program's workers, outermost first. */
  readonly use?: readonly Middleware[];
  /** How many letters a queue keeps and for how long; older ones are archived. Default: 10,000 letters, 30 days. */
  readonly limits?: LimitSettings;
  /** Rules that name groups of failures. Default: none. */
  readonly groupRules?: readonly GroupRule[];
  /** Rules that correct the type and class of failures. Default: none. */
  readonly classRules?: readonly ClassRule[];
  /** An item that fails again after this many redrives is poison. Default 5. */
  readonly poisonAfter?: number;
  /** Throws if the store does not exist, instead of creating it. Default false. */
  readonly mustExist?: boolean;
  /** Called with messages for people, for example about a full dead letter queue. Default: a Node warning. */
  readonly onNotice?: (notice: string) => void;
  /** The clock, which tests replace. Default: the system clock. */
  readonly clock?: Clock;
}

const openOptions = z.strictObject({
  home: t.name.optional(),
  author: t.name.optional(),
  use: middlewares.optional(),
  limits: limitSettings.optional(),
  groupRules: groupRules.optional(),
  classRules: classRules.optional(),
  poisonAfter: t.count.optional(),
  mustExist: t.flag.optional(),
  onNotice: callback.optional(),
  clock: clock.optional(),
} satisfies Shape<OpenOptions>);

/**
 * Opens a store: `memory:`, `sqlite:PATH` or `postgres://USER@HOST/DATABASE`. Default: `REDRIVE_STORE`, or the embedded store
 * of the home folder.
 */
export async function open(store?: string, options: OpenOptions = {}): Promise<Redrive> {
  return new Redrive(await openContext(store, options));
}

/** Checks the options and opens the store. */
export async function openContext(store: string | undefined, options: OpenOptions): Promise<OpenContext> {
  t.checkInput(t.name.optional(), store, { caller: "open", name: "store" });
  t.checkInput(openOptions, options, { caller: "open", name: "options" });
  const { home = homeOf(process.env), author = "program", use = [], limits = {} } = options;
  const { clock: time = systemClock, mustExist, onNotice } = options;
  const env = { ...process.env, REDRIVE_HOME: home };
  const given = { ...(options.clock && { clock: time }), ...(mustExist !== undefined && { mustExist }) };
  const by = authorText(author, "library");
  const engine = authoredEngine(await openStore(storeUrlOf(env, store), given), by);
  return {
    ...{ engine, home, author: by, use, limits, onNotice, clock: time },
    runner: runnerSettings(options),
    listeners: new Listeners<WorkerEvents<unknown, unknown>>(),
    running: new Set(),
    results: new ResultWaiters(engine, time),
  };
}

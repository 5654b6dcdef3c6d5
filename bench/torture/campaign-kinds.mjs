/** The kinds of torture in a campaign, and how to run one round of each. */
import { bulkKill } from "./bulk-kill.mjs";
import { chanceOf } from "./chance.mjs";
import { chaos } from "./chaos.mjs";
import { tortureCopies } from "./copies.mjs";
import { tortureImportExport } from "./import-export.mjs";
import { PostgresPair } from "./postgres-pair.mjs";
import { tortureReceipts } from "./receipts.mjs";
import { torture } from "./torture.mjs";
import { tortureUpgrade } from "./upgrade.mjs";
import { tortureWorkflow } from "./workflow-torture.mjs";

/** Long, because kinds share the machine; the tests of one kind check how soon work resumes. */
const RECOVERY_MS_MAX = 120_000;

/**
 * By name: the weight of each kind, and one round of it. `run({ seed, minutes })` returns `{ violations, figures, faults,
 * home }`, with the strikes by fault.
 */
export const KINDS = {
  map: { weight: 5, run: (round) => torture({ ...round, isSteady: true }) },
  "queue on SQLite": { weight: 5, run: (round) => chaosRound(round, "sqlite") },
  "queue on PostgreSQL": { weight: 5, run: (round) => chaosRound(round, "postgres") },
  workflow: { weight: 3, run: (round) => tortureWorkflow({ ...round, items: 10, isSteady: true }) },
  "bulk operations": {
    weight: 2,
    run: ({ seed }) => bulkKill({ letters: 400, kills: 6, random: chanceOf(seed).random }),
  },
  "import and export": { weight: 2, run: ({ seed }) => tortureImportExport({ seed, letters: 800 }) },
  copy: { weight: 2, run: ({ seed }) => tortureCopies({ seed, letters: 800 }) },
  "upgrade on SQLite": { weight: 1, run: ({ seed }) => tortureUpgrade({ seed, strikes: 60 }) },
  "upgrade on PostgreSQL": {
    weight: 1,
    run: ({ seed }) => tortureUpgrade({ seed, strikes: 60, engine: "postgres" }),
  },
  "fail-over": {
    weight: 2,
    run: async (round) => chaosRound({ ...round, server: await PostgresPair.make() }, "postgres"),
  },
  receipts: { weight: 2, run: ({ seed }) => tortureReceipts({ receipts: 600, kills: 40, seed }) },
};

function chaosRound(round, engine) {
  return chaos({ ...round, engine, isSteady: true, recoveryMsMax: RECOVERY_MS_MAX });
}

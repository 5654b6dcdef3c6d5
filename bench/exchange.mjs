/** Benchmarks export and import of many letters, including parsing and the durable store. */
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { LIBRARY, say, timed, withFolder } from "./kit.mjs";
import { atLeast, count, perSecond } from "./report.mjs";

const { exportLetters, importLetters, openStore, selectLetters } = await import(LIBRARY);

const GROUPS = 200;

export function measure({ quick }) {
  const letters = quick ? 20_000 : 1_000_000;
  return withFolder(async (folder) => {
    say(`  import and export of ${count(letters)} letters, once`);
    const file = join(folder, "letters.jsonl");
    await writeLetters(file, letters);
    const engine = await openStore(`sqlite:${join(folder, "in.db")}`);
    try {
      const coming = await timed(() => importLetters(engine, file));
      const out = join(folder, "out.jsonl");
      const leaving = await timed(() =>
        exportLetters(selectLetters(engine, { filter: {} }, { order: "oldest" }), {
          path: out,
          format: "jsonl",
        }),
      );
      return [{ title: "Letters: exchange (§2)", rows: rowsOf(letters, coming, leaving), notes: NOTES }];
    } finally {
      await engine.close();
    }
  });
}

const NOTES = [
  "JSON Lines, letters with 1 KB of data and one failure, 200 groups, batches of 500 in one durable commit each; from reading the file to the last commit. Done once.",
];

function rowsOf(letters, coming, leaving) {
  const rate = (letters * 1000) / coming.wallMs;
  return [
    {
      what: `import of ${count(letters)} letters`,
      figure: `${perSecond(rate, "letters")} (CPU ${count((coming.cpuMs * 1000) / letters)} µs each)`,
      ...atLeast(rate, 15_000, "/s"),
    },
    {
      what: `export of ${count(letters)} letters`,
      figure: perSecond((letters * 1000) / leaving.wallMs, "letters"),
    },
  ];
}

async function writeLetters(file, letters) {
  const stream = createWriteStream(file);
  const data = "d".repeat(1000);
  for (let n = 0; n < letters; n += 1) {
    if (!stream.write(`${JSON.stringify(letterOf(n, data))}\n`)) {
      await new Promise((resolve) => stream.once("drain", resolve));
    }
  }
  stream.end();
  await finished(stream);
}

function letterOf(n, data) {
  const at = new Date(1_790_000_000_000 + n).toISOString();
  const error = { error_type: { CommandFailed: { exit_code: 1 } }, error_class: "unknown" };
  return {
    item_id: `item-${n}`,
    item_data: { n, data },
    job_id: "bench",
    first_attempt: at,
    last_attempt: at,
    failure_count: 1,
    failure_history: [
      {
        ...{ attempt_number: 1, timestamp: at, ...error, error_message: `cause ${n % GROUPS} at ${n}` },
        ...{
          agent_id: "agent-1",
          step_failed: "shell: work",
          duration_ms: 5,
          stderr_tail: "one line\nand another\n",
        },
      },
    ],
    error_signature: (n % GROUPS).toString(16).padStart(16, "0"),
    error_pattern: `CommandFailed::cause ${n % GROUPS}`,
    reprocess_eligible: true,
    manual_review_required: false,
  };
}

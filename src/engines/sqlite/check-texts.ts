/** `store check` for the index of texts: what it says of a letter is what the letter says, and it counts right. */
import type { Problem } from "../../engine.ts";
import type { Rule } from "../letter-rules.ts";
import { lastFailureOf } from "./attempts.ts";
import type { Session } from "./session.ts";
import { READ_TO } from "./text-index.ts";
import { wordingOf } from "./wording.ts";

const RULE = "texts are found where they are";

export const TEXT_RULES: readonly Rule[] = [
  [
    RULE,
    `SELECT 'wording ' || w.no || ' counts ' || w.count || ' letters, there are ' || count(s.no) AS detail
       FROM wordings w LEFT JOIN said s ON s.wording = w.no GROUP BY w.no HAVING w.count <> count(s.no)`,
  ],
  [
    RULE,
    `SELECT 'letter ' || l.no || ' is neither read nor to be read' AS detail FROM letters l
      WHERE l.no <= ${READ_TO} AND NOT EXISTS (SELECT 1 FROM said s WHERE s.no = l.no)
        AND NOT EXISTS (SELECT 1 FROM unread u WHERE u.no = l.no)`,
  ],
  [
    RULE,
    `SELECT 'letter ' || u.no || ' is read and to be read' AS detail FROM unread u JOIN said s ON s.no = u.no`,
  ],
  ...["said", "unread"].map(
    (table): Rule => [
      RULE,
      `SELECT 'letter ' || t.no || ' is ${table} and not there' AS detail FROM ${table} t
        WHERE t.no > ${READ_TO} OR NOT EXISTS (SELECT 1 FROM letters l WHERE l.no = t.no)`,
    ],
  ),
  [
    RULE,
    `SELECT 'letter ' || l.no || ' is of group ' || l.grp || ', its wording of ' || w.grp AS detail
       FROM letters l JOIN said s ON s.no = l.no JOIN wordings w ON w.no = s.wording WHERE w.grp <> l.grp`,
  ],
];

const STEP = 1000;

/** Every dead letter that was read is read once more and compared. */
export function checkTexts(session: Session, max: number): Problem[] {
  const problems: Problem[] = [];
  for (let after = 0; problems.length < max; ) {
    const rows = session.tuples<SaidRow>(
      `SELECT s.no, w.text, s.figures, w.is_open, json_extract(${lastFailureOf("l.ref")}, '$.error_message')
         FROM said s CROSS JOIN letters l ON l.no = s.no CROSS JOIN items i ON i.ref = l.ref AND i.state = 'dead'
              CROSS JOIN wordings w ON w.no = s.wording
        WHERE s.no > ? ORDER BY s.no LIMIT ${STEP}`,
      after,
    );
    const wrong = rows.filter((row) => !isAsSaid(row));
    problems.push(
      ...wrong.map(([no]) => ({ rule: RULE, detail: `letter ${no} says something else than was read` })),
    );
    if (rows.length < STEP) break;
    after = rows.at(-1)?.[0] ?? after;
  }
  return problems;
}

type SaidRow = readonly [no: number, text: string, figures: string, isOpen: number, message: string | null];

function isAsSaid([, text, figures, isOpen, message]: SaidRow): boolean {
  const wording = wordingOf(typeof message === "string" ? message : "");
  return wording.text === text && wording.figures === figures && wording.isOpen === (isOpen === 1);
}

/** `redrive token create|list|revoke`: manages the tokens of the HTTP API. */
import { toRfc3339 } from "../../std/clock.ts";
import { argument, command } from "../command.ts";
import { choice, duration, required, withDefault, word } from "../options.ts";
import { table } from "../render/layout.ts";
import { minuteText } from "../render/text.ts";

/** Loaded on demand, because it loads node:crypto. */
const tokens = () => import("../../server/auth/tokens.ts");

const DAY_MS = 86_400_000;
const ROLES = ["viewer", "operator", "admin"] as const;

const create = command({
  summary: "Create a token and print its secret, which is shown only once.",
  examples: ["redrive token create --name ci --role operator --expires 90d"],
  options: {
    name: required(
      word(
        "--name <name>",
        "the person or program that uses the token; changes are recorded under this name",
      ),
    ),
    role: required(
      choice("--role <role>", "viewer reads, operator changes letters, admin can do everything", ROLES),
    ),
    lifetimeMs: withDefault(
      duration("--expires <duration>", "how long the token is valid"),
      90 * DAY_MS,
      "90d",
    ),
  },
  run: async (context, { name, role, lifetimeMs }) => {
    const { createToken, tokenToJson } = await tokens();
    const request = { kind: "token", name, role, lifetimeMs, createdBy: context.author } as const;
    const made = await context.withStore((engine) => createToken(engine, request), { creates: true });
    const { secret, record } = made;
    context.answer({ ...tokenToJson(record), token: secret }, () => `${secret}\n`);
    if (!context.isJson)
      context.note(
        `Token ${record.id} is valid until ${toRfc3339(record.expiresAt)}. The secret is not shown again.`,
      );
    return 0;
  },
});

const list = command({
  isDefault: true,
  summary: "List tokens, newest first.",
  examples: ["redrive token list"],
  run: async (context) => {
    const { listTokens, tokenToJson } = await tokens();
    const found = await context.withStore((engine) => listTokens(engine));
    return context.answer({ tokens: found.map(tokenToJson) }, () => {
      if (found.length === 0) return "No tokens.\n";
      const time = (at: number | undefined) => (at === undefined ? "" : minuteText(at));
      return table(
        found,
        [
          { title: "TOKEN", value: ({ id }) => id },
          { title: "NAME", value: ({ name }) => name },
          { title: "ROLE", value: ({ role }) => role },
          { title: "EXPIRES", value: ({ expiresAt }) => time(expiresAt) },
          { title: "LAST USED", value: ({ lastUsedAt }) => time(lastUsedAt), giveUp: 1 },
          { title: "REVOKED", value: ({ revokedAt }) => time(revokedAt) },
        ],
        context.columns,
      );
    });
  },
});

const revoke = command({
  summary: "Revoke a token.",
  examples: ["redrive token revoke t-7h2k9m4x"],
  arguments: { id: argument("<token>", "the token id; see: redrive token list") },
  run: async (context, { id }) => {
    const { revokeToken, tokenToJson } = await tokens();
    const revoked = await context.withStore((engine) => revokeToken(engine, id, context.author));
    return context.answer(tokenToJson(revoked), () => `Revoked ${revoked.id} (${revoked.name}).\n`);
  },
});

export const commands = { create, list, revoke };

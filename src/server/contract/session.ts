/** Routes of the session and of tokens. */
import * as z from "zod";
import { time } from "./documents.ts";
import { duration, sentence } from "./filter.ts";
import { ROLES, type Routes } from "./route.ts";

const tag = "session";

export const session = z
  .looseObject({
    name: z.string(),
    role: z.enum(ROLES),
    kind: z.enum(["token", "session", "open"]),
    expires_at: time.nullable(),
  })
  .meta({ id: "Session" });

export const token = z
  .looseObject({
    token_id: z.string(),
    name: z.string(),
    role: z.enum(ROLES),
    created_at: time,
    created_by: z.string(),
    expires_at: time.nullable(),
    last_used_at: time.nullable(),
    revoked_at: time.nullable(),
  })
  .meta({ id: "Token" });

export const sessionRoutes = {
  "GET /session": {
    id: "showSession",
    tag,
    summary: "Show who you are and what you may do.",
    role: "viewer",
    response: session,
    errors: [],
  },
  "GET /logins": {
    id: "listLogins",
    tag,
    summary: "List the ways to log in.",
    role: "public",
    response: z.looseObject({
      token: z.literal(true),
      provider: z
        .looseObject({
          host: z.string(),
          path: z.string().meta({ description: "relative to the URL of the server" }),
        })
        .nullable(),
    }),
    errors: [],
  },
  "POST /session": {
    id: "logIn",
    tag,
    summary: "Log in with a token; the answer sets a session cookie.",
    role: "public",
    body: z.strictObject({ token: z.string().min(1).max(256) }),
    response: session,
    errors: [],
    isRepeatable: true,
  },
  "DELETE /session": {
    id: "logOut",
    tag,
    summary: "End the session of the cookie.",
    role: "viewer",
    response: z.looseObject({
      ended: z.boolean(),
      provider_logout: z
        .string()
        .nullable()
        .meta({ description: "where a browser can end its session at the login provider" }),
    }),
    errors: [],
  },
  "GET /tokens": {
    id: "listTokens",
    tag: "tokens",
    summary: "List tokens. Their secrets are not stored.",
    role: "admin",
    response: z.looseObject({ tokens: z.array(token) }),
    errors: [],
  },
  "POST /tokens": {
    id: "createToken",
    tag: "tokens",
    summary: "Create a token. Its secret is shown only once.",
    role: "admin",
    body: z.strictObject({
      name: sentence.max(100),
      role: z.enum(ROLES),
      expires: duration.optional().meta({ description: "default: 90d" }),
    }),
    response: token.extend({ token: z.string() }),
    status: 201,
    errors: ["usage"],
  },
  "DELETE /tokens/{token_id}": {
    id: "revokeToken",
    tag: "tokens",
    summary: "Revoke a token.",
    role: "admin",
    params: z.strictObject({ token_id: z.string().min(1).max(64) }),
    response: token,
    errors: ["item_not_found"],
  },
} as const satisfies Routes;

/** What is said when PostgreSQL cannot be used: what happened, and what to do, for each way in which it can happen. */
import { describe, expect, it } from "vitest";
import { readAddress } from "../../../src/engines/postgres/address.ts";
import { storeError } from "../../../src/engines/postgres/trouble.ts";
import { WorkError } from "../../../src/errors.ts";

const said = (error: Error) => {
  const told = storeError(error, "postgres://h/d");
  if (!(told instanceof WorkError)) throw new Error(`no error of ours: ${error.message}`);
  return { code: told.code, text: `${told.message} ${told.hint}` };
};
const coded = (code: string, more: object = {}) => Object.assign(new Error("why"), { code, ...more });

describe("trouble with a server", () => {
  it.each([
    [
      "it speaks no TLS",
      new Error("The server does not support SSL connections"),
      /over TLS .* leave sslmode out/,
    ],
    ["its certificate is its own", coded("DEPTH_ZERO_SELF_SIGNED_CERT"), /not trusted .* \?sslrootcert=FILE/],
    ["it is another host's certificate", coded("ERR_TLS_CERT_ALTNAME_INVALID"), /not trusted/],
    ["it wants a password", new Error("client password must be a string"), /wants a password .* PGPASSWORD/],
    ["nobody listens", coded("ECONNREFUSED"), /cannot be reached \(why\)\. Check that the server runs/],
    ["its socket is not there", coded("ENOENT", { syscall: "connect" }), /cannot be reached/],
  ])("when %s says so, and may be over later", (_what, error, words) => {
    expect(said(error)).toEqual({ code: "store_unavailable", text: expect.stringMatching(words) });
  });

  it("a certificate's file that is not there is the user's mistake, which waiting does not mend", () => {
    const { code, text } = said(coded("ENOENT", { syscall: "open" }));
    expect([code, text]).toEqual(["usage", expect.stringMatching(/file that cannot be read .* sslrootcert/)]);
  });
});

describe("the parameters of a store's URL", () => {
  it.each(["schmea=x", "Schema=x", "pol=3", "prepared=true", "listens=true"])(
    "%s is no silent default",
    (one) => {
      expect(() => readAddress(`postgres://h/d?${one}`)).toThrow(/Is it (schema|pool|prepare|listen)\?/);
    },
  );

  it.each([
    "sslmode=disable",
    "application_name=me",
    "channel_binding=require",
    "connect_timeout=5",
    "pgbouncer=true",
  ])("%s is PostgreSQL's or another's, and is passed on", (one) => {
    expect(readAddress(`postgres://h/d?schema=x&${one}`)).toMatchObject({
      connectionString: `postgres://h/d?${one}`,
      schema: "x",
    });
  });

  it.each(["prefer", "require", "verify-ca"])(
    "sslmode=%s checks the server as pg does, without its warning",
    (mode) => {
      expect(readAddress(`postgres://h/d?sslmode=${mode}`).connectionString).toBe(
        "postgres://h/d?sslmode=verify-full",
      );
      const asLibpq = `postgres://h/d?sslmode=${mode}&uselibpqcompat=true`;
      expect(readAddress(asLibpq).connectionString).toBe(asLibpq);
    },
  );
});

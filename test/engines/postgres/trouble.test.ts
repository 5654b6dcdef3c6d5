/** What is said when PostgreSQL cannot be used: what happened, and what to do, for each way in which it can happen. */
import { userInfo } from "node:os";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readAddress } from "../../../src/engines/postgres/address.ts";
import { storeError } from "../../../src/engines/postgres/trouble.ts";
import { RedriveError } from "../../../src/errors.ts";

const said = (error: Error) => {
  const told = storeError(error, "postgres://h/d");
  if (!(told instanceof RedriveError)) throw new Error(`no error of ours: ${error.message}`);
  return { code: told.code, text: `${told.message} ${told.hint}` };
};
const coded = (code: string, more: object = {}) => Object.assign(new Error("why"), { code, ...more });

describe("errors of a server", () => {
  it.each([
    [
      "it speaks no TLS",
      new Error("The server does not support SSL connections"),
      /over TLS .* remove sslmode/,
    ],
    ["its certificate is its own", coded("DEPTH_ZERO_SELF_SIGNED_CERT"), /not trusted .* \?sslrootcert=FILE/],
    ["it is another host's certificate", coded("ERR_TLS_CERT_ALTNAME_INVALID"), /not trusted/],
    ["nobody listens", coded("ECONNREFUSED"), /cannot be reached \(why\)\. Check that the server is running/],
    ["its socket is not there", coded("ENOENT", { syscall: "connect" }), /cannot be reached/],
  ])("when %s says so, and may be over later", (_what, error, words) => {
    expect(said(error)).toEqual({ code: "store_unavailable", text: expect.stringMatching(words) });
  });

  it.each([
    ["42P01", "store_unavailable", /reports an unexpected error \(why\)/],
    ["HV000", "store_unavailable", /reports an unexpected error/],
    ["XX000", "store_unavailable", /reports an unexpected error/],
    ["0A000", "store_unavailable", /is read-only/],
    ["25006", "store_unavailable", /is read-only/],
    ["40001", "store_busy", /because of another one/],
    ["28P01", "store_denied", /rejects the user .* PGUSER/],
    ["42501", "store_denied", /denies access to this user/],
    ["22P05", "input_invalid", /rejects the values/],
    ["54000", "input_invalid", /rejects the values/],
  ])("SQLSTATE %s is reported as %s", (sqlstate, code, words) => {
    expect(said(coded(sqlstate))).toEqual({ code, text: expect.stringMatching(words) });
  });

  it("a missing password is not waited for", () => {
    const { code, text } = said(new Error("client password must be a string"));
    expect([code, text]).toEqual(["store_denied", expect.stringMatching(/wants a password .* PGPASSWORD/)]);
  });

  it("an error of neither the server nor the network is unchanged", () => {
    const bug = new TypeError("a bug");
    expect(storeError(bug, "postgres://h/d")).toBe(bug);
  });

  it("a missing certificate file is the user's mistake, for which waiting does not help", () => {
    const { code, text } = said(coded("ENOENT", { syscall: "open" }));
    expect([code, text]).toEqual(["usage", expect.stringMatching(/file that cannot be read .* sslrootcert/)]);
  });
});

describe("a store's URL with several hosts", () => {
  it("is one URL for each host, and only a server that accepts writes is used", () => {
    expect(readAddress("postgres://u:a,b@one:5433,two,[::1]:5434/d?schema=x")).toMatchObject({
      connectionStrings: [
        "postgres://u:a,b@one:5433/d",
        "postgres://u:a,b@two/d",
        "postgres://u:a,b@[::1]:5434/d",
      ],
      shown: "postgres://u:***@one:5433,two,[::1]:5434/d?schema=x",
      schema: "x",
      mustWrite: true,
    });
  });

  it.each([
    ["one/d", false],
    ["one/d?target_session_attrs=read-write", true],
    ["one/d?target_session_attrs=primary", true],
    ["one,two/d?target_session_attrs=any", false],
  ])("%s: a read-only server is refused: %s", (rest, mustWrite) => {
    const { connectionStrings, ...address } = readAddress(`postgres://u@${rest}`);
    expect(address.mustWrite).toBe(mustWrite);
    expect(connectionStrings.join()).not.toContain("target_session_attrs");
  });

  it("refuses target_session_attrs that ask for a standby", () => {
    expect(() => readAddress("postgres://u@h/d?target_session_attrs=standby")).toThrow(/"standby"/);
  });
});

describe("the user of a store's URL", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("is the system's if neither the URL nor the environment names one", () => {
    for (const name of ["USER", "PGUSER"]) vi.stubEnv(name, undefined);
    const [url = ""] = readAddress("postgres://h/d").connectionStrings;
    expect(new URL(url).searchParams.get("user")).toBe(userInfo().username);
  });

  it("is left to pg if the environment names one", () => {
    vi.stubEnv("PGUSER", "ana");
    expect(readAddress("postgres://h/d").connectionStrings).toEqual(["postgres://h/d"]);
  });
});

describe("the parameters of a store's URL", () => {
  it.each(["schmea=x", "Schema=x", "pol=3", "prepared=true", "listens=true"])(
    "%s is no silent default",
    (one) => {
      expect(() => readAddress(`postgres://h/d?${one}`)).toThrow(
        /Did you mean (schema|pool|prepare|listen)\?/,
      );
    },
  );

  it.each([
    "sslmode=disable",
    "application_name=me",
    "channel_binding=require",
    "connect_timeout=5",
    "pgbouncer=true",
  ])("%s is PostgreSQL's or another's, and is passed on", (one) => {
    expect(readAddress(`postgres://u@h/d?schema=x&${one}`)).toMatchObject({
      connectionStrings: [`postgres://u@h/d?${one}`],
      schema: "x",
    });
  });

  it.each(["prefer", "require", "verify-ca"])(
    "sslmode=%s checks the server as pg does, without its warning",
    (mode) => {
      expect(readAddress(`postgres://u@h/d?sslmode=${mode}`).connectionStrings).toEqual([
        "postgres://u@h/d?sslmode=verify-full",
      ]);
      const asLibpq = `postgres://u@h/d?sslmode=${mode}&uselibpqcompat=true`;
      expect(readAddress(asLibpq).connectionStrings).toEqual([asLibpq]);
    },
  );
});

/** Servers that are not PostgreSQL, or one that cannot be used. Each listens on the loopback address until `close`. */
import { createServer } from "node:net";

/** Fault names, each with what the server does to a connection. */
const CONNECTIONS = {
  garbage: (socket) =>
    socket.on("data", () =>
      socket.write(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n<html>\0\xff", "latin1")),
    ),
  "closes at once": (socket) => socket.destroy(),
  "closes after the first message": (socket) => socket.once("data", () => socket.end()),
  "wants a password": (socket) => answer(socket, authentication(5, Buffer.from([1, 2, 3, 4]))),
  "wants an unknown login": (socket) => answer(socket, authentication(99)),
  "wants TLS": (socket) =>
    answer(socket, failure("28000", 'no pg_hba.conf entry for host "127.0.0.1", no encryption')),
  "no such user": (socket) => answer(socket, failure("28P01", 'password authentication failed for user "x"')),
  "no such database": (socket) => answer(socket, failure("3D000", 'database "x" does not exist')),
  "too many connections": (socket) => answer(socket, failure("53300", "sorry, too many clients already")),
  "starting up": (socket) => answer(socket, failure("57P03", "the database system is starting up")),
  "an unknown error": (socket) => answer(socket, failure("HV000", "something")),
  "an error without fields": (socket) => answer(socket, message("E", Buffer.from([0]))),
  "fails at every query": (socket) =>
    afterLogin(socket, () => Buffer.concat([failure("XX000", "internal"), READY])),
  "answers with nothing": (socket) =>
    afterLogin(socket, () => Buffer.concat([message("I", Buffer.alloc(0)), READY])),
  "closes at the first query": (socket) => afterLogin(socket, () => null),
  "garbage after the login": (socket) =>
    afterLogin(socket, () => Buffer.from("\x00\x01\x02\x03garbage", "latin1")),
  hangs: () => undefined,
};

/** A command waits for its full timeout on these silent servers. */
export const SLOW_SERVERS = new Set(["hangs", "garbage after the login", "answers with nothing"]);

/** Starts every server; `urls` has the address of each, and one on which nothing listens. */
export async function startServers(isWanted = () => true) {
  const sockets = new Set();
  const servers = [];
  const urls = new Map([
    ["refused", "postgres://fuzz@127.0.0.1:1/fuzz"],
    ["unreadable address", "postgres://[::/x"],
    ["unknown host", "postgres://fuzz@nowhere.invalid/fuzz"],
  ]);
  for (const [name, connect] of Object.entries(CONNECTIONS)) {
    if (!isWanted(name)) continue;
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined); // the client has disconnected
      socket.on("close", () => sockets.delete(socket));
      connect(socket);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    servers.push(server);
    urls.set(name, `postgres://fuzz:secret@127.0.0.1:${server.address().port}/fuzz`);
  }
  return {
    urls,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

function message(kind, body) {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(kind), length, body]);
}

const READY = message("Z", Buffer.from("I"));

function authentication(kind, more = Buffer.alloc(0)) {
  const body = Buffer.alloc(4);
  body.writeInt32BE(kind);
  return message("R", Buffer.concat([body, more]));
}

function failure(code, text) {
  const fields = [`SERROR`, `VERROR`, `C${code}`, `M${text}`].map((field) => `${field}\0`).join("");
  return message("E", Buffer.from(`${fields}\0`));
}

/** Answers the first message (and refuses TLS if requested), then closes the connection. */
function answer(socket, bytes) {
  socket.on("data", (data) => {
    if (isTlsRequest(data)) socket.write("N");
    else socket.end(bytes);
  });
}

/** Accepts every login; `reply` is the answer to all later messages, null closes the connection. */
function afterLogin(socket, reply) {
  let isIn = false;
  socket.on("data", (data) => {
    if (isTlsRequest(data)) return socket.write("N");
    if (!isIn) {
      isIn = true;
      return socket.write(Buffer.concat([authentication(0), READY]));
    }
    const bytes = reply();
    if (bytes === null) socket.destroy();
    else socket.write(bytes);
  });
}

function isTlsRequest(data) {
  return data.length >= 8 && data.readInt32BE(4) === 80_877_103;
}

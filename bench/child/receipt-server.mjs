/** A service that accepts every receipt at once, in its own process. Prints its address and ends with its parent. */
import { createServer } from "node:http";

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}'));
});
server.listen(0, "127.0.0.1", () =>
  process.stdout.write(`http://127.0.0.1:${server.address().port}/complete\n`),
);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));

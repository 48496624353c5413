// One session of the official TypeScript SDK with a server that it starts, told as JSON.
//
// The only argument is JSON: {folder, sdk: 1 | 2, mode, command, args, env, steps}. A step is
// [method, ...arguments] of a client; its outcome is what the SDK returned, or what it threw.
import { createRequire } from "node:module";

const asked = JSON.parse(process.argv[2]);
const require = createRequire(asked.folder + "/");
const of = { 1: ["sdk/client/index.js", "sdk/client/stdio.js"], 2: ["client", "client/stdio"] };
const [main, stdio] = of[asked.sdk].map((name) => require(`@modelcontextprotocol/${name}`));

const settings = asked.mode ? { versionNegotiation: { mode: asked.mode } } : {};
const client = new main.Client({ name: "test", version: "1" }, settings);
const { command, args, env } = asked;
await client.connect(new stdio.StdioClientTransport({ command, args, env, stderr: "pipe" }));
await client.listTools(); // from here on the SDK checks every answer against its schema

const told = [];
for (const [method, ...given] of asked.steps) {
  try {
    told.push({ answer: await client[method](...given) });
  } catch (error) {
    told.push({ thrown: { code: error.code, message: error.message } });
  }
}
const version = client.getNegotiatedProtocolVersion?.() ?? null;
console.log(JSON.stringify({ version, told }));
await client.close();

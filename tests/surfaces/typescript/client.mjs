// One session of the official TypeScript SDK with a server that it starts, told as JSON.
//
// The only argument is JSON: {folder, sdk: 1 | 2, mode, command, args, env, steps, form}. A step is
// [method, ...arguments] of a client; its outcome is what the SDK returned, or what it threw. With
// a form the client can ask its user, who fills it in like that.
import { createRequire } from "node:module";

const asked = JSON.parse(process.argv[2]);
const require = createRequire(asked.folder + "/");
const of = { 1: ["sdk/client/index.js", "sdk/client/stdio.js"], 2: ["client", "client/stdio"] };
const [main, stdio] = of[asked.sdk].map((name) => require(`@modelcontextprotocol/${name}`));

const settings = asked.mode ? { versionNegotiation: { mode: asked.mode } } : {};
if (asked.form) settings.capabilities = { elicitation: { form: {} } };
const client = new main.Client({ name: "test", version: "1" }, settings);
const questions = [];
if (asked.form) {
  const asking =
    asked.sdk === 1
      ? require("@modelcontextprotocol/sdk/types.js").ElicitRequestSchema
      : "elicitation/create";
  client.setRequestHandler(asking, async (request) => {
    questions.push(request.params);
    return { action: "accept", content: asked.form };
  });
}
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
console.log(JSON.stringify({ version, told, questions }));
await client.close();

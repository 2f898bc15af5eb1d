// An agent on the official TypeScript SDK (v2): it sends the updates that a prompt orders by the SDK's public call.
import { Readable, Writable } from "node:stream";
import { SESSION, TEXT, acp, usage } from "./typescript.mjs";

const { agent: calls, client: callbacks } = acp.methods;
const TOOL_CALLS = 100;
const number = (value) => String(value).padStart(6, "0");

function toolPatch() {
  return {
    title: "Search the sources for callers of the decoder",
    kind: "search",
    status: "in_progress",
    content: [{ type: "content", content: { type: "text", text: `${TEXT} `.repeat(14) } }],
    locations: [1, 2, 3].map((i) => ({ path: `/home/me/project/src/decoder_${i}.py`, line: 10 * i })),
    rawInput: { pattern: "decode\\(", path: "/home/me/project/src", case: true, limit: 100 },
  };
}

async function obey(order, send) {
  const [kind, count, perMessage] = order.split(" ");
  for (let i = 0; i < Number(count); i++) {
    if (kind === "chunk") {
      const messageId = `message-${number(Math.floor(i / Number(perMessage)))}`;
      await send({ sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text: TEXT } });
    } else {
      await send({ sessionUpdate: "tool_call_update", toolCallId: `call-${number(i % TOOL_CALLS)}`, ...toolPatch() });
    }
  }
}

let prompts = 0;

async function prompt({ params, client }) {
  const { sessionId, prompt: content } = params;
  const messageId = `user-${++prompts}`;
  const send = (update) => client.notify(callbacks.session.update, { sessionId, update });
  await send({ sessionUpdate: "user_message", messageId, content });
  await send({ sessionUpdate: "state_update", state: "running" });
  obey(content[0].text, send).then(() => send({ sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" }));
  return { messageId };
}

const app = acp
  .agent({ name: "bench" })
  .onRequest(calls.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    info: { name: "bench", version: "1" },
    capabilities: { session: {} },
  }))
  .onRequest(calls.session.new, () => ({ sessionId: SESSION, configOptions: [] }))
  .onRequest(calls.session.list, () => ({ sessions: [{ sessionId: SESSION, cwd: "/tmp" }] }))
  .onRequest(calls.session.prompt, prompt)
  .onRequest("*", ({ method, params }) => (method === "_bench/usage" ? usage() : params));

await app.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin))).closed;

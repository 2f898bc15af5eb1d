// A client on the official TypeScript SDK (v2), counting in its public update handler.
//
//   typescript_client.mjs decode FILE COUNT WARM_UP
//   typescript_client.mjs stream ORDER WARM_UP -- COMMAND
//   typescript_client.mjs requests echo|list FLIGHT COUNT -- COMMAND
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { SESSION, TEXT, acp, cpu, usage } from "./typescript.mjs";

const { agent: calls, client: callbacks } = acp.methods;
const seconds = () => performance.now() / 1000;
const COUNTED = new Set(["agent_message_chunk", "tool_call_update"]);

let count = 0;
let wanted = -1;
let reached = () => {};
const app = acp.client({ name: "bench" }).onNotification(callbacks.session.update, ({ params }) => {
  if (COUNTED.has(params.update.sessionUpdate) && ++count === wanted) reached();
});

function waitFor(more) {
  wanted = count + more;
  return new Promise((resolve) => (reached = resolve));
}

async function open(ctx) {
  const info = { name: "bench", version: "1" };
  await ctx.request(calls.initialize, { protocolVersion: acp.PROTOCOL_VERSION, info, capabilities: {} });
  return ctx.request(calls.session.new, { cwd: "/tmp", mcpServers: [] });
}

// A recorded wire as a pipe would bring it, cut at line ends, each block with the number of its lines.
function blocks(path, size = 65536) {
  const found = [];
  const wire = readFileSync(path);
  for (let start = 0, at = 0, lines = 0; at < wire.length; ) {
    const end = wire.indexOf(10, at) + 1;
    lines += 1;
    const next = wire.indexOf(10, end) + 1;
    if (!next || next - start > size) {
      found.push([new Uint8Array(wire.subarray(start, end)), lines]);
      start = end;
      lines = 0;
    }
    at = end;
  }
  return found;
}

function memory() {
  let feed;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const answers = {
    initialize: { protocolVersion: 2, info: { name: "bench", version: "1" }, capabilities: { session: {} } },
    "session/new": { sessionId: SESSION },
  };
  const input = new ReadableStream({ start: (controller) => void (feed = (bytes) => controller.enqueue(bytes)) });
  const output = new WritableStream({
    write(bytes) {
      const { id, method } = JSON.parse(decoder.decode(bytes));
      feed(encoder.encode(`${JSON.stringify({ jsonrpc: "2.0", id, result: answers[method] })}\n`));
    },
  });
  return { stream: acp.ndJsonStream(output, input), feed: (bytes) => feed(bytes) };
}

async function decode(path, total, warmUp) {
  const { stream, feed } = memory();
  await app.connectWith(stream, async (ctx) => {
    await open(ctx);
    let seen = 0;
    let before = null;
    let clock = 0;
    for (const [block, size] of blocks(path)) {
      if (before === null && seen >= warmUp) [seen, before, clock] = [0, cpu(), seconds()];
      const done = waitFor(size);
      feed(block);
      await done;
      seen += size;
    }
    const per = total / seen;
    console.log(JSON.stringify({ wall: (seconds() - clock) * per, cpu: (cpu() - before) * per }));
    process.exit(0);
  });
}

async function take(ctx, sessionId, order) {
  const done = waitFor(Number(order.split(" ")[1]));
  await ctx.request(calls.session.prompt, { sessionId, prompt: [{ type: "text", text: order }] });
  await done;
}

async function ask(ctx, method, flight, total) {
  const worker = async () => {
    for (let i = 0; i < Math.floor(total / flight); i++) {
      await (method === "echo" ? ctx.request("_bench/echo", { text: TEXT }) : ctx.request(calls.session.list, {}));
    }
  };
  await Promise.all(Array.from({ length: flight }, worker));
}

async function measure(ctx, work) {
  const theirs = await ctx.request("_bench/usage", {});
  const [clock, before] = [seconds(), cpu()];
  await work();
  const [wall, mine] = [seconds() - clock, usage()];
  const after = await ctx.request("_bench/usage", {});
  const [agentCpu, agentPeak] = [after.cpu - theirs.cpu, after.peak];
  console.log(JSON.stringify({ wall, cpu: mine.cpu - before, peak: mine.peak, agent_cpu: agentCpu, agent_peak: agentPeak }));
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === "decode") await decode(rest[0], Number(rest[1]), Number(rest[2]));
const split = rest.indexOf("--");
const options = rest.slice(0, split);
const child = spawn(rest[split + 1], rest.slice(split + 2), { stdio: ["pipe", "pipe", "inherit"] });
await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (ctx) => {
  const { sessionId } = await open(ctx);
  if (mode === "stream") {
    await take(ctx, sessionId, options[1]);
    await measure(ctx, () => take(ctx, sessionId, options[0]));
  } else {
    const [method, flight, total] = [options[0], Number(options[1]), Number(options[2])];
    await ask(ctx, method, flight, total / 10);
    await measure(ctx, () => ask(ctx, method, flight, total));
  }
});
child.kill();
process.exit(0);

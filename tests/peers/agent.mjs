// An ACP v2 agent on the official TypeScript SDK, over stdio. The first word of a prompt names the scenario:
//
//   chunks N [SIZE]          N message chunks of SIZE characters (10 of 32)
//   tool                     a tool call from pending to completed, with content, locations and metadata patches
//   permission [tool|command]  requires_action, a permission request, and a message with the outcome
//   flood                    chunks without end, until session/cancel
//   wait                     "waiting", then nothing until session/cancel
//   hold                     not inserted until $/cancel_request or session/cancel, which answer -32800
//   ext                      `_peer/tell` (notification) and `_peer/ask` (request) to the client, and its answer
//   meta                     metadata patches on one message, and the message replaced
//   plan | terminal | elicit | unknown   what the names say
//   error                    idle with stop reason `error`
//   reject                   the prompt itself is answered with -32602
//   anything else            "echo: ", the text, "."
//
// Requests that it answers besides ACP's: `_peer/echo` -> {echoed}, `_peer/notes` -> the params of all `_peer/note`.
import { Readable, Writable } from "node:stream";
import { setImmediate as nextTick } from "node:timers/promises";
import * as acp from "@agentclientprotocol/sdk/experimental/v2";

const { agent: calls, client: callbacks } = acp.methods;

const CAPABILITIES = {
  session: { prompt: { image: {}, embeddedContext: {} }, mcp: { stdio: {} }, delete: {}, additionalDirectories: {} },
};
const OPTIONS = [
  { optionId: "yes-once", name: "Allow", kind: "allow_once" },
  { optionId: "yes-ever", name: "Always allow", kind: "allow_always" },
  { optionId: "no-once", name: "Reject", kind: "reject_once" },
];

class Session {
  history = [];
  held = new Set();
  mode = "ask";
  work = null; // the AbortController of the running turn
  constructor(sessionId, cwd) {
    this.sessionId = sessionId;
    this.cwd = cwd;
  }
  get configOptions() {
    const options = [{ value: "ask", name: "Ask" }, { value: "code", name: "Code" }];
    return [{ type: "select", configId: "mode", name: "Mode", category: "mode", currentValue: this.mode, options }];
  }
  cancel() {
    this.work?.abort();
    for (const release of this.held) release();
    this.held.clear();
  }
}

class Turn {
  constructor(session, client, text, ids) {
    Object.assign(this, { session, client, text, messageId: ids.user, answerId: ids.agent });
    this.words = text.split(/\s+/);
    this.signal = (session.work = new AbortController()).signal;
  }
  send(update, { keep = true } = {}) {
    if (keep) this.session.history.push(update);
    return this.client.notify(callbacks.session.update, { sessionId: this.session.sessionId, update });
  }
  say(text) {
    return this.send({ sessionUpdate: "agent_message_chunk", messageId: this.answerId, content: { type: "text", text } });
  }
  state(state, more = {}) {
    return this.send({ sessionUpdate: "state_update", state, ...more }, { keep: false });
  }
  tool(toolCallId, patch) {
    return this.send({ sessionUpdate: "tool_call_update", toolCallId, ...patch });
  }
  cancelled() {
    return new Promise((resolve) => {
      if (this.signal.aborted) resolve();
      else this.signal.addEventListener("abort", resolve, { once: true });
    });
  }
}

const SCENARIOS = {
  async chunks(turn) {
    const [, count = 10, size = 32] = turn.words;
    const text = "x".repeat(Number(size));
    for (let i = 0; i < Number(count) && !turn.signal.aborted; i++) await turn.say(text);
  },
  async flood(turn) {
    while (!turn.signal.aborted) {
      await turn.say("drip ");
      await nextTick();
    }
  },
  async tool(turn) {
    const where = `${turn.session.cwd}/notes.txt`;
    await turn.tool("read-1", {
      title: "Read notes", name: "read_file", kind: "read", status: "pending",
      rawInput: { path: where }, locations: [{ path: where, line: 3 }], _meta: { "peer/a": 1, "peer/b": { deep: null } },
    });
    await turn.tool("read-1", { status: "in_progress", _meta: { "peer/a": null, "peer/c": [1, 2] } });
    await turn.send({
      sessionUpdate: "tool_call_content_chunk", toolCallId: "read-1",
      content: { type: "content", content: { type: "text", text: "3 notes" } },
    });
    await turn.tool("read-1", { status: "completed", locations: null, rawOutput: { lines: 3 } });
  },
  async permission(turn) {
    const command = turn.words[1] === "command";
    const subject = command
      ? { type: "command", command: "ls -l", cwd: turn.session.cwd }
      : { type: "tool_call", toolCall: { toolCallId: "ask-1", title: "Edit notes", kind: "edit", status: "pending", _meta: { "peer/p": 1 } } };
    await turn.state("requires_action");
    const request = { sessionId: turn.session.sessionId, title: command ? "Run ls?" : "Edit notes?", subject, options: OPTIONS };
    const { outcome } = await turn.client.request(callbacks.session.requestPermission, request, {
      cancellationSignal: turn.signal, stopWaitingOnCancel: true,
    });
    await turn.state("running");
    if (!command) await turn.tool("ask-1", { status: outcome.optionId?.startsWith("yes") ? "completed" : "failed" });
    await turn.say(`outcome ${outcome.outcome} ${outcome.optionId ?? "-"}`);
  },
  async wait(turn) {
    await turn.say("waiting");
    await turn.cancelled();
  },
  async ext(turn) {
    await turn.client.notify("_peer/tell", { hello: "client", nothing: null });
    const answer = await turn.client.request("_peer/ask", { question: 42 });
    await turn.say(`answer ${JSON.stringify(answer)}`);
  },
  async meta(turn) {
    const message = (more) => turn.send({ sessionUpdate: "agent_message", messageId: turn.answerId, ...more });
    await message({ content: [{ type: "text", text: "draft" }], _meta: { "peer/a": 1, "peer/b": 2 } });
    await message({ _meta: { "peer/a": null, "peer/c": { deep: null } } });
    await message({ _meta: {} });
    await message({ content: [{ type: "text", text: "final" }] });
  },
  async plan(turn) {
    const entry = (content, status) => ({ content, status, priority: "medium" });
    const plan = (entries) => turn.send({ sessionUpdate: "plan_update", plan: { type: "items", planId: "plan-1", entries } });
    await plan([entry("look", "in_progress"), entry("leap", "pending")]);
    await plan([entry("look", "completed"), entry("leap", "completed")]);
  },
  async terminal(turn) {
    const data = (bytes) => ({ sessionUpdate: "terminal_output_chunk", terminalId: "term-1", data: bytes.toString("base64") });
    const euro = Buffer.from("1 €\n");
    await turn.send({ sessionUpdate: "terminal_update", terminalId: "term-1", command: "price", cwd: turn.session.cwd });
    await turn.send(data(euro.subarray(0, 3))); // splits a character
    await turn.send(data(euro.subarray(3)));
    await turn.send({ sessionUpdate: "terminal_update", terminalId: "term-1", exitStatus: { exitCode: 0 } });
  },
  async elicit(turn) {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const form = { mode: "form", sessionId: turn.session.sessionId, message: "Your name?", requestedSchema };
    const answer = await turn.client.request(callbacks.elicitation.create, form);
    await turn.say(`${answer.action} ${JSON.stringify(answer.content ?? null)}`);
  },
  async unknown(turn) {
    await turn.send({ sessionUpdate: "_peer.example/thing", payload: { kept: [1, null] } });
    await turn.send({ sessionUpdate: "agent_message_chunk", messageId: turn.answerId, content: { type: "_peer.example/hologram", depth: 3 } });
  },
  async error() {
    throw new acp.RequestError(-32603, "the scenario failed", { scenario: "error" });
  },
  async echo(turn) {
    for (const part of ["echo: ", turn.text, "."]) await turn.say(part);
  },
};

async function play(turn) {
  let stop = { stopReason: "end_turn" };
  try {
    await turn.state("running");
    const name = Object.hasOwn(SCENARIOS, turn.words[0]) ? turn.words[0] : "echo";
    await SCENARIOS[name](turn);
  } catch (error) {
    stop = { stopReason: "error", error: { code: error.code ?? -32603, message: error.message, data: error.data } };
  }
  if (turn.signal.aborted) stop = { stopReason: "cancelled" };
  turn.session.work = null;
  await turn.state("idle", stop);
}

function build() {
  const sessions = new Map();
  const notes = [];
  let count = 0;
  const find = ({ sessionId }) => {
    const session = sessions.get(sessionId);
    if (!session) throw acp.RequestError.sessionNotFound(sessionId);
    return session;
  };
  const forget = ({ params }) => {
    sessions.get(params.sessionId)?.cancel();
    sessions.delete(params.sessionId);
    return {};
  };

  return acp
    .agent({ name: "acpwire-typescript-agent" })
    .onRequest(calls.initialize, () => ({
      protocolVersion: acp.PROTOCOL_VERSION,
      info: { name: "acpwire-typescript-agent", version: "1.0.0" },
      capabilities: CAPABILITIES,
    }))
    .onRequest(calls.session.new, ({ params }) => {
      const session = new Session(`session-${++count}`, params.cwd);
      sessions.set(session.sessionId, session);
      return { sessionId: session.sessionId, configOptions: session.configOptions };
    })
    .onRequest(calls.session.list, () => ({ sessions: [...sessions.values()].map(({ sessionId, cwd }) => ({ sessionId, cwd })) }))
    .onRequest(calls.session.resume, async ({ params, client }) => {
      const { sessionId, history, configOptions, work } = find(params);
      const send = (update) => client.notify(callbacks.session.update, { sessionId, update });
      if (params.replayFrom?.type === "start") for (const update of history) await send(update);
      await send({ sessionUpdate: "state_update", state: work ? "running" : "idle" });
      return { configOptions };
    })
    .onRequest(calls.session.close, ({ params }) => {
      sessions.get(params.sessionId)?.cancel();
      return {};
    })
    .onRequest(calls.session.delete, forget)
    .onRequest(calls.session.setConfigOption, ({ params }) => {
      const session = find(params);
      if (params.configId !== "mode") throw acp.RequestError.invalidParams({ configId: params.configId });
      session.mode = params.value;
      return { configOptions: session.configOptions };
    })
    .onNotification(calls.session.cancel, ({ params }) => sessions.get(params.sessionId)?.cancel())
    .onRequest(calls.session.prompt, async ({ params, client, signal, requestId }) => {
      const session = find(params);
      const text = params.prompt.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("");
      if (text.startsWith("reject")) throw acp.RequestError.invalidParams({ reason: "the scenario rejects" });
      if (text.startsWith("hold")) {
        await new Promise((release) => {
          session.held.add(release);
          signal.addEventListener("abort", release, { once: true });
        });
        throw acp.RequestError.requestCancelled({ requestId });
      }
      const turn = new Turn(session, client, text, { user: `user-${++count}`, agent: `agent-${count}` });
      await turn.send({ sessionUpdate: "user_message", messageId: turn.messageId, content: params.prompt });
      play(turn).catch((error) => console.error("turn failed:", error));
      return { messageId: turn.messageId };
    })
    .onRequest("*", ({ method, params }) => {
      if (method === "_peer/echo") return { echoed: params ?? null };
      if (method === "_peer/notes") return { notes };
      throw acp.RequestError.methodNotFound(method);
    })
    .onNotification("*", ({ method, params }) => {
      if (method === "_peer/note") notes.push(params ?? null);
    });
}

await build().connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin))).closed;

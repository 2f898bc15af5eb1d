// An ACP v2 client on the official TypeScript SDK: `node client.mjs [OPTIONS] -- COMMAND...` starts the command as
// its agent, prompts it, and prints one JSON object a line, `{"event": NAME, ...}`:
//
//   initialized session update permission withdrawn elicitation ext_request ext_notification ext_response
//   prompt_response prompt_error stop sessions resumed closed deleted failed exited done
//
// `update` holds what the SDK made of the update, so what it could not read is missing (and named on stderr).
// `stop` is the SDK's own verdict that the turn is over; `exited` tells how the command ended after its input did.
//
//   --prompt TEXT        one turn; may be given several times ("hello")
//   --cwd DIR            the session's directory (the current one)
//   --permission KIND    picks the first option of that kind (allow_once); `cancelled` answers so, and `interrupt`
//                        sends session/cancel and answers only when the agent withdraws its request
//   --cancel-after N     session/cancel after the Nth update of the first turn
//   --withdraw           $/cancel_request for each prompt right behind it
//   --ext METHOD         a request of that name, with {"x": 1, "none": null}, before the prompts
//   --note METHOD        a notification of that name, likewise, before the request
//   --list --resume --close --delete   at the end, in this order; --resume asks for a replay from the start
//   --grace MS           how long the command may take to end (5000)
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";
import * as acp from "@agentclientprotocol/sdk/experimental/v2";

const { agent: calls, client: callbacks } = acp.methods;
const PARAMS = { x: 1, none: null };

const text = (value) => ({ type: "string", ...(value === undefined ? {} : { default: value }) });
const flag = { type: "boolean", default: false };
const { values: options, positionals: command } = parseArgs({
  allowPositionals: true,
  options: {
    prompt: { type: "string", multiple: true, default: ["hello"] },
    cwd: text(process.cwd()), permission: text("allow_once"), grace: text("5000"),
    "cancel-after": text(), ext: text(), note: text(),
    withdraw: flag, list: flag, resume: flag, close: flag, delete: flag,
  },
});
const print = (event, facts = {}) => process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`);
const described = ({ name, code, message, data }) => ({ name, code, message, data });

const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => {
  child.on("error", (error) => resolve({ error: String(error) }));
  child.on("exit", (code, signal) => resolve({ code, signal }));
});

let cancel = () => {};
let cancelAfter = Number(options["cancel-after"] ?? Infinity);

function seeUpdate({ params }) {
  print("update", params);
  if (--cancelAfter === 0) cancel();
}

async function answerPermission({ params, signal }) {
  print("permission", params);
  if (options.permission === "interrupt") {
    const withdrawn = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    cancel();
    await withdrawn;
    print("withdrawn");
  }
  const option = params.options.find(({ kind }) => kind === options.permission);
  return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
}

const startsWork = ({ sessionUpdate, state }) =>
  sessionUpdate.startsWith("user_message") || (sessionUpdate === "state_update" && state !== "idle");

async function takeTurn(session, prompt) {
  const withdrawal = new AbortController();
  const reading = new AbortController();
  const answer = session.prompt(prompt, { cancellationSignal: withdrawal.signal });
  if (options.withdraw) withdrawal.abort();
  const settled = answer.then(
    (response) => print("prompt_response", { response }),
    (error) => {
      print("prompt_error", described(error));
      reading.abort(); // no idle state follows a refused prompt
    },
  );
  try {
    for (let started = false; ; ) {
      const message = await session.nextUpdate(reading.signal);
      if (message.kind === "stop" && started) {
        await settled;
        print("stop", { stopReason: message.stopReason ?? null });
        return;
      }
      started ||= startsWork(message.update); // an idle state before that is the end of something else
    }
  } catch (error) {
    if (!reading.signal.aborted) throw error;
  }
}

async function talk(ctx) {
  const info = { name: "acpwire-typescript-client", version: "1.0.0" };
  const request = { protocolVersion: acp.PROTOCOL_VERSION, info, capabilities: { elicitation: { form: {} } } };
  print("initialized", { response: await ctx.request(calls.initialize, request) });
  const session = await ctx.buildSession(options.cwd).start();
  const { sessionId } = session;
  print("session", { response: session.newSessionResponse });
  cancel = () => ctx.notify(calls.session.cancel, { sessionId });
  if (options.note) await ctx.notify(options.note, PARAMS);
  if (options.ext) print("ext_response", { response: await ctx.request(options.ext, PARAMS) });
  for (const prompt of options.prompt) await takeTurn(session, prompt);
  if (options.list) print("sessions", { response: await ctx.request(calls.session.list, {}) });
  if (options.resume) {
    const resume = { sessionId, cwd: options.cwd, mcpServers: [], replayFrom: { type: "start" } };
    print("resumed", { response: await ctx.request(calls.session.resume, resume) });
  }
  if (options.close) print("closed", { response: await ctx.request(calls.session.close, { sessionId }) });
  if (options.delete) print("deleted", { response: await ctx.request(calls.session.delete, { sessionId }) });
}

const app = acp
  .client({ name: "acpwire-typescript-client" })
  .onNotification(callbacks.session.update, seeUpdate)
  .onRequest(callbacks.session.requestPermission, answerPermission)
  .onRequest(callbacks.elicitation.create, ({ params }) => {
    print("elicitation", params);
    return { action: "accept", content: { name: "Ada" } };
  })
  .onRequest("*", ({ method, params }) => {
    print("ext_request", { method, params });
    if (!method.startsWith("_")) throw acp.RequestError.methodNotFound(method);
    return { answered: params };
  })
  .onNotification("*", ({ method, params }) => print("ext_notification", { method, params }));

let status = 0;
try {
  await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), talk);
} catch (error) {
  print("failed", described(error));
  status = 1;
}
child.stdin.end();
const killer = setTimeout(() => child.kill("SIGKILL"), Number(options.grace));
print("exited", await exited);
clearTimeout(killer);
print("done");
process.exitCode = status;

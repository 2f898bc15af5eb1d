// What the agent and the client on the TypeScript SDK share: the SDK itself, and what this process has used.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.BENCH_NODE_MODULES}/`);
export const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk/experimental/v2")));

export const SESSION = "bench-session";
export const TEXT = "The quick brown fox jumps over !";

export function cpu() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

export function usage() {
  const status = "/proc/self/status";
  const peak = existsSync(status)
    ? Number(/VmHWM:\s+(\d+)/.exec(readFileSync(status, "utf8"))[1]) / 1024
    : process.resourceUsage().maxRSS / 1024;
  return { cpu: cpu(), peak };
}

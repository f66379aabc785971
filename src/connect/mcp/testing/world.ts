import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { agent } from "../../../agent/index.js";
import { type ScriptedReply, scripted } from "../../../agent/model/index.js";
import type { Tool } from "../../../agent/tool/index.js";
import { openRath, type Rath } from "../../../runtime/index.js";
import type { Fact, Session } from "../../../session/index.js";
import { type McpOptions, type McpServer, mcp } from "../index.js";

const open: { close(): Promise<void> }[] = [];

/** A server of ours that does evil. */
export function evil(behaviour: string, options: McpOptions = {}, more: EvilMore = {}): McpServer {
  const program = fileURLToPath(new URL("./evil.mjs", import.meta.url));
  return kept(
    mcp(
      {
        name: "evil",
        command: process.execPath,
        args: [program, behaviour, more.file ?? ""],
        ...(more.env && { env: more.env }),
      },
      { deadline: 1_500, connect: 6_000, frame: 1_000_000, burst: 2_000, ...options },
    ),
  );
}

type EvilMore = { readonly file?: string; readonly env?: { [name: string]: string | (() => string) } };

/** Closed when the test is over. */
export function kept<One extends { close(): Promise<void> }>(one: One): One {
  open.push(one);
  return one;
}

export async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((one) => one.close()));
}

export function memory(): Rath {
  return kept(openRath({ store: "memory:" }));
}

/** An agent that does what the script says with these tools. */
export function using(tools: readonly Tool[], ...script: readonly ScriptedReply[]): ReturnType<typeof agent> {
  return agent({ name: "user", model: scripted(...script), tools });
}

/** The facts of a session, oldest first. */
export function factsOf(session: Session): readonly Fact[] {
  return [...session.history()].map((one) => one.fact);
}

/** The last fact of a type. */
export function lastOf<Type extends Fact["type"]>(
  session: Session,
  type: Type,
): Extract<Fact, { readonly type: Type }> {
  const found = factsOf(session).findLast((fact) => fact.type === type);
  if (found === undefined) throw new Error(`there is no ${type}`);
  return found as Extract<Fact, { readonly type: Type }>;
}

/** Whether a process is there and not over. */
export function lives(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}

import { writeSync } from "node:fs";
import { type BaseCheckpointSaver, Command } from "@langchain/langgraph";
import { rathSaver } from "../index.js";
import { newWorld, program, question } from "./program.js";

const config = { configurable: { thread_id: "t" } };

/** Brings the program to its end, from wherever it is. */
export async function drive(
  saver: BaseCheckpointSaver,
): Promise<{ answers: string[]; parts: number[]; said: string[] }> {
  const graph = program(saver, newWorld());
  for (let turn = 0; turn < 20; turn++) {
    const { values, next, tasks } = await graph.getState(config);
    if (values.messages === undefined) await graph.invoke(question(), config);
    // A task that is done and not counted yet is no more "next", but it is not the end.
    else if (next.length === 0 && tasks.length === 0)
      return {
        answers: values.answers,
        parts: values.parts,
        said: values.messages.map(({ text }: { text: string }) => text),
      };
    else if (tasks.some(({ interrupts }) => interrupts.length > 0))
      await graph.invoke(new Command({ resume: "go" }), config);
    else await graph.invoke(null, config);
  }
  throw new Error("it does not come to an end");
}

/** Drives the program, tells what was acknowledged, and ends its own process without a word after so many of those. */
export async function killed(url: string, after: number): Promise<void> {
  const saver = await rathSaver(url);
  const { put, putWrites } = saver;
  let count = 0;
  const told = (line: string): void => {
    writeSync(1, `${line}\n`);
    if (++count === after) process.kill(process.pid, "SIGKILL");
  };
  saver.put = async (...args) => {
    const at = await put.apply(saver, args);
    told(JSON.stringify({ namespace: at.configurable?.checkpoint_ns, id: at.configurable?.checkpoint_id }));
    return at;
  };
  saver.putWrites = async (...args) => {
    await putWrites.apply(saver, args);
    told(
      JSON.stringify({
        namespace: args[0].configurable?.checkpoint_ns,
        id: args[0].configurable?.checkpoint_id,
        task: args[2],
      }),
    );
  };
  writeSync(1, `${JSON.stringify({ done: await drive(saver) })}\n`);
  await saver.close();
}

/** Talks in a thread at the same time as others do. */
export async function talk(url: string, name: string, turns: number): Promise<void> {
  const saver = await rathSaver(url);
  const at = { configurable: { thread_id: "shared", checkpoint_ns: "" } };
  for (let turn = 0; turn < turns; turn++) {
    const newest = await saver.getTuple(at);
    const values = {
      log: [...((newest?.checkpoint.channel_values.log as string[] | undefined) ?? []), `${name}-${turn}`],
    };
    const version = Number(newest?.checkpoint.channel_versions.log ?? 0) + 1;
    const id = `${String(Date.now()).padStart(16, "0")}-${String(turn).padStart(4, "0")}-${name}`;
    const config = { configurable: { ...at.configurable, checkpoint_id: newest?.checkpoint.id } };
    const versions = { log: version };
    const kept = await saver.put(
      config,
      { v: 4, id, ts: "", channel_values: values, channel_versions: versions, versions_seen: {} },
      { source: "loop", step: turn, parents: {} },
      versions,
    );
    await saver.putWrites(kept, [["by", name]], `${name}-${turn}`);
    writeSync(1, `${JSON.stringify({ id, parent: newest?.checkpoint.id ?? null, log: values.log })}\n`);
  }
  await saver.close();
}

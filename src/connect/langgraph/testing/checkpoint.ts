import { type BaseCheckpointSaver, type Checkpoint, uuid6 } from "@langchain/langgraph-checkpoint";

type Config = Parameters<BaseCheckpointSaver["getTuple"]>[0];

let step = 0;

export function empty(): Checkpoint {
  return {
    v: 4,
    id: uuid6(step++),
    ts: new Date(0).toISOString(),
    channel_values: {},
    channel_versions: {},
    versions_seen: {},
  };
}

/** Puts a checkpoint with these values after another one. */
export function putAt(
  saver: BaseCheckpointSaver,
  thread: string,
  parent: Config | undefined,
  values: { readonly [channel: string]: unknown },
  id: string = uuid6(step++),
): Promise<Config> {
  const config = {
    configurable: {
      thread_id: thread,
      checkpoint_ns: "",
      checkpoint_id: parent?.configurable?.checkpoint_id,
    },
  };
  const versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, ++step]));
  const checkpoint: Checkpoint = {
    ...empty(),
    id,
    channel_values: { ...values },
    channel_versions: versions,
  };
  return saver.put(config, checkpoint, { source: "loop", step, parents: {} }, versions);
}

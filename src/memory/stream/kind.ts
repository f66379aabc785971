import type { Json } from "../../session/index.js";
import type { Memory } from "../state.js";
import { field } from "./access.js";

/** What a memory is to a stream: something that was observed, or a thought about what was. */
export type StreamKind = "observation" | "reflection";

/** What a stream says of a memory, in its `meta`. */
type StreamMeta = {
  readonly kind: StreamKind;
  /** 0 for what was observed; of a thought one more than the deepest that it rests on. */
  readonly depth: number;
  /** The time of its writing as a step, where the stream counts in steps. */
  readonly step?: number;
  readonly question?: string;
  /** The newest memory that there was when somebody thought: what came after it was not thought about yet. */
  readonly until?: string;
};

/** Any memory of a space is a part of its stream: what does not say otherwise was observed. */
export function streamMetaOf({ meta }: Pick<Memory, "meta">): StreamMeta {
  const said = field(meta, "stream");
  const [kind, depth, step, until] = ["kind", "depth", "step", "until"].map((name) => field(said, name));
  return {
    kind: kind === "reflection" ? "reflection" : "observation",
    depth: typeof depth === "number" && depth > 0 ? depth : 0,
    ...(typeof step === "number" && { step }),
    ...(typeof until === "string" && { until }),
  };
}

/** The `meta` of a memory with what a stream says of it beside what is there. */
export function withStreamMeta(meta: Json | undefined, stream: StreamMeta): Json {
  const others =
    typeof meta === "object" && meta !== null && !Array.isArray(meta)
      ? meta
      : meta === undefined
        ? {}
        : { given: meta };
  return { ...others, stream: stream as Json };
}

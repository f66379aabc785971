import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import {
  Annotation,
  type BaseCheckpointSaver,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  answers: Annotation<string[]>({ reducer: (state, more) => [...state, ...more], default: () => [] }),
  parts: Annotation<number[]>({
    reducer: (state, more) => [...state, ...more].sort((a, b) => a - b),
    default: () => [],
  }),
  part: Annotation<number>(),
});

/** How often each node ran, and which of them fail once. */
export type World = { readonly runs: Map<string, number>; readonly broken: Set<string> };

export function newWorld(...broken: readonly string[]): World {
  return { runs: new Map(), broken: new Set(broken) };
}

/**
 * A model that calls a tool, a subgraph that asks a person twice, tasks side by side, one of which may fail, and an end
 * that is chosen by a command: what a real program of LangGraph is made of, with a script for a model.
 */
export function program(checkpointer: BaseCheckpointSaver, world: World) {
  const ran = (node: string) => {
    world.runs.set(node, (world.runs.get(node) ?? 0) + 1);
    if (world.broken.delete(node)) throw new Error(`${node} fails once`);
  };
  const review = new StateGraph(State)
    .addNode("first", () => {
      ran("first");
      return { answers: [interrupt<string, string>("first?")] };
    })
    .addNode("second", () => {
      ran("second");
      const one = interrupt<string, string>("second?");
      const other = interrupt<string, string>("third?");
      return { answers: [one, other] };
    })
    .addEdge(START, "first")
    .addEdge("first", "second")
    .addEdge("second", END)
    .compile();
  return new StateGraph(State)
    .addNode("model", () => {
      ran("model");
      return {
        messages: [
          new AIMessage({
            id: "call",
            content: "I look it up.",
            tool_calls: [{ id: "c1", name: "look_up", args: { item: "pencil" } }],
            usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
            response_metadata: { model_name: "scripted" },
          } as never),
        ],
      };
    })
    .addNode("tool", () => {
      ran("tool");
      return {
        messages: [
          new ToolMessage({
            id: "result",
            tool_call_id: "c1",
            name: "look_up",
            content: "twelve pencils, in three boxes, on the left",
          }),
        ],
      };
    })
    .addNode("review", review)
    .addNode("work", ({ part }) => {
      ran(`part-${part}`);
      return { parts: [part] };
    })
    .addNode(
      "end",
      ({ parts }) => {
        ran("end");
        return new Command({
          update: { messages: [new AIMessage({ id: "end", content: `Done: ${parts.join(", ")}.` })] },
          goto: END,
        });
      },
      { ends: [END] },
    )
    .addEdge(START, "model")
    .addEdge("model", "tool")
    .addEdge("tool", "review")
    .addConditionalEdges("review", () => [1, 2, 3].map((part) => new Send("work", { part })), ["work"])
    .addEdge("work", "end")
    .compile({ checkpointer });
}

export function question(): { messages: HumanMessage[] } {
  return {
    messages: [new HumanMessage({ id: "question", content: "How many pencils are left in the store room?" })],
  };
}

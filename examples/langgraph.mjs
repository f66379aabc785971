// A LangGraph program whose checkpoints are a session: forks that keep apart, a record that can be read and checked.
// Run it with `npm run example -- langgraph`. No model is asked: a node with a script answers.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { rathSaver } from "openrath/interop/langgraph";

const path = "langgraph-example.db";
for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });

// The one line that changes: `new MemorySaver()` was here.
const checkpointer = await rathSaver(`sqlite:./${path}`);
const graph = new StateGraph(MessagesAnnotation)
  .addNode("clerk", ({ messages }) => ({ messages: [new AIMessage(`You said: ${messages.at(-1).text}`)] }))
  .addEdge(START, "clerk")
  .addEdge("clerk", END)
  .compile({ checkpointer });

const thread = { configurable: { thread_id: "order-7" } };
const texts = ({ values }) => values.messages.map(({ text }) => text);

await graph.invoke({ messages: [new HumanMessage("Is the blue one in stock?")] }, thread);
const first = (await graph.getState(thread)).config;
await graph.invoke({ messages: [new HumanMessage("Then I take two of them.")] }, thread);
const left = (await graph.getState(thread)).config;

// Back to the first answer, with something else said instead: a branch of the session.
const fork = await graph.updateState(first, { messages: [new HumanMessage("No, the red one.")] }, "clerk");
await graph.invoke({ messages: [new HumanMessage("Three of them, please.")] }, fork);

console.log("one branch:  ", texts(await graph.getState(left)).join(" / "));
console.log("the other:   ", texts(await graph.getState(thread)).join(" / "));
assert.equal(texts(await graph.getState(left)).length, 4);
assert(!texts(await graph.getState(thread)).includes("Then I take two of them."));

const { store } = checkpointer;
console.log(`\nnames in ${path}:`, (await store.names()).map(({ name }) => name).join(", "));
const session = await checkpointer.session("order-7");
for (const { role, content } of session.transcript) console.log(`  ${role}: ${content}`);
assert.equal(session.branch, "fork-1");

// The record is checked byte for byte, and opened again it is the same session.
const { facts, findings } = await store.check();
assert.deepEqual(findings, []);
await checkpointer.close();
const again = await rathSaver(`sqlite:./${path}`);
assert.equal((await again.session("order-7")).id, session.id);
console.log(
  `\n${facts} facts, no findings; read again from the disk: the same id, ${session.id.slice(0, 12)}.`,
);
await again.close();

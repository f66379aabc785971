import type { Content, Json, Part } from "../../../session/index.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import {
  amountIn,
  argumentsOf,
  type Fields,
  fieldsIn,
  fieldsOf,
  isFields,
  isSame,
  listOf,
  objectsIn,
  objectsOf,
  own,
  textIn,
  wordsFor,
} from "../fields.js";
import { beginning, defineImport, type Foreign } from "../foreign.js";
import { OPERATION } from "../otel/conventions.js";
import { MEMORY_NOTE } from "../otel/describe.js";
import { Arrival, contentOf, fileIn, nameOf, partsIn } from "../trajectory/arrival.js";

export const NOTE = "autogen";
const STATE = /"type"\s*:\s*"\w*(TeamState|ManagerState|OrchestratorState|AgentState|ContainerState)"/;
const EVENT = /"type"\s*:\s*"(LLMCall|LLMStreamStart|LLMStreamEnd|ToolCall|Message|MessageDropped)"/;
const LOG = /"(agent_id|delivery_stage|prompt_tokens)"\s*:/;

/** State of AutoGen's AgentChat, and the event log of its core. */
export const autogen: ImportFormat = defineImport({
  name: "autogen",
  title: "AutoGen: save_state() of a team or agent (JSON), or the event log (JSONL): a branch for each agent",
  fits(source: Source) {
    const text = beginning(source);
    if (!/^\s*\{/.test(text)) return false;
    const isState =
      STATE.test(text) && /"(agent_states|llm_context|llm_messages|message_thread)"\s*:/.test(text);
    return isState || (EVENT.test(text) && LOG.test(text));
  },
  read: (foreign) => (isLog(foreign.source) ? readLog(foreign) : readState(foreign)),
});

function isLog(source: Source): boolean {
  const text = beginning(source);
  return EVENT.test(text) && LOG.test(text) && !STATE.test(text);
}

function readState(foreign: Foreign): Imported {
  const state = foreign.object(foreign.json(), "", "a state is an object");
  const trunk = Arrival.start(foreign, {
    name: "state",
    detail: { type: own(state, "type") ?? null, version: own(state, "version") ?? null },
  });
  if (!new Story(trunk, foreign).state(state, "")) foreign.refuse("", "there is no conversation in it");
  return trunk.imported(nameOf(foreign.source.name));
}

/** A state, one inside the other: what a team said is the conversation, what each agent was shown a branch of it. */
class Story {
  readonly #arrival: Arrival;
  readonly #foreign: Foreign;
  readonly #isShown: boolean;
  #isTold = false;

  /** `isShown`: the team has its conversation elsewhere, so a model context repeats calls and results that were told there. */
  constructor(arrival: Arrival, foreign: Foreign, isShown = false) {
    this.#arrival = arrival;
    this.#foreign = foreign;
    this.#isShown = isShown;
  }

  /** Whether anything is said in it. */
  state(state: Fields, where: string): boolean {
    const rest: { [key: string]: Json } = {};
    for (const [key, value] of Object.entries(state)) {
      const place = where === "" ? key : `${where}.${key}`;
      if (key === "message_thread" || key === "message_buffer" || key === "llm_messages")
        this.#thread(value, place);
      else if (key === "llm_context") {
        this.#thread(own(fieldsOf(value), "messages") ?? [], `${place}.messages`);
        const { messages: _, ...others } = fieldsOf(value);
        if (Object.keys(others).length > 0) rest[key] = others;
      } else if (key === "agent_states") this.#agents(value, place);
      else if ((key === "agent_state" || key === "inner_team_state") && isFields(value))
        this.state(value, place);
      else rest[key] = value;
    }
    if (Object.keys(rest).length > 0) this.#arrival.keep(NOTE, { where, rest }, where || "state", rest);
    return this.#isTold;
  }

  #thread(value: Json, where: string): void {
    const teller = new Teller(this.#arrival, this.#isShown && !where.endsWith("message_thread"));
    for (const [index, message] of this.#foreign.objects(value, where).entries()) {
      this.#isTold = true;
      teller.message(message);
      this.#arrival.keep(
        NOTE,
        { where: `${where}[${index}]`, value: message },
        textIn(message, "type") ?? "message",
        message,
      );
    }
    teller.end(this.#foreign);
  }

  /** The manager has the conversation; it comes first, whatever its place is. */
  #agents(value: Json, where: string): void {
    const states = Object.entries(this.#foreign.object(value, where)).map(
      ([id, state]) => [id, this.#foreign.object(state, `${where}.${id}`)] as const,
    );
    const isManager = (state: Fields): boolean => own(state, "message_thread") !== undefined;
    const isLed = states.some(([, state]) => listOf(own(state, "message_thread")).length > 0);
    const from = this.#arrival.session;
    for (const [id, state] of states.filter(([, one]) => isManager(one))) this.state(state, `${where}.${id}`);
    for (const [id, state] of states.filter(([, one]) => !isManager(one))) {
      const side = this.#arrival.fork(from, nameOf(id.split("/")[0] ?? id), "what the agent was shown");
      if (new Story(side, this.#foreign, isLed).state(state, `${where}.${id}`)) this.#isTold = true;
      if (side.session !== from) this.#arrival.take(side, "the state of an agent");
    }
  }
}

/** Tells messages of AgentChat, and messages for models. */
class Teller {
  readonly #arrival: Arrival;
  readonly #open = new Map<string, Part & { type: "tool-call" }>();
  readonly #isShown: boolean;
  #thought: Part | undefined;

  constructor(arrival: Arrival, isShown: boolean) {
    this.#arrival = arrival;
    this.#isShown = isShown;
  }

  message(message: Fields): void {
    const type = textIn(message, "type") ?? "";
    const source = textIn(message, "source");
    const content = own(message, "content");
    this.#arrival.clock(own(message, "created_at"));
    if (this.#isShown && !PROMPTS.has(type)) return;
    if (type === "SystemMessage") this.#arrival.say("system", wordsFor(content));
    else if (type === "ToolCallExecutionEvent" || type === "FunctionExecutionResultMessage")
      for (const result of objectsOf(content)) this.#outcome(result, source);
    else if (type === "ThoughtEvent") this.#thought = { type: "reasoning", text: wordsFor(content) };
    else if (type === "MemoryQueryEvent") this.#memory(content ?? null);
    else if (type === "AssistantMessage" || type === "ToolCallRequestEvent" || type === "CodeGenerationEvent")
      this.#answer(message, source);
    else if (type === "CodeExecutionEvent")
      this.#arrival.say("user", wordsFor(own(message, "result")), "tool:code");
    else if (type === "UserMessage")
      this.#arrival.say(
        "user",
        contentIn(content),
        source === undefined || source === "user" ? undefined : `agent:${source}`,
      );
    else if (/Message(\[.*\])?$/.test(type)) {
      if (isFields(own(message, "models_usage"))) this.#answer(message, source);
      else if (source === undefined || source === "user") this.#arrival.say("user", contentIn(content));
      else this.#arrival.say("assistant", contentIn(content), `agent:${source}`);
    }
  }

  /** Reports calls without a result: they may have happened all the same. */
  end(foreign: Foreign): void {
    for (const { call, name } of this.#open.values())
      foreign.warnings.add(`the call ${call} of ${name} has no result: whether it happened is unknown.`);
  }

  #answer(message: Fields, agent: string | undefined): void {
    const content = own(message, "content");
    const calls = Array.isArray(content) ? objectsOf(content).flatMap((one) => callOf(one) ?? []) : [];
    for (const call of calls) this.#open.set(call.call, call);
    const thought = textIn(message, "thought");
    const parts = [
      ...(this.#thought === undefined ? [] : [this.#thought]),
      ...(thought === undefined ? [] : [{ type: "reasoning", text: thought } as const]),
      ...(calls.length > 0 ? calls : partsOf(content)),
    ];
    this.#thought = undefined;
    const usage = fieldsIn(message, "models_usage");
    this.#arrival.answer("unknown", {
      content: contentOf(parts),
      finish: calls.length > 0 ? "tool-calls" : "stop",
      usage: {
        input: amountIn(usage, "prompt_tokens") ?? 0,
        output: amountIn(usage, "completion_tokens") ?? 0,
      },
      agent,
    });
  }

  #outcome(result: Fields, agent: string | undefined): void {
    const id = textIn(result, "call_id") ?? "";
    const asked = this.#open.get(id);
    this.#open.delete(id);
    const name = asked?.name ?? textIn(result, "name") ?? "unknown";
    const of = this.#arrival.call(name, asked?.input ?? {}, id === "" ? undefined : id, agent);
    const output = own(result, "content") ?? null;
    if (result.is_error === true)
      this.#arrival.outcome(of, { error: { name: "ToolError", message: wordsFor(output) } });
    else this.#arrival.outcome(of, { output });
  }

  #memory(content: Json): void {
    this.#arrival.add({
      type: "note",
      kind: MEMORY_NOTE,
      operation: OPERATION.search,
      attributes: {},
      found: content,
    });
  }
}

/** Messages of a model context that say more than the conversation of the team. */
const PROMPTS: ReadonlySet<string> = new Set(["SystemMessage", "UserMessage"]);

function partsOf(content: Json | undefined): readonly Part[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return partsIn(content);
  if (!Array.isArray(content)) return [{ type: "other", value: content }];
  return listOf(content).map((one): Part => {
    if (typeof one === "string") return { type: "text", text: one };
    const data = isFields(one) ? textIn(one, "data") : undefined;
    return (
      fileIn(data === undefined ? undefined : `data:image/png;base64,${data}`) ?? {
        type: "other",
        value: one,
      }
    );
  });
}

function contentIn(content: Json | undefined): Content {
  return contentOf(partsOf(content));
}

/** A call of AutoGen, or of OpenAI's chat format. */
function callOf(call: Fields): (Part & { type: "tool-call" }) | undefined {
  const inside = own(call, "function");
  const asked = isFields(inside) ? inside : call;
  const [name, text] = [textIn(asked, "name"), textIn(asked, "arguments")];
  if (name === undefined || text === undefined) return undefined;
  return {
    type: "tool-call",
    call: textIn(call, "id") ?? "",
    name,
    input: text === "" ? {} : argumentsOf(text).input,
  };
}

/** The event log: each agent is a branch with the prompts, answers and tool calls that the log has of it. */
function readLog(foreign: Foreign): Imported {
  const lines = foreign.lines();
  const trunk = Arrival.start(foreign, { name: "log" });
  const from = trunk.session;
  const agents = new Map<
    string,
    { readonly arrival: Arrival; prompt: readonly Fields[]; readonly name: string }
  >();
  for (const { line, value } of lines) {
    const id = textIn(value, "agent_id");
    const known = id === undefined ? undefined : agents.get(id);
    const name = id?.split("/")[0] ?? "";
    const agent =
      id === undefined
        ? { arrival: trunk, prompt: [], name: "" }
        : (known ?? { arrival: trunk.fork(from, nameOf(name), id), prompt: [], name });
    if (id !== undefined) agents.set(id, agent);
    agent.arrival.clock(own(value, "timestamp"));
    const type = textIn(value, "type") ?? "";
    if (type === "LLMCall" || type === "LLMStreamEnd") {
      const messages = objectsIn(value, "messages");
      const isMore = agent.prompt.every((one, place) => isSame(one, messages[place]));
      for (const message of isMore ? messages.slice(agent.prompt.length) : messages)
        promptOf(agent.arrival, message);
      if (messages.length > 0) agent.prompt = messages;
      answerOf(agent.arrival, value, agent.name);
    } else if (type === "ToolCall") {
      const of = agent.arrival.call(
        textIn(value, "tool_name") ?? "unknown",
        own(value, "arguments") ?? {},
        undefined,
        agent.name || undefined,
      );
      agent.arrival.outcome(of, { output: own(value, "result") ?? null });
    } else if (/Exception$/.test(type))
      foreign.warnings.add(
        `line ${line} tells of an error: ${wordsFor(own(value, "exception")).slice(0, 200)}`,
      );
    agent.arrival.keep(NOTE, { line, value }, type || "line", value);
  }
  for (const { arrival } of agents.values()) trunk.take(arrival, "an agent of the log");
  return trunk.imported(nameOf(foreign.source.name));
}

/** A message of a prompt, in OpenAI's chat format. Answers of the model are known from its own lines. */
function promptOf(arrival: Arrival, message: Fields): void {
  const role = own(message, "role");
  const name = textIn(message, "name");
  const content = contentIn(own(message, "content"));
  if (role === "system" || role === "developer") arrival.say("system", content);
  else if (role === "user")
    arrival.say("user", content, name === undefined || name === "user" ? undefined : `agent:${name}`);
}

function answerOf(arrival: Arrival, value: Fields, agent: string): void {
  const response = fieldsIn(value, "response");
  const [choice] = objectsIn(response, "choices");
  const message = choice === undefined ? response : fieldsIn(choice, "message");
  const calls = objectsIn(message, "tool_calls").flatMap((one) => callOf(one) ?? []);
  arrival.answer(textIn(response, "model") ?? "unknown", {
    content: contentOf([...partsOf(own(message, "content")), ...calls]),
    finish: calls.length > 0 ? "tool-calls" : (textIn(choice ?? {}, "finish_reason") ?? "unknown"),
    usage: {
      input: amountIn(value, "prompt_tokens") ?? 0,
      output: amountIn(value, "completion_tokens") ?? 0,
    },
    response: textIn(response, "id"),
    agent: agent || undefined,
  });
}

// @ts-check
// The server that the official conformance suite tests: `node server.mjs [port]` prints its address. What the suite wants
// to find is made of what the package offers: tools, workflows that ask, prompts, resources.
import { createServer } from "node:http";
import { openRath } from "openrath";
import { clientForm, clientModel, clientRoots, mcpServer } from "openrath/mcp";
import { content, moduleTool, tool } from "openrath/tool";
import { parallel, workflow } from "openrath/workflow";

/** One red point, and no sound at all. */
const IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const NOTHING = { type: /** @type {const} */ ("object"), properties: {} };

/** @typedef {import("openrath").Session} Session */
/** @typedef {import("openrath").Json} Json */

const image = /** @type {const} */ ({ type: "file", media: "image/png", data: IMAGE });
const file = (/** @type {string} */ name, /** @type {string} */ media, /** @type {string} */ text) =>
  /** @type {const} */ ({ type: "file", media, data: Buffer.from(text).toString("base64"), name });

/** A tool that only answers. */
function plain(/** @type {string} */ name, /** @type {Json} */ output, /** @type {any} */ input = NOTHING) {
  return tool({ name, description: `Gives ${name}.`, input, effect: "pure", run: () => output });
}

/** A tool that tells something on the way. */
function telling(/** @type {string} */ name, /** @type {readonly string[]} */ words) {
  return tool({
    name,
    description: "Tells what it is doing.",
    input: NOTHING,
    effect: "read",
    run: async (_, { emit }) => {
      for (const word of words) {
        emit(word);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return "It is done.";
    },
  });
}

/** The last thing that the user said: what a tool was called with. */
const given = (/** @type {Session} */ session) => {
  const said = session.transcript.findLast(({ role }) => role === "user");
  return JSON.parse(String(/** @type {any} */ (said).content));
};
const says = (/** @type {Session} */ session, /** @type {unknown} */ value) =>
  session.append({
    type: "message-say",
    role: "assistant",
    content: typeof value === "string" ? value : JSON.stringify(value),
  });

/**
 * A tool that asks the client one thing after the other, and says what it heard.
 *
 * @param {string} name
 * @param {any} input
 * @param {readonly ((given: any) => import("../../../src/workflow/wait.js").Signal)[]} questions
 */
function asking(name, input, ...questions) {
  const flow = workflow(name, async (session) => {
    const input = given(session);
    let at = session;
    const heard = [];
    for (const question of questions) {
      const { session: next, value } = await question(input).call(at);
      at = next;
      heard.push(value);
    }
    return says(at, heard);
  });
  return moduleTool(flow, { name, description: "Asks the client.", input, say: JSON.stringify });
}

/** A tool that asks several things at once. */
function askingAtOnce(/** @type {string} */ name) {
  const all = parallel("all", {
    user_name: person("user_name"),
    greeting: model("greeting"),
    client_roots: clientRoots("client_roots"),
  });
  const flow = workflow(name, { all }, async (session, parts) =>
    says(await parts.all.forward(session), "Everything was answered."),
  );
  return moduleTool(flow, { name, description: "Asks the client.", input: NOTHING, say: JSON.stringify });
}

const form = (
  /** @type {{ [field: string]: Json }} */ properties,
  /** @type {string[]} */ required = [],
) => ({
  type: "object",
  properties,
  required,
});
const person = (/** @type {string} */ key, field = "name") =>
  clientForm(key, "What do you say?", form({ [field]: { type: "string" } }, [field]));
const confirm = () => clientForm("confirm", "Please confirm", form({ ok: { type: "boolean" } }, ["ok"]));
const model = (/** @type {string} */ key, text = "What is the capital of France?") =>
  clientModel(key, { messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 100 });

const options = ["option1", "option2", "option3"];
const titled = ["value1", "value2", "value3"].map((value) => ({ const: value, title: `Title of ${value}` }));

const schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: it is a word of JSON Schema.
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

const text = form({ prompt: { type: "string" } }, ["prompt"]);
const message = form({ message: { type: "string" } }, ["message"]);
const region = form({ region: { type: "string", "x-mcp-header": "Region" }, level: { type: "integer" } });

/** Offers a list anew, which is told to whoever listens. */
const renewing = (/** @type {string} */ name, /** @type {() => Promise<void>} */ renew) =>
  tool({
    name,
    description: "Offers a list anew.",
    input: NOTHING,
    effect: "idempotent",
    run: async () => {
      await renew();
      return "It is offered anew.";
    },
  });

/** Calls that are tasks for clients that know tasks. */
const jobs = [
  tool({
    name: "slow_compute",
    description: "Takes its time.",
    input: form({ seconds: { type: "number" }, label: { type: "string" } }),
    effect: "read",
    run: ({ seconds = 0 }, { signal }) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve(`It took ${seconds} seconds.`), Number(seconds) * 1_000);
        signal.addEventListener("abort", () => {
          clearTimeout(timer);
          reject(signal.reason);
        });
      }),
  }),
  tool({
    name: "failing_job",
    description: "Fails.",
    input: NOTHING,
    effect: "pure",
    run: () => {
      throw new Error("It does not work.");
    },
  }),
  // The client of the suite has no roots, which is an error of the protocol.
  asking("protocol_error_job", NOTHING, () => clientRoots("client_roots")),
  asking("confirm_delete", NOTHING, () =>
    clientForm("confirm_delete", "Delete it?", form({ confirm: { type: "boolean" } }, ["confirm"])),
  ),
  moduleTool(parallel("both", { one: person("one"), two: person("two") }), {
    name: "multi_input",
    description: "Asks two things.",
    input: NOTHING,
    say: JSON.stringify,
  }),
];

/** @type {import("../../../src/connect/mcp/instance.js").Offer["tools"]} */
const tools = [
  ...jobs,
  tool({
    name: "greet",
    description: "Greets.",
    input: form({ name: { type: "string" } }),
    effect: "pure",
    run: ({ name }) => `Hello, ${name}!`,
  }),
  plain("test_simple_text", "These are words."),
  plain("test_image_content", content([image])),
  plain("test_audio_content", content([{ type: "file", media: "audio/wav", data: SOUND }])),
  plain("test_embedded_resource", content([file("test://embedded-resource", "text/plain", "It is inside.")])),
  plain(
    "test_multiple_content_types",
    content([
      { type: "text", text: "Three kinds:" },
      image,
      file("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ]),
  ),
  plain("json_schema_2020_12_tool", "It fits.", schema),
  plain("test_x_mcp_header", "It has a region.", region),
  plain("test_streaming_elicitation", "It only answers."),
  plain("test_reconnection", "It was there all the time."),
  telling("test_tool_with_logging", ["It begins.", "It goes on.", "It ends."]),
  telling("test_tool_with_progress", ["a third", "two thirds", "all"]),
  telling("test_logging_tool", ["It runs."]),
  tool({
    name: "test_error_handling",
    description: "Fails.",
    input: NOTHING,
    effect: "pure",
    run: () => {
      throw new Error("This tool intentionally returns an error for testing");
    },
  }),
  asking("test_sampling", text, ({ prompt }) => model("sampling", prompt)),
  asking("test_missing_capability", NOTHING, () => model("llm_answer")),
  asking("test_elicitation", message, (input) =>
    clientForm("elicitation", input.message, form({ response: { type: "string" } }, ["response"])),
  ),
  asking("test_elicitation_sep1034_defaults", NOTHING, () =>
    clientForm(
      "defaults",
      "Is this right?",
      form({
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      }),
    ),
  ),
  asking("test_elicitation_sep1330_enums", NOTHING, () =>
    clientForm(
      "enums",
      "Which ones?",
      form({
        untitledSingle: { type: "string", enum: options },
        titledSingle: { type: "string", oneOf: titled },
        legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
        untitledMulti: { type: "array", items: { type: "string", enum: options } },
        titledMulti: { type: "array", items: { anyOf: titled } },
      }),
    ),
  ),
  asking("test_input_required_result_elicitation", NOTHING, () => person("user_name")),
  asking("test_input_required_result_sampling", NOTHING, () => model("capital_question")),
  asking("test_input_required_result_list_roots", NOTHING, () => clientRoots("client_roots")),
  asking("test_input_required_result_request_state", NOTHING, confirm),
  asking("test_input_required_result_tampered_state", NOTHING, confirm),
  asking(
    "test_input_required_result_multi_round",
    NOTHING,
    () => person("step1"),
    () => person("step2", "color"),
  ),
  askingAtOnce("test_input_required_result_multiple_inputs"),
  askingAtOnce("test_input_required_result_capabilities"),
  renewing("test_trigger_tool_change", () => server.offer({ tools })),
  renewing("test_trigger_prompt_change", () => server.offer({ prompts })),
];

const asked = workflow("context", async (session) => {
  const { session: at, value } = await person("user_context", "context").call(session);
  return says(at, `Use this: ${JSON.stringify(value)}`);
});

/** @type {import("../../../src/connect/mcp/instance.js").Offer["prompts"]} */
const prompts = {
  test_simple_prompt: { description: "Simple.", get: () => "This is a simple prompt for testing." },
  test_prompt_with_arguments: {
    description: "With two arguments.",
    arguments: {
      arg1: { description: "The first.", required: true, suggest: (typed) => [`${typed}1`, `${typed}2`] },
      arg2: { description: "The second.", required: true },
    },
    get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  },
  test_prompt_with_embedded_resource: {
    description: "With a file.",
    arguments: { resourceUri: { description: "Its address.", required: true } },
    get: ({ resourceUri = "" }) => [
      { role: "user", content: [file(resourceUri, "text/plain", "It is inside.")] },
      { role: "user", content: "Look at it." },
    ],
  },
  test_prompt_with_image: {
    description: "With an image.",
    get: () => [
      { role: "user", content: [image] },
      { role: "user", content: "Look at it." },
    ],
  },
  test_input_required_result_prompt: { description: "Asks first.", module: asked },
};

const server = mcpServer({
  rath: openRath({ store: "memory:" }),
  name: "conformance",
  // Anybody on this machine: the suite says nothing of who it is.
  open: true,
  tasks: jobs.map(({ name }) => name),
  tools,
  prompts,
  resources: {
    "static-text": {
      uri: "test://static-text",
      read: () => "This is the content of the static text resource.",
    },
    "static-binary": {
      uri: "test://static-binary",
      media: "image/png",
      read: () => Buffer.from(IMAGE, "base64"),
    },
    template: {
      uri: "test://template/{id}/data",
      media: "application/json",
      read: (_, { id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    },
    "watched-resource": { uri: "test://watched-resource", read: () => "This is watched." },
  },
});

const http = createServer(async (incoming, outgoing) => {
  const controller = new AbortController();
  outgoing.once("close", () => controller.abort());
  outgoing.on("error", () => {});
  try {
    const pieces = [];
    for await (const piece of incoming) pieces.push(piece);
    const answer = await server.fetch(
      new Request(`http://${incoming.headers.host}${incoming.url}`, {
        method: incoming.method ?? "GET",
        headers: /** @type {Record<string, string>} */ (incoming.headers),
        signal: controller.signal,
        ...(pieces.length > 0 && { body: Buffer.concat(pieces) }),
      }),
    );
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    // A stream that says nothing yet has begun all the same.
    outgoing.flushHeaders();
    if (answer.body !== null) for await (const piece of answer.body) outgoing.write(piece);
    outgoing.end();
  } catch {
    outgoing.destroy();
  }
});
http.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const address = /** @type {import("node:net").AddressInfo} */ (http.address());
  process.stdout.write(`http://127.0.0.1:${address.port}/mcp\n`);
});

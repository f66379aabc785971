// @ts-check
// A program whose every corner is told secrets: what it keeps, exports and prints is searched by whoever started it.
// Arguments: the folder to work in, the URL of the store, "told" or "untold": whether the runtime knows the secrets.
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { agent, openRath, policy, scripted, step, tool, workflow } from "openrath";
import { mcp } from "openrath/mcp";
import { sandboxTools } from "openrath/tool";

// What is awaited here may hold nothing that keeps a process alive.
const awake = setInterval(() => {}, 1_000);
const [, , folder = "", url = "", mode = "told"] = process.argv;
const canaries = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name.startsWith("CANARY_")),
);
/** @type {string[]} */
const values = Object.values(canaries).map(String);
let taken = 0;
/** The next secrets that nobody was told yet. */
const next = (count = 1) => {
  const some = values.slice(taken, taken + count);
  taken += count;
  return some;
};
const one = () => String(next()[0]);

const rath = openRath({
  store: url,
  ...(mode === "told" && { secrets: canaries }),
  policy: policy("house", [{ name: "asked", verdict: "ask", tool: "asked", why: "always" }]),
});
rath.observe((event) => {
  const heard = event.kind === "delta" ? event.delta : event.session.line;
  appendFileSync(
    join(folder, "observed.log"),
    `${typeof heard === "string" ? heard : JSON.stringify(heard)}\n`,
  );
  // As somebody shows it who puts the pieces together.
  if (event.kind === "delta") appendFileSync(join(folder, "shown.log"), wordsIn(event.delta));
});

/** @param {any} delta @returns {string} */
function wordsIn(delta) {
  const { text, delta: piece } = delta ?? {};
  return [text, piece].filter((one) => typeof one === "string").join("");
}

/** Every way in which programs pass such things on. @param {string} value */
const forms = (value) => [
  value,
  JSON.stringify(value),
  encodeURIComponent(value),
  new URLSearchParams({ token: value }).toString(),
  Buffer.from(value).toString("hex"),
  Buffer.from(value).toString("hex").toUpperCase(),
  ...["", "u", "us", "user:"].map((before) => Buffer.from(`${before}${value}`).toString("base64")),
  ...["", "u", "us"].map((before) => Buffer.from(`${before}${value}`).toString("base64url")),
];
/** @param {string} name @param {(input: any, context: any) => unknown} run @param {object} more */
const made = (name, run, more = {}) =>
  tool({ name, description: name, input: { type: "object" }, effect: "read", run, ...more });
/** An agent that makes one call, or several, and ends. @param {string} name @param {readonly any[]} tools @param {any} reply @param {object} more */
const calling = (name, tools, reply, more = {}) =>
  agent({ name, model: scripted(reply, `${name} is done.`), tools, ...more });

let runs = 0;
/** @param {any} module @param {any} [session] */
async function run(module, session = rath.start("go")) {
  const name = `run-${++runs}`;
  try {
    const ended = await rath.run(module, session, { name });
    if (ended.fact.type !== "run-suspend") return;
    const [asked] = await rath.pending(name);
    console.log("asked", JSON.stringify(asked?.shown));
    await rath.approve(name, { by: "user:ada" });
    await rath.resume(name, module);
  } catch (error) {
    // As programs log what went wrong.
    const { message } = /** @type {{ message?: string }} */ (error);
    console.error(name, message);
  }
}

// Arguments: what a model calls tools with, what they are told to be known by, and what a person is shown.
for (let place = 0; place < 10; place++) {
  const echo = made("echo", (input) => input, { key: () => one() });
  await run(
    calling("arguments", [echo], {
      tool: "echo",
      input: { token: one(), [one()]: [{ deep: forms(one()) }] },
    }),
  );
}
for (let place = 0; place < 5; place++)
  await run(
    calling("asked", [made("asked", () => "ok", { effect: "write" })], {
      tool: "asked",
      input: { token: one() },
    }),
  );

// Outputs, in every form, whole and cut.
for (let place = 0; place < 10; place++)
  await run(calling("outputs", [made("tells", () => next(10).flatMap(forms))], { tool: "tells" }));
for (let place = 0; place < 20; place++) {
  const long = made("long", () => `${"x".repeat(140 + place)}${one()}${"y".repeat(40)}${one()}`, {
    maxOutput: 200,
  });
  await run(calling("cut", [long], { tool: "long" }));
}

// Failures: in the message, the name, the code, the stack, the cause and the data.
for (let place = 0; place < 10; place++) {
  const fails = made("fails", () => {
    const error = new Error(`no access with ${one()}`, { cause: new Error(one()) });
    error.stack = `Error: ${one()}\n    at ${one()}`;
    throw Object.assign(error, {
      name: one(),
      code: one(),
      data: { token: one() },
      config: { headers: one() },
    });
  });
  const throws = made("throws", () => Promise.reject({ token: one(), toString: () => one() }));
  const invalid = made("invalid", () => ({ token: one() }), {
    output: { type: "object", properties: { token: { type: "number" } }, required: ["token"] },
  });
  await run(
    calling("failures", [fails, throws, invalid], {
      call: [{ tool: "fails" }, { tool: "throws" }, { tool: "invalid" }],
    }),
  );
  await run(
    workflow("broken", async () => {
      throw new Error(`the whole run failed with ${one()}`, { cause: one() });
    }),
  );
  await run(
    step(
      "step",
      () => {
        throw new Error(one());
      },
      { effect: "read" },
    ),
  );
  await run(
    step(
      "retried",
      () => {
        throw Object.assign(new Error(one()), { isRetryable: true });
      },
      { effect: "read", retry: { attempts: 2, wait: 1 } },
    ),
  );
}

// What calls leave and say on the way, and what the record cannot hold.
for (let place = 0; place < 10; place++) {
  const notes = made("notes", (_input, { record, emit }) => {
    record({ type: "note", kind: "seen", token: one(), list: forms(one()) });
    record({ type: "validation-report", name: "check", passed: false, detail: { got: one() } });
    record({ type: "note", kind: "odd", token: one(), odd: 10n });
    emit({ token: one(), list: forms(one()) });
    return "ok";
  });
  await run(calling("notes", [notes], { tool: "notes" }));
}

// Models: what they say and think, how they fail, and the headers they are asked with.
for (let place = 0; place < 10; place++) {
  await run(agent({ name: "says", model: scripted({ text: `It is ${one()}.`, reasoning: one() }) }));
  await run(
    agent({
      name: "breaks",
      model: scripted(
        Object.assign(new Error(`401 for ${one()}`), {
          responseBody: one(),
          requestBodyValues: { key: one() },
          responseHeaders: { "x-key": one() },
        }),
      ),
      retry: { attempts: 1 },
    }),
  );
  await run(
    agent({
      name: "headers",
      model: scripted("ok"),
      parameters: { headers: { authorization: `Bearer ${one()}` } },
    }),
  );
  const inner = agent({ name: "inner", description: "Knows.", model: scripted(`The token is ${one()}.`) });
  await run(calling("outer", [inner], { tool: "inner", input: { task: `Use ${one()}.` } }));
}

// Streams, of models and of commands, in pieces that say nothing by themselves.
for (let place = 0; place < 10; place++) {
  await run(agent({ name: "streams", stream: true, model: scripted(`The token is ${one()}, as you see.`) }));
  const slow = made("slow", (_input, { emit }) => {
    for (const character of one()) emit({ type: "output", text: character });
    return "ok";
  });
  await run(calling("pieces", [slow], { tool: "slow" }));
}

// Steps: what they are given and give, and what a workflow says of it.
for (let place = 0; place < 10; place++) {
  const login = step("login", (/** @type {any} */ input) => ({ ...input, session: one() }), {
    effect: "read",
  });
  await run(
    workflow("flow", { login }, async (session) => {
      const { session: at, value } = await login.call(session, { password: one() });
      return at.say(`I am ${JSON.stringify(value)}.`, { by: "agent" });
    }),
  );
}

// Sandboxes: in the environment of commands, in what they print, and in how they fail.
const names = Object.keys(canaries);
for (let place = 0; place < 4; place++) {
  const from = taken;
  const some = names.slice(from, from + 12);
  next(12);
  const commands = [
    `echo ${some.map((name) => `"$${name}"`).join(" ")}`,
    `printenv | sort; echo "$${some[0]}" >&2; false`,
    `echo "$${some[1]}" | base64; echo "x$${some[2]}" | base64`,
  ];
  const spec =
    mode === "told"
      ? { secrets: some }
      : { env: Object.fromEntries(some.map((name) => [name, String(canaries[name])])) };
  await run(
    calling("shell", sandboxTools(), {
      call: commands.map((command) => ({ tool: "shell", input: { command } })),
    }),
    rath.start("go").to("virtual", spec),
  );
  const command = `echo '${one()}' >&2; exit 3`;
  await run(
    calling("command", sandboxTools(), { tool: "shell", input: { command } }),
    rath.start("go").to("virtual"),
  );
}

// A server of tools that is given secrets, and tells them.
const program = fileURLToPath(new URL("./canary-mcp.mjs", import.meta.url));
const given = next(40);
const server = mcp(
  {
    name: "peer",
    command: process.execPath,
    args: [program],
    env: Object.fromEntries(given.map((value, place) => [`TOKEN_${place}`, value])),
  },
  { deadline: 20_000, connect: 20_000 },
);
const peerTools = await server.tools();
for (const name of ["peer_tell", "peer_fail", "peer_refuse", "peer_structure"])
  await run(calling("client", peerTools, { tool: name, input: { token: one() } }));
await server.close();

// Whatever is left is told in outputs, so that each is somewhere.
while (taken < values.length)
  await run(calling("rest", [made("tells", () => next(20).flatMap(forms))], { tool: "tells" }));

const store = await rath.store();
mkdirSync(join(folder, "exports"), { recursive: true });
let place = 0;
for (const { id } of await store.names()) {
  const lines = [];
  for await (const line of store.export(id)) lines.push(line);
  writeFileSync(join(folder, "exports", `${++place}.jsonl`), lines.join("\n"));
}
await rath.close();
clearInterval(awake);
console.log("done", runs);
